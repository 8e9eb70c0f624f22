// A real Chromium, for the status page: the machine's own or, as root, installed from its Debian.

import { installDebian } from '../support/debian.ts';
import type { Preparable } from '../support/part.ts';

export const chromiumPart: Preparable = {
  name: 'chromium',
  prepare: () =>
    installDebian({
      programs: ['chromium'],
      packages: ['chromium', 'fonts-dejavu-core'],
      versionArgs: ['--version'],
      version: /Chromium ([\d.]+)/,
    }),
};

// The checker that comes with Prometheus, built from its module. It checks alert rules, and runs their unit tests.

import { goBuild } from '../support/go-build.ts';
import type { Preparable } from '../support/part.ts';

export const promtool: Preparable = {
  name: 'promtool',
  prepare: () =>
    goBuild({
      name: 'promtool',
      package: 'github.com/prometheus/prometheus/cmd/promtool',
      versionOf: 'github.com/prometheus/prometheus',
      sources: [],
    }),
};

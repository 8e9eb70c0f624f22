// The checker that comes with Prometheus, built from its module: alert rules are checked and their unit tests run by it.

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

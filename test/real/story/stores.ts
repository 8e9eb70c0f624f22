// The two stores that answer PromQL, for tests that query both.

import { prometheus } from '../parts/prometheus.ts';
import { victoriaMetrics, type VictoriaMetricsRunning } from '../parts/victoria-metrics.ts';
import { reasonToSkip } from '../support/part.ts';

export interface Store {
  readonly name: 'VictoriaMetrics' | 'Prometheus';
  readonly skip: string | null;
  readonly start: () => Promise<Pick<VictoriaMetricsRunning, 'url' | 'otlpUrl' | 'flush' | 'stop'>>;
}

/** Prometheus accepts samples out of order, as its own guide recommends for OTLP; `config` is added to that. */
export async function stores(config = ''): Promise<readonly Store[]> {
  const window = 'storage: {tsdb: {out_of_order_time_window: 30m}}\n';
  return [
    {
      name: 'VictoriaMetrics',
      skip: await reasonToSkip([victoriaMetrics]),
      start: () => victoriaMetrics.start({}),
    },
    {
      name: 'Prometheus',
      skip: await reasonToSkip([prometheus]),
      start: () => prometheus.start({ config: `${config}${window}` }),
    },
  ];
}

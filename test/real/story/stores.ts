// The stores that answer PromQL, as tests that ask both of them need them.

import { prometheus } from '../parts/prometheus.ts';
import { victoriaMetrics, type VictoriaMetricsRunning } from '../parts/victoria-metrics.ts';
import { reasonToSkip } from '../support/part.ts';

export interface Store {
  readonly name: 'VictoriaMetrics' | 'Prometheus';
  readonly skip: string | null;
  readonly start: () => Promise<Pick<VictoriaMetricsRunning, 'url' | 'otlpUrl' | 'flush' | 'stop'>>;
}

/** A Prometheus takes samples out of order, as its own guide asks for with OTLP, and what `config` says. */
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

// The counters of the data path after a page.
import { expect, test } from 'vitest';
import { Counters, renderCounters } from '../../src/lib/counters.ts';
import { TranslateMeter } from '../../src/pipeline/translate-meter.ts';
import { Target } from '../support/target.ts';

/** The lines of /metrics that begin with `prefix`, after these pages. */
function linesAfter(pages: readonly string[], prefix: string): string[] {
  const counters = new Counters();
  const meter = new TranslateMeter(counters);
  const target = new Target();
  for (const [i, page] of pages.entries()) {
    const { translated } = target.page(60 * i, page);
    meter.count('a target', translated.page, translated.derived);
  }
  return renderCounters(counters)
    .split('\n')
    .filter(line => line.startsWith(prefix));
}

test('drift is counted by kind', () => {
  const counters = new Counters();
  const meter = new TranslateMeter(counters);
  meter.countDrift({ appeared: 1, vanished: 0 });
  meter.countDrift({ appeared: 1, vanished: 3 });
  const lines = renderCounters(counters).split('\n');
  expect(lines.filter(line => line.startsWith('prom2otlp_derive_drift_total{'))).toEqual([
    'prom2otlp_derive_drift_total{kind="appeared"} 2',
    'prom2otlp_derive_drift_total{kind="vanished"} 3',
  ]);
});

test('every sample is counted by service and outcome, bad lines too', () => {
  expect(linesAfter(['x 1\nx 1\ny 1,5\n'], 'prom2otlp_derive_samples_total').sort()).toEqual([
    'prom2otlp_derive_samples_total{service="local",outcome="bad_line"} 1',
    'prom2otlp_derive_samples_total{service="local",outcome="duplicate"} 1',
    'prom2otlp_derive_samples_total{service="local",outcome="used"} 1',
  ]);
});

test('labels `__name__` are counted with every page', () => {
  const page = 'x{__name__="y"} 1\n';
  expect(linesAfter([page, page], 'prom2otlp_derive_name_labels_total')).toEqual([
    'prom2otlp_derive_name_labels_total 2',
  ]);
});

test('a service is up or down for one reason at a time', () => {
  const counters = new Counters();
  const meter = new TranslateMeter(counters);
  const target = new Target();
  const upAfter = ({ translated: { page, derived } }: ReturnType<Target['page']>): string[] => {
    meter.count('a target', page, derived);
    const lines = renderCounters(counters).split('\n');
    return lines.filter(line => line.startsWith('prom2otlp_service_up{'));
  };
  const line = (reason: string): string =>
    `prom2otlp_service_up{service="local",reason="${reason}"}`;
  expect(upAfter(target.page(0, 'x 1\n'))).toEqual([`${line('')} 1`]);
  expect(upAfter(target.fail(60, 'timeout'))).toEqual([`${line('timeout')} 0`]);
  expect(upAfter(target.fail(120, 'auth'))).toEqual([`${line('auth')} 0`]);
  expect(upAfter(target.page(180, 'x 1\n'))).toEqual([`${line('')} 1`]);
});

test('the clock difference is shown for each service, and stays while the service does not answer', () => {
  const counters = new Counters();
  const meter = new TranslateMeter(counters);
  const target = new Target();
  const skews: (string | undefined)[] = [];
  const count = ({ translated: { page, derived } }: ReturnType<Target['page']>): void => {
    meter.count('a target', page, derived);
    const lines = renderCounters(counters).split('\n');
    skews.push(lines.find(line => line.startsWith('prom2otlp_service_clock_skew_seconds{')));
  };
  count(target.page(60, 'x 1\n'));
  count(target.page(120, 'x 1\n', { server: 120 + 3600 }));
  count(target.fail(180, 'timeout'));
  count(target.page(240, 'x 1\n', { server: 239 }));
  const line = 'prom2otlp_service_clock_skew_seconds{service="local"}';
  expect(skews).toEqual([undefined, `${line} -3600`, `${line} -3600`, `${line} 1`]);
});

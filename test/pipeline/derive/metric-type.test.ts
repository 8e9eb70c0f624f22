// Rules B and C: a metric's name, unit, description and type.
import { describe, expect, test } from 'vitest';
import type { MetricsConfig } from '../../../src/config/config.ts';
import type { OverrideRule } from '../../../src/model/page-rules.ts';
import type { OtlpPoint } from '../../support/otlp-points.ts';
import { Target } from '../../support/target.ts';

function pointsOf(text: string, metrics: Partial<MetricsConfig> = {}): readonly OtlpPoint[] {
  return new Target({ metrics }).page(60, text).points;
}

const [STRICT, NONE]: Partial<MetricsConfig>[] = [{ mapping: 'strict' }, { units: 'none' }];

/** How a page of one metric is sent: its kind, its temporality, and whether it has a start time. */
function kindOf(text: string, metrics: Partial<MetricsConfig> = {}): string {
  const [point] = pointsOf(text, metrics);
  if (point === undefined) return 'nothing';
  const { type, isMonotonic, temporality, startNs } = point;
  const kind = type === 'sum' ? (isMonotonic ? 'counter' : 'updown') : type;
  return `${kind}${temporality === 'none' ? '' : ` ${temporality}`}${startNs === '0' ? '' : ' started'}`;
}

describe('B: names, units, descriptions', () => {
  test('B: UNIT words become UCUM by the table, others stay', () => {
    const unitOf = (word: string): string | undefined =>
      pointsOf(`# TYPE x_${word} gauge\n# UNIT x_${word} ${word}\nx_${word} 1\n# EOF`)[0]?.unit;
    const table = `days d, hours h, minutes min, seconds s, milliseconds ms, microseconds us, nanoseconds ns,
      bytes By, kibibytes KiBy, mebibytes MiBy, gibibytes GiBy, tebibytes TiBy, kilobytes kBy, megabytes MBy,
      gigabytes GBy, terabytes TBy, meters m, volts V, amperes A, joules J, watts W, grams g, celsius Cel,
      hertz Hz, percent %, ratio ratio, furlongs furlongs`;
    for (const entry of table.split(',')) {
      const [word = '', unit = ''] = entry.trim().split(' ');
      expect(unitOf(word), word).toBe(unit);
    }
  });

  test('B: the unit comes from the catalog or the page, or is absent', () => {
    const page =
      '# TYPE engine_global_status_uptime gauge\n# UNIT engine_global_status_uptime hours\nengine_global_status_uptime 1\n# EOF';
    expect(pointsOf(page)[0]?.unit).toBe('s');
    expect(pointsOf(page, { units: 'page' })[0]?.unit).toBe('h');
    expect(pointsOf(page, NONE)[0]?.unit).toBe('');
    expect(pointsOf(page, STRICT)[0]?.unit).toBe('h');
  });

  test('B: the unit `1` is never sent, not even for an override', () => {
    const overrides = [override({ match: /^x$/, unit: '1' })];
    expect(pointsOf('x 1', { overrides })[0]?.unit).toBe('');
  });
});

describe('C: types', () => {
  const check = (text: string, want: string, metrics?: Partial<MetricsConfig>): void =>
    expect(kindOf(text, metrics)).toBe(want);
  const typed = (type: string, name = 'x', sample = name): string =>
    `# TYPE ${name} ${type}\n${sample} 1`;

  test('C: declared types follow the table', () => {
    check(typed('counter'), 'counter cumulative started');
    check(typed('gauge'), 'gauge');
    check(typed('untyped'), 'gauge');
    check('x 1', 'gauge');
    check(`${typed('unknown')}\n# EOF`, 'gauge');
    check(`${typed('info', 'x', 'x_info{a="b"}')}\n# EOF`, 'updown cumulative');
    check(typed('histogram', 'x', 'x_count'), 'histogram cumulative started');
    check(typed('summary', 'x', 'x_count'), 'summary started');
    check(`${typed('gaugehistogram', 'x', 'x_gcount')}\n# EOF`, 'nothing');
  });

  test('C: a guess makes a counter only of a declared counter', () => {
    check(typed('gauge', 'engine_dist_containers_rows'), 'gauge');
    check(typed('counter', 'engine_dist_containers_rows'), 'counter cumulative started');
  });

  test('C: the catalog can make a gauge of a declared counter', () => {
    check(typed('counter', 'engine_global_status_uptime'), 'gauge');
  });

  test('C: other prefixes have the same types', () => {
    const prefixes = { engine: ['engine_', 'mysql_'], multimaster: [], dist: [], proxy: [] };
    check('mysql_global_status_queries 1', 'counter cumulative started', { prefixes });
    check('mysql_global_status_queries 1', 'gauge');
  });

  test('C: strict mode uses only declared types', () => {
    check(typed('counter', 'engine_global_status_uptime'), 'counter cumulative', STRICT);
    const overrides = [override({ match: /^x$/, type: 'counter' })];
    check('x 1', 'gauge', { ...STRICT, overrides });
  });

  test('C: an override beats catalog and page; the first that matches wins', () => {
    const name = 'engine_global_status_queries';
    const kinds = {
      counter: 'counter cumulative started',
      gauge: 'gauge',
      updowncounter: 'updown cumulative',
      info: 'updown cumulative',
      stateset: 'updown cumulative',
    };
    for (const [type, want] of Object.entries(kinds)) {
      const overrides = [
        override({ match: /^engine_.*$/, type: type as OverrideRule['type'] }),
        override({ match: /^.*$/, type: 'gauge' }),
      ];
      check(`${name} 1`, want, { overrides });
    }
    const overrides = [
      override({ match: new RegExp(`^${name}$`), unit: 'kBy', description: 'Mine.' }),
    ];
    expect(pointsOf(`# HELP ${name} Theirs.\n${name} 1`, { overrides })[0]).toMatchObject({
      unit: 'kBy',
      description: 'Mine.',
      isMonotonic: true,
    });
  });

  test('C: an override cannot change the shape of a histogram or summary, but sets its unit', () => {
    const overrides = [override({ match: /^h$/, type: 'counter', unit: 's' })];
    check(typed('histogram', 'h', 'h_count'), 'histogram cumulative started', { overrides });
    expect(pointsOf(typed('histogram', 'h', 'h_count'), { overrides })[0]?.unit).toBe('s');
  });

  test('C: a declared type that changes begins a new stream', () => {
    const target = new Target();
    target.page(0, '# TYPE x counter\nx 5');
    target.shows(60, '# TYPE x gauge\nx 6', 'gauge x{} 6 @60');
    target.shows(120, '# TYPE x counter\nx 7', 'sum x{} 7 @120 from 120');
    const delta = new Target({ temporality: 'delta' });
    delta.page(0, 'x 5');
    expect(delta.page(60, '# TYPE x counter\nx 9').reads).toEqual({ baseline: 1 });
    delta.shows(120, '# TYPE x counter\nx 11', 'delta x{} 2 @120 from 60');
  });
});

describe('include and exclude', () => {
  const names = (metrics: Partial<MetricsConfig>): string[] => {
    const text = 'a 1\nb 1\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_count 1\nh_sum 1';
    return pointsOf(text, metrics).map(({ metric }) => metric);
  };

  test('C: filters match the name of the metric: a histogram is kept or dropped as a whole', () => {
    expect(names({ include: [/^h$/] })).toEqual(['h']);
    expect(names({ exclude: [/^h$/] })).toEqual(['a', 'b']);
    expect(names({ include: [/^[ab]$/], exclude: [/^a$/] })).toEqual(['b']);
    expect(names({ exclude: [/^h_bucket$/] })).toEqual(['a', 'b', 'h']);
  });

  test('C: an excluded uptime still dates its counters', () => {
    const text = 'engine_global_status_uptime 50\nengine_global_status_queries 5\n';
    const seen = new Target({ metrics: { exclude: [/^.*uptime$/] } }).page(60, text);
    expect(seen.shown).toEqual(['sum engine_global_status_queries{} 5 @60 from 10']);
    expect(seen.reads).toEqual({ used: 1, excluded: 1 });
  });
});

function override(given: Partial<OverrideRule> & Pick<OverrideRule, 'match'>): OverrideRule {
  return { type: null, unit: null, description: null, uptimeSeries: null, ...given };
}

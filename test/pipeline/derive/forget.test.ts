// Series that were gone for long are forgotten, so that a target with ever new labels does not grow.
import { describe, expect, test } from 'vitest';
import { at, outcomeOf, successorOf, Target } from '../../support/target.ts';

const HOUR = 3600;

/** The sizes of everything in the table that could grow. */
function sizes(target: Target): Record<string, number> {
  const { table } = target.translation;
  return {
    rows: table.count - table.free.length,
    metrics: table.metrics.length - table.spare.metrics.length,
    metricKeys: table.metricByKey.size,
    blocks: table.blocks.length - table.spare.blocks.length,
    instances: table.instances.length - table.spare.instances.length,
    services: table.services.length - table.spare.services.length,
    compounds: table.compounds.size,
    compoundKeys: table.compoundByKey.size,
    created: table.createdRows.size,
    identities: table.identities.size,
  };
}

describe('an absent series', () => {
  test('is kept for an hour after an outage: the first page after it may lack most series', () => {
    const target = new Target({ temporality: 'delta' });
    const counter = (value: number): string => `# TYPE c counter\nc ${value}\ny 1`;
    target.page(0, counter(100));
    target.page(60, counter(110));
    for (let minutes = 2; minutes < 64; minutes += 10) target.fail(minutes * 60);
    target.page(64 * 60, 'y 1');
    expect(target.page(65 * 60, counter(5000)).shown[0]).toMatch(/^delta c\{\} 4890 /);
  });

  test('is kept in the same way if its service was missing from a page with others', () => {
    const target = new Target({ temporality: 'delta', services: ['a', 'b'] });
    const page = (counter: string): string => `y{namespace="a"} 1\n# TYPE c counter\n${counter}`;
    const counter = (value: number): string => `c{namespace="b"} ${value}\n`;
    target.page(0, page(counter(100)));
    target.page(60, page(counter(110)));
    for (let minutes = 2; minutes < 64; minutes++) target.page(minutes * 60, page(''));
    target.page(64 * 60, page('z{namespace="b"} 1\n'));
    expect(target.page(65 * 60, page(counter(5000))).shown).toContainEqual(
      expect.stringMatching(/^delta c\{\} 4890 /),
    );
  });

  test('is forgotten in the end, although one scrape of four fails', () => {
    const target = new Target();
    let rows = 0;
    for (let minute = 0; minute < 400; minute++) {
      if (minute % 4 === 3) target.fail(minute * 60);
      else target.page(minute * 60, `y 1\nx{id="${minute}"} 1\n`);
      rows = Math.max(rows, sizes(target)['rows'] ?? 0);
    }
    expect(rows).toBeLessThan(100);
  });

  test('is kept for an hour if another service is down, whatever the size of that', () => {
    const target = new Target({ services: ['large', 'small'] });
    const large = Array.from({ length: 2000 }, (_, i) => `x{namespace="large",id="${i}"} 5\n`);
    const counter = '# TYPE c counter\nc{namespace="small"} 7\n';
    target.page(0, `${large.join('')}y{namespace="small"} 1\n${counter}`);
    for (const minutes of [1, 10, 30]) target.page(minutes * 60, 'y{namespace="small"} 1');
    target.has(HOUR, `y{namespace="small"} 1\n${counter}`, `sum c{} 7 @${HOUR} from 0`);
  });

  test('is kept if the last page before an outage and the first ones after it lack it', () => {
    const target = new Target();
    const many = Array.from({ length: 3000 }, (_, i) => `c{id="${i}"} 7\n`).join('');
    const text = `# TYPE c counter\n${many}y 1\n`;
    target.page(0, text);
    target.page(60, 'y 1');
    for (const minutes of [2, 5, 20, 40]) target.fail(minutes * 60);
    for (const minutes of [41, 42, 45]) target.page(minutes * 60, 'y 1');
    target.has(46 * 60, text, `sum c{id=2999} 7 @${46 * 60} from 0`);
  });

  test('is remembered through an outage of any length, and keeps its start', () => {
    const target = new Target();
    const page = (seconds: number): string =>
      `engine_global_status_uptime ${500 + seconds} @${seconds}\nengine_global_status_queries ${seconds} @${seconds}\n`;
    target.page(0, page(0));
    for (let hours = 1; hours < 9; hours++) target.fail(hours * HOUR);
    expect(target.page(9 * HOUR, page(9 * HOUR)).shown[1]).toMatch(/from -500$/);
  });

  test('is kept until its marker is due, however late that is', () => {
    const target = new Target({ metrics: { staleAfterMs: 3 * HOUR * 1000 } });
    target.page(0, 'x 1 @0\ny 1');
    const later = [1, 2, 3].flatMap(hours => target.page(hours * HOUR, 'y 1').shown);
    expect(later).toContain('gauge x{} stale @0.001');
  });

  test('rows of a page over its limit are new with the next good page, and harmless before', () => {
    const target = new Target();
    const { derive } = target.translation;
    const { limits } = derive;
    Object.assign(derive, { limits: { ...limits, samples: 2 } });
    const text = '# TYPE x counter\nx{a="1"} 1\nx{a="2"} 2\nx{a="3"} 3\n';
    target.shows(0, text);
    target.fail(60);
    Object.assign(derive, { limits });
    const seen = target.page(120, text);
    expect(seen.shown).toHaveLength(3);
    expect(seen.own.find(({ metric }) => metric === 'scrape_series_added')?.value).toBe(3);
  });

  test('a page with an earlier layout is not replayed if its rows are gone', () => {
    const target = new Target();
    const page = 'x 1\ny 1\nx{namespace="stranger"} 1\n';
    target.page(0, page);
    target.page(60, page);
    for (const minutes of [2, 30, 62, 63]) target.fail(minutes * 60);
    const rows = sizes(target)['rows'] ?? 0;
    const seen = target.page(2 * HOUR - 60, page);
    expect(seen.reads).toEqual({ used: 2, unconfigured: 1 });
    expect(sizes(target)['rows']).toBe(rows + 1);
    target.shows(2 * HOUR, page, `gauge x{} 1 @${2 * HOUR}`, `gauge y{} 1 @${2 * HOUR}`);
  });
});

describe('churn', () => {
  test('of names, labels, servers, scopes and services ends in tables of one size', () => {
    const target = new Target({ services: ['a'], unconfigured: 'send' });
    const page = (round: number): string =>
      [
        `name_${round}{namespace="a"} 1`,
        `x{namespace="a",server_name="s${round}"} 1`,
        `engine_global_status_uptime{namespace="a",server_name="s${round}"} 5`,
        `x{namespace="a",otel_scope_name="lib${round}"} 1`,
        `x{namespace="svc${round}"} 1`,
        `x{namespace="a",job="j${round}"} 1`,
        '# TYPE h histogram',
        `h_bucket{namespace="a",server_name="s${round}",le="1"} 1`,
        `h_count{namespace="a",server_name="s${round}"} 1`,
        '# TYPE c counter',
        `c_total{namespace="a",id="${round}"} 1`,
        `c_created{namespace="a",id="${round}"} ${at(0) / 1000}`,
        '# EOF\n',
      ].join('\n');
    const atRound: Record<string, number>[] = [];
    for (let round = 0; round < 60; round++) {
      target.page(round * 600, page(round));
      atRound.push(sizes(target));
    }
    expect(atRound[59]).toEqual(atRound[45]);
    const { table } = target.translation;
    expect(table.count).toBeLessThan(200);
    expect(table.services.length).toBeLessThan(20);
  });

  test('that has ended gives back the rows at the end of the table, but none that is in use', () => {
    const target = new Target();
    const { table } = target.translation;
    target.page(0, 'y 1');
    const { count } = table;
    const peak = Array.from({ length: 500 }, (_, i) => `x{i="${i}"} 1\n`).join('');
    target.page(60, `y 1\n${peak}`);
    expect(table.count).toBe(count + 500);
    target.page(120, 'y 1');
    target.page(HOUR + 180, 'y 1');
    expect(table.count).toBe(count);
    expect(table.value.length).toBeLessThan(100);
  });

  test('of single buckets keeps the histogram alive, whichever row was its head', () => {
    const target = new Target();
    const page = (round: number): string =>
      `# TYPE h histogram\nh_bucket{le="${round}"} 1\nh_count ${round + 1}\n`;
    for (let round = 0; round < 30; round++) {
      const [point] = target.page(round * 600, page(round)).shown;
      expect(point).toBe(
        `histogram h{} count=${round + 1} le${round}:1 inf:${round} @${round * 600} from 0`,
      );
    }
    const [compound] = target.translation.table.compounds.values();
    expect(compound?.rows.length).toBeLessThan(10);
  });

  test('of the buckets of an invalid histogram ends, too', () => {
    const target = new Target();
    for (let minute = 0; minute < 200; minute++)
      target.page(
        minute * 60,
        `y 1\n# TYPE h histogram\n${minute === 0 ? 'h_bucket{le="0"} 0\n' : ''}h_bucket{le="${minute + 1}"} 1\n`,
      );
    expect(sizes(target)['rows']).toBeLessThan(100);
  });

  test('of the head of a histogram on a page with its point loses no growth', () => {
    const target = new Target({ services: ['a'], unconfigured: 'send', temporality: 'delta' });
    const page = (count: number, bucket = ''): string =>
      `# TYPE h histogram\n${bucket}h_bucket{namespace="b",le="2"} ${count}\nh_count{namespace="b"} ${count}\n`;
    target.page(0, page(5, 'h_bucket{namespace="b",le="1"} 0\n'));
    target.page(60, page(6));
    for (let minutes = 2; minutes < 60; minutes += 10) target.fail(minutes * 60);
    const grown = [64, 65].flatMap(minutes =>
      target.page(minutes * 60, page(1000 + minutes)).shown.filter(point => !/stale/.test(point)),
    );
    expect(grown).toEqual([
      expect.stringMatching(/^histogram h\{\} count=1058 /),
      expect.stringMatching(/^histogram h\{\} count=1 /),
    ]);
  });

  test('of the buckets of a histogram that another one replaced ends, though its count stays', () => {
    const target = new Target();
    // `instance` is not sent: both are one series.
    const of = (instance: number): string =>
      ['bucket{le="1",', 'bucket{le="5",', 'count{']
        .map(part => `h_${part}instance="${instance}"} 1\n`)
        .join('');
    const page = (seconds: number, text: string): number => {
      target.page(seconds, `# TYPE h histogram\n${text}`);
      return sizes(target)['rows'] ?? 0;
    };
    page(0, of(1));
    page(60, of(2));
    const before = page(120, `${of(2)}h_count{instance="1"} 1\n`);
    expect(page(HOUR + 120, `${of(2)}h_count{instance="1"} 1\n`)).toBe(before - 2);
  });

  test('an unconfigured service is dropped with its last series; a configured one never', () => {
    const target = new Target({ services: ['a', 'b'], unconfigured: 'send' });
    target.page(0, 'x{namespace="a"} 1\nx{namespace="b"} 1\nx{namespace="z"} 1');
    for (const minutes of [1, 30, 62, 63]) target.page(minutes * 60, 'x{namespace="a"} 1');
    const seen = target.page(2 * HOUR, 'x{namespace="a"} 1');
    expect(outcomeOf(seen, 'z')).toBeUndefined();
    expect(outcomeOf(seen, 'b')).toMatchObject({ isUp: false, reason: 'absent' });
    const back = target.page(2 * HOUR + 60, 'x{namespace="y"} 1\nx{namespace="a"} 1');
    expect(outcomeOf(back, 'y')).toMatchObject({ isUp: true, configIndex: -1 });
    expect(back.own.filter(({ serviceId }) => serviceId === 'y')).toHaveLength(6);
  });
});

describe('a counter that was forgotten starts no earlier than it ended', () => {
  const queries = 'engine_global_status_queries{server_name="s"}';
  const uptime = (seconds: number): string =>
    `engine_global_status_uptime{server_name="s"} ${1000 + seconds}\n`;
  const back = 'sum engine_global_status_queries{server_name=s} 20';
  /** A target that has forgotten the counter. */
  const forgotten = (): Target => {
    const target = new Target();
    target.page(0, `${queries} 10`);
    for (const seconds of [60, 3720]) target.page(seconds, 'threads 1');
    return target;
  };

  test('if another series of its server brought the first uptime in between', () => {
    const target = forgotten();
    target.page(3780, uptime(3780));
    target.has(3840, `${queries} 20`, `${back} @3840 from 3840`);
  });

  test('if a series of its server that was never sent is forgotten after it', () => {
    const target = new Target();
    const never = 'engine_global_status_commands_total{server_name="s"} 5 @7200';
    target.page(0, `${queries} 10`);
    target.page(60, uptime(60));
    expect(target.page(600, uptime(600) + never).reads).toMatchObject({ time_future: 1 });
    for (const seconds of [660, 3720, 4320]) target.page(seconds, uptime(seconds));
    target.has(4380, `${uptime(4380)}${queries} 20`, `${back} @4380 from 4380`);
  });

  test('if this program restarted since', () => {
    const after = successorOf(forgotten());
    after.has(3780, `${uptime(3780)}${queries} 20`, `${back} @3780 from 3780`);
  });
});

// Rules I1 to I3 and I5, A4, A5: the Resource of a series, its scope, and which labels stay.
import { describe, expect, test } from 'vitest';
import { defaultConfig } from '../../../src/config/load.ts';
import { at, Target, type TargetOptions } from '../../support/target.ts';

function seen(text: string, options: TargetOptions = {}): ReturnType<Target['page']> {
  return new Target(options).page(60, text);
}

describe('I1: Resources', () => {
  test('I1: service.name, the service id, the attributes of the entry, and the scraped address', () => {
    const identity = {
      name: 'orders',
      id: 'dbpgf1',
      attributes: { 'deployment.environment.name': 'production' },
      server: { address: 'api.example.com', port: 443, scheme: 'https' },
    };
    const [point] = seen('x 1', { identity }).points;
    expect(point?.resource.split(',')).toEqual([
      'deployment.environment.name=production',
      'server.address=api.example.com',
      'server.port=443',
      'service.instance.id=dbpgf1',
      'service.name=orders',
      'url.scheme=https',
    ]);
  });

  test('I1: a page without namespace belongs to the one service of its target', () => {
    const { points } = seen('x 1\nx{namespace="a"} 2\nx{namespace="b"} 3', { services: ['a'] });
    expect(points.map(({ serviceId, value }) => [serviceId, value])).toEqual([['a', 1]]);
    // Without its namespace, the second line is the same series.
  });

  test('I1: unconfigured services are counted, and sent only on request', () => {
    const text = 'x{namespace="a"} 1\nx{namespace="z"} 2';
    const served = (unconfigured: 'drop' | 'send'): readonly string[] => {
      const { points, translated } = seen(text, { services: ['a'], unconfigured });
      const shown = translated.derived.services.map(
        ({ id, configIndex }) => `${id} ${configIndex}`,
      );
      expect(points.map(({ serviceId }) => serviceId)).toEqual(shown.map(one => one[0]));
      return shown;
    };
    expect(served('drop')).toEqual(['a 0']);
    expect(served('send')).toEqual(['a 0', 'z -1']);
  });

  test('I1: namespace: prefix puts the id before every name, and removes it from the Resource', () => {
    const metrics = { namespace: 'prefix' } as const;
    const { points } = seen('x{namespace="a"} 1', { services: ['a'], metrics });
    expect(points.find(({ metric }) => metric === 'a.x')).toMatchObject({ serviceId: 'a' });
    expect(points.map(({ metric }) => metric)).toContain('a.up');
  });
});

describe('A6: a page means the same after any other page', () => {
  const SUMMARY = '# TYPE x summary\nx{quantile="0.5"} 1\nx_sum 2\nx_count 3\n';
  const OPEN_METRICS = `# TYPE x counter\nx_total 5\nx_created ${at(-50) / 1000}\n# EOF\n`;
  const DATED = `# TYPE x_total counter\nx_total 6\nx_created ${at(30) / 1000}\n`;
  const TEXT = '# TYPE x_total counter\nx_total 5\n';
  test.each([
    [
      'a part of a family that gets its own TYPE',
      SUMMARY,
      `${SUMMARY}# TYPE x_count gauge\n`,
      ['gauge x_count{} 3 @60'],
    ],
    [
      'a part of a family that loses its own TYPE',
      `${SUMMARY}# TYPE x_count gauge\n`,
      SUMMARY,
      ['summary x{} count=3 sum=2 q0.5:1 @60 from 60'],
    ],
    [
      'a counter, in OpenMetrics and text',
      OPEN_METRICS.replace(/x_created.*\n/, ''),
      TEXT,
      ['sum x_total{} 5 @60 from 0'],
    ],
    [
      'a counter, in text and OpenMetrics',
      TEXT,
      OPEN_METRICS.replace(/x_created.*\n/, ''),
      ['sum x_total{} 5 @60 from 0'],
    ],
    [
      'a creation time that is a separate metric in text dates nothing',
      OPEN_METRICS,
      DATED,
      ['sum x_total{} 6 @60 from -50', `gauge x_created{} ${at(30) / 1000} @60`],
    ],
  ])('A6: %s', (_, before, text, want) => {
    const target = new Target();
    target.page(0, before);
    const { shown } = target.page(60, text);
    expect(shown.filter(point => !point.includes('stale'))).toEqual(want);
  });

  test('A6: rows that moved are not new ones', () => {
    const target = new Target();
    const lines = 'h_bucket{le="1"} 2\nh_count 3\n';
    const added = (seconds: number, text: string): unknown =>
      target.page(seconds, text).own.find(({ metric }) => metric === 'scrape_series_added')?.value;
    expect(added(0, `${lines}# TYPE h histogram\n`)).toBe(2);
    expect(added(60, lines)).toBe(0);
  });
});

test('I1: the label `__name__` is dropped and counted; series that become one are sent once', () => {
  const target = new Target();
  const page = 'x{__name__="y",a="1"} 1\nx{a="1"} 2\nz{__name__="y"} 3\n';
  for (const seconds of [0, 60, 120]) {
    const { shown, reads, translated } = target.page(seconds, page);
    expect(shown).toEqual([`gauge x{a=1} 1 @${seconds}`, `gauge z{} 3 @${seconds}`]);
    expect(reads).toEqual({ used: 2, duplicate: 1 });
    expect(translated.derived.nameLabels).toBe(2);
  }
  expect(target.page(180, 'x{a="1"} 2').translated.derived.nameLabels).toBe(0);
});

describe('I2: scopes', () => {
  test('I2: otel_scope_* labels win and are removed from the points', () => {
    const labels = 'a="b",otel_scope_name="lib",otel_scope_version="1.2",otel_scope_color="red"';
    const [point] = seen(`x{${labels}} 1`).points;
    expect(point).toMatchObject({ scope: 'lib', attributes: 'a=b' });
    expect(seen('x{otel_scope_version="1.2"} 1').points[0]?.scope).toBe('prom2otlp/other');
    // No attribute is without a name.
    expect(seen('x{otel_scope_="q"} 1').shown).toEqual(['gauge x{otel_scope_=q} 1 @60']);
  });

  test('I2: the order of scope labels does not matter', () => {
    const target = new Target();
    const [first, second] = ['otel_scope_a="1"', 'otel_scope_b="2"'];
    target.page(0, `x{${first},${second}} 1\ny{${second},${first}} 1`);
    const blocks = target.translation.table.blocks.filter(({ instance }) => instance >= 0);
    expect(blocks).toHaveLength(1);
  });
});

describe('I3: target_info', () => {
  test('I3: in the text format, too, and also if filters exclude it', () => {
    const text = 'target_info{job="j",cloud="x"} 1\ny 2';
    const { points } = seen(text, { metrics: { include: [/^y$/] } });
    expect(points[0]?.resource).toBe('cloud=x,service.instance.id=local,service.name=local');
  });

  test('I3: attributes of the entry beat it; a changed target_info changes the Resource', () => {
    const target = new Target({ identity: { attributes: { cloud: 'mine' } } });
    const resource = (text: string, seconds: number): string | undefined =>
      target.page(seconds, `${text}\ny 1`).points.find(({ metric }) => metric === 'y')?.resource;
    expect(resource('target_info{cloud="x",zone="1"} 1', 0)).toContain('cloud=mine,');
    expect(resource('target_info{cloud="x",zone="2"} 1', 60)).toContain('zone=2');
    expect(resource('target_info{cloud="x",zone="1"} 1', 120)).toContain('zone=1');
  });

  test('I3: the target_info of one service does not affect another', () => {
    const text = 'target_info{namespace="a",zone="1"} 1\ny{namespace="a"} 1\ny{namespace="b"} 1';
    const { points } = seen(text, { services: ['a', 'b'] });
    expect(points.map(({ resource }) => resource.includes('zone=1'))).toEqual([true, false]);
  });
});

test('I5: no envelope is empty', () => {
  const { translated } = seen('x{namespace="z"} 1', { services: ['a', 'b'] });
  const parts = translated.batch.parts.map(({ service, points }) => `${service} ${points}`);
  expect(parts).toEqual(['a 6', 'b 6']);
});

describe('very many series that change their type at once', () => {
  // These take a second, but minutes if each series visits all others.
  test.each([
    [
      'the buckets of one histogram',
      20_000,
      (i: number) => `h_bucket{le="${String(i)}"} ${String(i)}\n`,
    ],
    [
      'histograms',
      10_000,
      (i: number) => `h_bucket{a="${String(i)}",le="1"} 1\nh_count{a="${String(i)}"} 1\n`,
    ],
  ])('%s', (_, count, line) => {
    const { limits } = defaultConfig().metrics;
    const create = (): Target =>
      new Target({ metrics: { limits: { ...limits, serviceSamples: 200_000 } } });
    const pagesOf = (series: number): readonly string[] => {
      const lines = Array.from({ length: series }, (__, i) => line(i)).join('');
      const types = ['histogram', 'gauge', 'histogram', 'gauge'];
      return types.map(type => `# TYPE h ${type}\n${lines}h_count ${String(series)}`);
    };
    const many = create();
    const reads = pagesOf(count).map((page, i) => many.reads(60 * i, page));
    expect(reads[0]?.['used']).toBeGreaterThan(count);
    expect(reads.slice(2)).toEqual(reads.slice(0, 2));
    const some = create();
    const seen = pagesOf(1000).map((page, i) => some.page(60 * i, page));
    expect(seen[2]?.points.every(({ metric }) => metric === 'h')).toBe(true);
    expect(seen[3]?.points.some(({ type, flags }) => type === 'histogram' && flags === 0)).toBe(
      false,
    );
  });
});

// Rules G1 to G4: series that end.
import { describe, expect, test } from 'vitest';
import { outcomeOf, Target } from '../../support/target.ts';

const HISTOGRAM =
  '# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 3\nh_count 3\nh_sum 4\n';

describe('G1: without timestamps', () => {
  test('G1: a marker has the attributes, type, unit and start of its series', () => {
    const target = new Target();
    const line = 'engine_global_status_bytes_sent{server_name="s"}';
    target.page(0, `engine_global_status_uptime{server_name="s"} 50\n${line} 7`);
    const [, marker] = target.page(60, 'b 1').points;
    expect(marker).toMatchObject({
      metric: 'engine_global_status_bytes_sent',
      attributes: 'server_name=s',
      unit: 'By',
      type: 'sum',
      flags: 1,
      value: undefined,
    });
  });

  test('G1: a histogram keeps its bounds with zero counts and a sum, a summary its quantiles', () => {
    const target = new Target();
    target.page(0, `${HISTOGRAM}# TYPE s summary\ns{quantile="0.5"} 1\ns_count 2\ns_sum 3`);
    const { points } = target.page(60, '');
    expect(points.map(({ flags, distribution }) => `${flags} ${distribution}`)).toEqual([
      '1 count=0 sum=0 le1:0 inf:0',
      '1 count=0 sum=0 q0.5:0',
    ]);
    // The histogram continues after its end, and ends again.
    expect(target.page(120, HISTOGRAM).shown).toHaveLength(1);
    target.shows(180, '', 'histogram h{} stale @180 from 0');
  });

  test('G1: the marker of a histogram has each bound once, in any spelling', () => {
    const target = new Target();
    const text = (le: string): string => `# TYPE h histogram\nh_bucket{le="${le}"} 2\nh_count 3\n`;
    target.page(0, text('1'));
    target.page(60, text('1.0'));
    expect(target.fail(120).points[0]?.distribution).toBe('count=0 le1:0 inf:0');
  });

  test('G1: the marker of a summary that was a histogram before has only its quantiles', () => {
    const target = new Target();
    target.page(0, HISTOGRAM);
    const text = (more: string): string =>
      `# TYPE h summary\nh{quantile="0.5"} 1\n${more}h_count 2\nh_sum 3\n`;
    target.page(60, text(''));
    expect(target.page(120, 'b 1').points[0]?.distribution).toBe('count=0 sum=0 q0.5:0');
    // An invalid quantile makes its point invalid, and does not get into the marker either.
    target.page(180, text(''));
    target.page(240, text('h{quantile="x"} 1\n'));
    expect(target.page(300, 'b 1').points[0]?.distribution).toBe('count=0 sum=0 q0.5:0');
  });

  test('G1: a distribution that became a number, or the other way round, gets no marker of the new kind', () => {
    const target = new Target();
    const point = 'histogram h{} count=3 sum=4 le1:2 inf:1';
    target.shows(0, HISTOGRAM, `${point} @0 from 0`);
    target.shows(60, 'h 1', 'gauge h{} 1 @60');
    const seen = target.shows(120, HISTOGRAM, `${point} @120 from 120`);
    expect(outcomeOf(seen)?.stalePoints).toBe(0);
    target.shows(180, 'b 1', 'histogram h{} stale @180 from 120', 'gauge b{} 1 @180');
  });

  test('G1: nor do its parts, if their rows come before that of its head', () => {
    const target = new Target();
    target.page(0, 'a 1\nb 1\nc 1\nd 1\nkeep 1');
    for (const minutes of [1, 62, 63]) target.page(60 * minutes, 'keep 1');
    // Forgotten rows are reused from the last one on.
    target.page(3840, `keep 1\n${HISTOGRAM}`);
    const { compounds } = target.translation.table;
    const [head = 0] = compounds.keys();
    expect(Math.max(...(compounds.get(head)?.rows ?? []))).toBe(head);
    const seen = target.page(3900, 'keep 1\n# TYPE h gauge\nh 1');
    expect(seen.shown.toSorted()).toEqual(['gauge h{} 1 @3900', 'gauge keep{} 1 @3900']);
    expect(outcomeOf(seen)).toMatchObject({ points: 8, stalePoints: 0 });
  });

  test('G2: a series of numbers that becomes a part of a histogram does not end the histogram', () => {
    const target = new Target();
    const histogram =
      '# TYPE x histogram\nx_bucket{le="1"} 1\nx_bucket{le="5"} 4\nx_sum 2\nx_count 5\n';
    target.page(0, 'x_bucket{le="x"} 5 @0');
    target.page(60, histogram);
    target.page(120, `# TYPE x counter\nx_total 5\n${histogram}`);
    const broken = (seconds: number): string => `x_bucket{le="x"} 5 @${seconds}\n${histogram}`;
    target.page(180, broken(180));
    // Meanwhile the series of numbers has not moved for stale_after.
    for (const seconds of [240, 300, 360]) target.shows(seconds, broken(seconds));
  });

  test('G1: a failed scrape ends all series of the last good page, once', () => {
    const target = new Target();
    target.page(0, `a 1\n${HISTOGRAM}`);
    const failed = target.fail(60);
    expect(failed.shown).toEqual(['gauge a{} stale @60', 'histogram h{} stale @60 from 0']);
    const down = { isUp: false, reason: 'timeout', stalePoints: 2, points: 8 };
    expect(outcomeOf(failed)).toMatchObject(down);
    expect(target.fail(120).shown).toEqual([]);
  });

  test('G1: a service that fails alone ends its series; the others continue', () => {
    const target = new Target({ services: ['a', 'b'] });
    const lines = (value: number): string =>
      `x{namespace="a"} ${value}\nx{namespace="b"} ${value}\n`;
    target.page(0, lines(1));
    const { points } = target.page(60, `${lines(2)}y{namespace="a"} 1,5\nz{namespace="a"} 1,5`);
    expect(points.map(({ serviceId, flags }) => `${serviceId} ${flags}`)).toEqual(['a 1', 'b 0']);
  });

  test('G1: a histogram that lost a bucket continues without it', () => {
    const target = new Target();
    target.page(0, HISTOGRAM);
    const rest = '# TYPE h histogram\nh_bucket{le="+Inf"} 4\nh_count 4\nh_sum 4';
    target.shows(60, rest, 'histogram h{} count=4 sum=4 inf:4 @60 from 0');
  });
});

describe('G2: with timestamps', () => {
  test('G2: a marker never blocks the next sample, however old its timestamp', () => {
    const target = new Target();
    target.page(0, 'a 1 @-600');
    target.shows(300, '', 'gauge a{} stale @-599.999');
    target.shows(360, 'a 1 @-599.998', 'gauge a{} 1 @-599.998');
  });

  test('G2: the sample that a marker ended is a repeat, and another value of its time a conflict', () => {
    const target = new Target();
    target.page(0, 'a 1 @0');
    target.page(300, '');
    expect(target.page(360, 'a 1 @0').reads).toEqual({ repeated: 1 });
    expect(target.page(420, 'a 2 @0').reads).toEqual({ time_conflict: 1 });
    expect(target.page(480, 'a 2 @0.001').reads).toEqual({ time_conflict: 1 });
    expect(target.page(540, 'a 2 @-1').reads).toEqual({ time_backwards: 1 });
  });

  test('G2: timestamps that only go back do not keep a series alive', () => {
    const target = new Target();
    target.page(0, 'a 1 @0');
    target.page(240, 'a 2 @-60');
    target.shows(300, 'a 2 @-30', 'gauge a{} stale @0.001');
  });

  test('G2: failed scrapes end series with timestamps only after stale_after', () => {
    const target = new Target();
    target.page(0, 'a 1 @0');
    expect([60, 120, 180, 240].flatMap(seconds => target.fail(seconds).shown)).toEqual([]);
    expect(target.fail(300).shown).toEqual(['gauge a{} stale @0.001']);
  });

  test('G2: source_stale reports a service whose samples do not move', () => {
    const target = new Target();
    for (const [seconds, stamp, isStale] of [
      [0, 0, false],
      [299, 0, false],
      [300, 0, true],
      [360, 0, true],
      [420, 410, false],
    ] as const) {
      const seen = target.page(seconds, `a 1 @${stamp}\nb 1 @${stamp - 5}`);
      expect(outcomeOf(seen)?.isSourceStale, String(seconds)).toBe(isStale);
    }
  });

  test('G2: a service whose series are all filtered is not a stale source', () => {
    const target = new Target({ metrics: { exclude: [/^.*$/] } });
    target.page(0, 'a 1 @0');
    expect(outcomeOf(target.page(600, 'a 1 @600'))?.isSourceStale).toBe(false);
  });

  test('G2: a histogram that does not move ends as a whole', () => {
    const target = new Target();
    const text = HISTOGRAM.replaceAll(/(\d)\n/g, `$1 @0\n`);
    target.page(0, text);
    target.shows(300, text, 'histogram h{} stale @0.001 from 0');
    expect(target.page(360, text).reads).toEqual({ repeated: 4 });
    target.shows(420, text);
  });

  test('G2: a histogram that is no longer valid ends after stale_after', () => {
    const target = new Target();
    target.page(0, HISTOGRAM);
    const broken = HISTOGRAM.replace('h_count 3', 'h_count 1');
    target.shows(60, broken);
    target.shows(300, broken, 'histogram h{} stale @300 from 0');
    target.shows(360, HISTOGRAM, 'histogram h{} count=3 sum=4 le1:2 inf:1 @360 from 0');
  });
});

describe('G3 and G4', () => {
  test('G3: a service that leaves the answer is down with its reason, and up again when it returns', () => {
    const target = new Target({ services: ['a', 'b'] });
    const both = 'x{namespace="a"} 1\nx{namespace="b"} 1';
    target.page(0, both);
    const gone = target.page(60, 'x{namespace="a"} 1');
    const flags = gone.points.map(point => `${point.serviceId} ${point.flags}`);
    expect(flags).toEqual(['a 0', 'b 1']);
    expect(outcomeOf(gone, 'a')).toMatchObject({ isUp: true, reason: '' });
    expect(outcomeOf(gone, 'b')).toMatchObject({ isUp: false, reason: 'absent', samples: 0 });
    expect(outcomeOf(target.page(120, both), 'b')).toMatchObject({ isUp: true, samples: 1 });
  });

  test('G4: an ordinary NaN is a value, and no marker', () => {
    new Target().shows(0, 'a NaN', 'gauge a{} NaN @0');
  });

  test('G4: stale_markers: false sends none', () => {
    const target = new Target({ metrics: { staleMarkers: false } });
    target.page(0, 'a 1\nb 1 @0');
    expect(target.fail(60).shown).toEqual([]);
    target.shows(600, 'c 1', 'gauge c{} 1 @600');
    expect(target.page(660, 'a 1\nb 1 @1\nc 1').shown).toHaveLength(3);
  });
});

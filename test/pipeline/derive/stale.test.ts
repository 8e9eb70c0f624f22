// Rules G1 to G4, what their scripts (test/rules/staleness.txt) cannot say.
import { expect, test } from 'vitest';
import { outcomeOf, Target } from '../../support/target.ts';

const HISTOGRAM =
  '# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 3\nh_count 3\nh_sum 4\n';

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

test('G1: the parts of a histogram that became a number get no marker, wherever its head stands', () => {
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

test('G1: markers are counted', () => {
  const target = new Target();
  target.page(0, `a 1\n${HISTOGRAM}`);
  const down = { isUp: false, reason: 'timeout', stalePoints: 2, points: 8 };
  expect(outcomeOf(target.fail(60))).toMatchObject(down);
});

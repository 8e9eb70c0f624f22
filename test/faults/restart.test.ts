// What the next process finds: requests that are larger than a limit that was lowered meanwhile.

import { expect, test } from 'vitest';
import { Stage } from './support/stage.ts';

test('a lower otlp.max_request: larger requests arrive in pieces', async () => {
  const otlp = { compression: 'none' };
  await using stage = await Stage.create({
    name: 'lower max_request',
    source: { width: 200 },
    otlp,
  });
  const { bridge, sink, pagePoints } = stage;
  // A back end that wants another key: a program that is told to stop does not wait for it.
  sink.choose = () => ({ kind: 'refuse', status: 401 });
  const first = bridge.start();
  await stage.scrapes(6);
  await first.stop();
  expect(bridge.account().stored).toBeGreaterThan(3 * pagePoints);
  const most = Math.floor(pagePoints / 4);
  sink.inspect = points => (points.length > most ? { kind: 'refuse', status: 413 } : null);
  const life = bridge.start({}, { otlp: { endpoint: sink.url, max_request: '16KiB' } });
  await stage.stored();
  sink.choose = () => ({ kind: 'accept' });
  await stage.end(life);
  stage.judge();
});

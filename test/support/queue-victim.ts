// A process to be killed while it uses a durable queue: it commits, or settles, as fast as it can, and tells of
// each only after the queue has said that it is done. Arguments: `commit` or `settle`, and the directory.

import { writeSync } from 'node:fs';
import { Counters } from '../../src/lib/counters.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { SqliteQueue } from '../../src/pipeline/queue/sqlite-queue.ts';
import { metricsBatch } from './otlp-requests.ts';

const [, , mode = '', directory = ''] = process.argv;

const queue = SqliteQueue.open(
  {
    config: {
      directory,
      metrics: { maxBytes: 1e8, maxAgeMs: 1e15 },
      logs: { maxBytes: 1e8 },
    },
    maxRequestBytes: { metrics: 1e6, logs: 1e6 },
    compression: { metrics: 'gzip', logs: 'gzip' },
    clock: systemClock,
    counters: new Counters(),
    logger: silentLogger,
  },
  directory,
);

// Synchronous: what was written is out, whenever the process is killed.
const tell = (text: string): void => void writeSync(1, `${text}\n`);

async function commit(): Promise<void> {
  const last = Number((await queue.readState('cursor', 'a')) ?? 0);
  for (let i = last + 1; i < last + 10_000; i++) {
    const outcome = await queue.commit({
      batches: [metricsBatch({ a: 20, b: 10 }, systemClock.nowMs())],
      state: [{ kind: 'cursor', key: 'a', blob: Buffer.from(String(i)) }],
      reads: [{ service: 'a', fate: 'used', count: 5 }],
    });
    tell(outcome.kind === 'stored' ? String(i) : JSON.stringify(outcome));
  }
}

async function settle(): Promise<void> {
  for (;;) {
    const [row] = await queue.oldest('metrics', 1, new Set());
    if (row === undefined) return;
    queue.pin(row.id);
    const settlements = row.parts.map(({ service, points }) => ({
      service,
      accepted: points,
      rejected: 0,
      setAside: 0,
    }));
    await queue.settle(row.id, settlements, []);
    tell(String(row.id));
  }
}

await (mode === 'commit' ? commit() : settle());

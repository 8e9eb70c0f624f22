// What a daemon keeps for its next start, as the last line of its log says it: the requests that wait, the state of the
// targets' series, the positions in the logs. It is read from the queue, so that only what is stored is told.

import { formatCount } from '../lib/format.ts';
import { SIGNALS } from '../model/batch.ts';
import { STATE } from '../pipeline/derive/state-form.ts';
import type { Queue } from '../pipeline/queue/queue.ts';

/** The kind and the keys of positions in logs, as logs/ledger.ts stores them: the ledger is not loaded for a count. */
const LOGS_KIND = 'logs';
const POSITION = /^service\//;

/** A sentence without a full stop. Call it before the queue is closed. `directory` null: the queue is in memory. */
export function keptText(queue: Queue, directory: string | null): string {
  const { points } = queue;
  if (directory === null)
    return points === 0
      ? 'nothing: the queue was in memory (queue.directory: null)'
      : `nothing: the queue was in memory (queue.directory: null), and its ${formatCount(points)} points are lost`;
  const requests = SIGNALS.reduce((sum, signal) => sum + queue.size(signal).rows, 0);
  const targets = queue.stateKeys(STATE).length;
  const positions = queue.stateKeys(LOGS_KIND).filter(key => POSITION.test(key)).length;
  const parts = [
    `requests that wait: ${formatCount(requests)}`,
    `targets with series: ${formatCount(targets)}`,
    `services with a position in their logs: ${formatCount(positions)}`,
  ];
  return `in ${directory}: ${parts.join('; ')}`;
}

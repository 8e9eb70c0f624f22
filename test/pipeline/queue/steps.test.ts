// Any sequence of operations, with a file that cannot be written at times: the queue holds exactly the rows that were
// committed and not settled, in order, in memory and in the file.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Queue } from '../../../src/pipeline/queue/queue.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { acceptRow, expectBalance, NONE, put, queueOptions } from './queue-behaviour.ts';

const POINTS = 10;

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('put', 'block', 'unblock', 'restart') }),
    fc.record({
      kind: fc.constantFrom('accept', 'look away'),
      place: fc.nat(5),
    }),
  ),
  { minLength: 5, maxLength: 25 },
);

/** A queue, its expected rows, and another program that may lock its file. */
class Stage {
  readonly directory: string = temporaryDirectory();
  readonly options: ReturnType<typeof queueOptions> = queueOptions();
  readonly waiting: [service: string, points: number][] = [];
  queue: Queue = Queue.open(this.options, this.directory);
  #accepted = 0;
  #made = 0;
  #other: DatabaseSync | null = null;

  async step(kind: string, place: number): Promise<void> {
    const at = Math.min(place, this.waiting.length - 1);
    if (kind === 'put') await this.#put();
    else if (kind === 'block') this.#block();
    else if (kind === 'unblock') this.#unblock();
    else if (kind === 'restart') await this.#restart();
    else if (at >= 0) await this.#send(kind, at);
    await this.check();
  }

  async check(): Promise<void> {
    const rows = await this.queue.oldest('metrics', 1000, NONE);
    expect(rows.map(({ parts: [part] }) => [part?.service, part?.points])).toEqual(this.waiting);
    expectBalance(this.queue);
  }

  async close(): Promise<void> {
    this.#unblock();
    await this.queue.close();
  }

  async #put(): Promise<void> {
    const service = `s${this.#made++}`;
    await put(this.queue, { [service]: POINTS }, this.options.clock.nowMs());
    this.waiting.push([service, POINTS]);
  }

  async #send(kind: string, at: number): Promise<void> {
    const row = (await this.queue.oldest('metrics', 1000, NONE))[at];
    const expected = this.waiting[at];
    if (row === undefined || expected === undefined) throw new Error('no row');
    const [, points] = expected;
    if (kind === 'look away') {
      expect(this.queue.pin(row.id)).toBe(true);
      this.queue.unpin(row.id);
    } else {
      await acceptRow(this.queue, row);
      this.waiting.splice(at, 1);
      this.#accepted += points;
    }
  }

  #block(): void {
    if (this.#other !== null) return;
    this.#other = new DatabaseSync(join(this.directory, 'queue.sqlite'));
    this.#other.exec('BEGIN IMMEDIATE');
  }

  #unblock(): void {
    this.#other?.close();
    this.#other = null;
  }

  async #restart(): Promise<void> {
    this.#unblock();
    await this.queue.close();
    this.queue = Queue.open(this.options, this.directory);
    // The account includes the operations that could not be written before.
    const total = this.queue.account.total();
    expect(total.get('point/made') ?? 0).toBe(POINTS * this.#made);
    expect(total.get('point/accepted') ?? 0).toBe(this.#accepted);
  }
}

test('in any order of steps', async () => {
  const property = fc.asyncProperty(steps, async list => {
    const stage = new Stage();
    try {
      for (const step of list) await stage.step(step.kind, 'place' in step ? step.place : 0);
      await stage.step('restart', 0);
    } finally {
      await stage.close();
    }
  });
  await fc.assert(property, { numRuns: 8 });
});

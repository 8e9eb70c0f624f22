// A file that is not what was written: torn by a power cut, or with bytes flipped by the disk. What can be read is
// delivered, what cannot is counted and kept beside the queue for a look, and nothing wrong goes out.

import { randomBytes } from 'node:crypto';
import { appendFileSync, closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { drained } from './support/bridge.ts';
import { Stage } from './support/stage.ts';

const PAGE_BYTES = 4096;

describe.concurrent('a damaged file', () => {
  /** A program that has stopped with several pages in its file, which nobody has taken. */
  async function createStage(name: string): Promise<Stage> {
    const stage = await Stage.create({ name });
    stage.sink.choose = () => ({ kind: 'refuse', status: 401 });
    const life = stage.bridge.start();
    await stage.scrapes(6);
    await life.stop();
    return stage;
  }

  const pathOf = ({ bridge }: Stage): string => join(bridge.directory, 'queue.sqlite');

  const corruptFilesOf = ({ bridge }: Stage): readonly string[] =>
    readdirSync(bridge.directory).filter(name => name.endsWith('.corrupt'));

  /** Where in the file the body of the third row is; older copies of it may stand in unused space. */
  function findBody(stage: Stage): readonly number[] {
    const db = new DatabaseSync(pathOf(stage), { readOnly: true });
    const row = db.prepare('SELECT body FROM batch ORDER BY id LIMIT 1 OFFSET 2').get();
    db.close();
    const body = Buffer.from(row?.['body'] as Uint8Array);
    const bytes = readFileSync(pathOf(stage));
    const found: number[] = [];
    for (let at = bytes.indexOf(body); at !== -1; at = bytes.indexOf(body, at + 1)) found.push(at);
    expect(found).not.toEqual([]);
    return found;
  }

  function overwrite(stage: Stage, at: number, bytes: Uint8Array): void {
    const file = openSync(pathOf(stage), 'r+');
    writeSync(file, bytes, 0, bytes.length, at);
    closeSync(file);
  }

  async function deliver(stage: Stage): Promise<string> {
    stage.sink.choose = () => ({ kind: 'accept' });
    const life = await stage.started();
    await drained(life);
    await stage.end(life);
    return life.stderr();
  }

  test('with a flipped bit in a row: that row is lost', async () => {
    await using stage = await createStage('flipped bit');
    for (const at of findBody(stage)) {
      const [byte = 0] = readFileSync(pathOf(stage)).subarray(at + 100);
      overwrite(stage, at + 100, Uint8Array.of(byte ^ 4));
    }
    await deliver(stage);
    const { givenUp } = stage.judge({ isLossAllowed: true });
    expect(givenUp).toBeGreaterThan(0);
    expect(givenUp).toBeLessThanOrEqual(stage.pagePoints);
  });

  test('with a page of junk: its rows are lost, and the file is kept', async () => {
    await using stage = await createStage('page of junk');
    for (const at of findBody(stage))
      overwrite(stage, at - (at % PAGE_BYTES), randomBytes(PAGE_BYTES));
    expect(await deliver(stage)).toMatch(/the file of the queue was damaged/);
    const { givenUp } = stage.judge({ isLossAllowed: true });
    expect(givenUp).toBeGreaterThan(0);
    expect(corruptFilesOf(stage)).toHaveLength(1);
  });

  test('with a torn tail: all earlier rows are delivered', async () => {
    await using stage = await Stage.create({ name: 'torn tail' });
    stage.sink.choose = () => ({ kind: 'refuse', status: 503, retryAfter: '1' });
    const life = stage.bridge.start();
    await stage.scrapes(5);
    await stage.kill(life);
    // The power went while the next transaction was being written: half of a page came to the disk.
    const log = `${pathOf(stage)}-wal`;
    const bytes = readFileSync(log);
    expect(bytes.length).toBeGreaterThan(PAGE_BYTES);
    appendFileSync(log, bytes.subarray(-PAGE_BYTES - 24, -PAGE_BYTES / 2));
    await deliver(stage);
    stage.judge({ kills: 1 });
    expect(corruptFilesOf(stage)).toEqual([]);
  });
});

// Disks that are full, fail, are slow or cannot be written: points scraped meanwhile are kept in memory and delivered
// from there, accepted points are not sent again, and once the disk works again, it has everything.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Running } from '../support/program.ts';
import { Interference } from './support/interference.ts';
import { SmallDisk } from './support/small-disk.ts';
import { Stage, type StageOptions } from './support/stage.ts';

const noDisk = SmallDisk.reasonToSkip();
if (noDisk !== null) console.log(`faults: full disks are skipped: ${noDisk}`);
const noStrace = await Interference.reasonToSkip();
if (noStrace !== null) console.log(`faults: failing disks are skipped: ${noStrace}`);

const DOWN = { kind: 'refuse', status: 503, retryAfter: '1' } as const;
const ACCEPT = { kind: 'accept' } as const;

/** The program's message when it keeps rows in memory because it cannot write them. */
const TOLD = /cannot write the file of the queue/;

/** A stage whose queue sizes suit a small disk: the space kept in reserve depends on them. */
function createStage(
  name: string,
  disk: SmallDisk,
  more: Partial<StageOptions> = {},
): Promise<Stage> {
  const directory = join(disk.path, 'queue');
  const queue = { directory, metrics: { max_bytes: '8MiB' }, logs: { max_bytes: '8MiB' } };
  return Stage.create({ name, directory, changes: { queue }, ...more });
}

describe.skipIf(noDisk !== null).concurrent('a disk that is full', () => {
  test('filled by others: the back end is served from memory', async () => {
    using disk = SmallDisk.mount(8);
    await using stage = await createStage('disk full', disk);
    const life = stage.bridge.start();
    await stage.deliveries(2);
    disk.fill();
    await stage.deliveries(4);
    expect(life.stderr()).toMatch(TOLD);
    disk.clear();
    await stage.deliveries(2);
    await stage.end(life);
    stage.judge();
  });

  test('while the back end is down: dropped points are in the account, all others are delivered', async () => {
    using disk = SmallDisk.mount(8);
    await using stage = await createStage('disk full, back end down', disk);
    stage.sink.choose = () => DOWN;
    const life = await stage.started();
    await stage.scrapes(2);
    disk.fill();
    await stage.scrapes(4);
    expect(life.stderr()).toMatch(/cannot write the file of the queue/);
    disk.clear();
    await stage.stored();
    // The rows from memory are on the disk now, so a kill costs nothing.
    await stage.kill(life);
    stage.sink.choose = () => ACCEPT;
    await stage.bridge.finish();
    stage.judge({ kills: 1, isLossAllowed: true });
  });

  test('filled by the queue itself: the oldest are dropped and counted', async () => {
    using disk = SmallDisk.mount(4);
    const name = 'queue fills the disk';
    const large = { source: { width: 500 }, otlp: { compression: 'none' } };
    await using stage = await createStage(name, disk, large);
    stage.sink.choose = () => DOWN;
    // The first process is killed just when it gives up its first row.
    const first = stage.bridge.start({ failpoint: 'evict-removed' });
    await first.finished;
    await stage.kill(first);
    const life = await stage.started();
    await stage.until(
      'points are given up',
      async () => (await life.status()).account.total.points.evicted > 0,
    );
    await stage.scrapes(3);
    stage.sink.choose = () => ACCEPT;
    await stage.end(life);
    const figures = stage.judge({ isLossAllowed: true, kills: 1 });
    expect(figures.givenUp).toBeGreaterThanOrEqual(stage.pagePoints);
  });

  test('from the start, with space in reserve: it runs, and dropped points are in the account', async () => {
    using disk = SmallDisk.mount(8);
    await using stage = await createStage('disk full at a later start', disk);
    stage.sink.choose = () => DOWN;
    const first = await stage.started();
    await stage.scrapes(3);
    await stage.kill(first);
    disk.fill();
    const life = await stage.started();
    expect(life.stderr()).toMatch(/the disk of the queue is full/);
    stage.sink.choose = () => ACCEPT;
    await stage.deliveries(3);
    disk.clear();
    await stage.end(life);
    stage.judge({ kills: 1, isLossAllowed: true });
  });
});

describe.skipIf(noDisk !== null)('a directory that cannot be written', () => {
  test('is reported at the start, and its rows are delivered once it can be written', async () => {
    using disk = SmallDisk.mount(8);
    await using stage = await createStage('read-only directory', disk);
    stage.sink.choose = () => DOWN;
    const life = await stage.started();
    await stage.scrapes(3);
    await stage.kill(life);
    disk.makeReadOnly(true);
    const { code, stderr } = await stage.bridge.start().finished;
    expect(code).toBe(2);
    expect(stderr).toMatch(/queue\.directory/);
    disk.makeReadOnly(false);
    stage.sink.choose = () => ACCEPT;
    await stage.bridge.finish();
    stage.judge({ kills: 1 });
  });
});

describe.skipIf(noStrace !== null).concurrent('a disk that fails', () => {
  /** The files of the queue, including the write-ahead log. */
  const filesOf = ({ bridge }: Stage): string[] =>
    ['queue.sqlite', 'queue.sqlite-wal'].map(name => join(bridge.directory, name));

  async function interfere(
    stage: Stage,
    life: Running,
    calls: string,
    fault: string,
  ): Promise<Interference> {
    return Interference.begin({ pid: life.child.pid ?? 0, paths: filesOf(stage), calls, fault });
  }

  for (const [what, calls, error] of [
    ['write', 'pwrite64', 'EIO'],
    ['fsync', 'fsync,fdatasync', 'EIO'],
    ['write', 'pwrite64', 'ENOSPC'],
    ['write', 'pwrite64', 'EROFS'],
    ['read and write', 'pread64,pwrite64,fsync,fdatasync', 'EIO'],
  ] as const) {
    test(`${error} on ${what}: the back end is served from memory, and all is on the disk once that works`, async () => {
      await using stage = await Stage.create({ name: `${error} on ${what}` });
      const life = stage.bridge.start();
      await stage.deliveries(2);
      const interference = await interfere(stage, life, calls, `error=${error}`);
      await stage.deliveries(4);
      expect(life.stderr()).toMatch(TOLD);
      // From now on the back end is down, so that all rows must be on the disk once it works again.
      stage.sink.choose = () => DOWN;
      await stage.scrapes(4);
      await interference.end();
      await stage.stored();
      await stage.kill(life);
      stage.sink.choose = () => ACCEPT;
      await stage.bridge.finish();
      stage.judge({ kills: 1 });
    });
  }

  test('or is slow: only commits wait for it', async () => {
    await using stage = await Stage.create({ name: 'slow disk' });
    const life = stage.bridge.start();
    await stage.deliveries(2);
    const interference = await interfere(stage, life, 'fsync,fdatasync', 'delay_enter=300000');
    await stage.scrapes(4);
    await interference.end();
    await stage.end(life);
    stage.judge();
  });
});

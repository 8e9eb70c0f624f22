// Starts with the queue in use, the port taken or the disk full: they wait, run, or exit with 75, which means that the
// same start may work later. Starts with a mistake that somebody must fix exit with 2 at once.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { SmallDisk } from '../faults/support/small-disk.ts';
import { startTcpServer } from '../support/http-server.ts';
import { useRig } from '../support/rig.ts';
import { type Running, start, until } from '../support/program.ts';

const noDisk = SmallDisk.reasonToSkip();
if (noDisk !== null) console.log(`e2e: full disks are skipped: ${noDisk}`);

const rig = useRig();
const { directory } = rig;

interface Place {
  readonly name: string;
  /** The queue's directory; by default, a directory with the place's name. */
  readonly queue?: string;
  readonly listen?: string;
  readonly token?: string;
}

/** Writes a configuration whose back end does not exist, so that all points wait. */
function config({ name, queue, listen = '127.0.0.1:0', token }: Place): string {
  const changes = {
    otlp: { endpoint: 'http://127.0.0.1:1' },
    queue: {
      directory: queue ?? join(directory.path, name),
      metrics: { max_bytes: '8MiB' },
      logs: { max_bytes: '8MiB' },
    },
    status: { listen, ...(token === undefined ? {} : { token }) },
  };
  return rig.config(changes, `${name}.yaml`);
}

const startRun = (place: Place, environment: Record<string, string> = {}): Running =>
  start(['run', '--config', config(place)], environment);

/** Starts a daemon, and waits until it has its queue and its port. */
async function hold(place: Place): Promise<Running> {
  const daemon = startRun(place);
  await daemon.ready();
  return daemon;
}

/** The number of log lines about a start that waits. */
const waits = (stderr: string): number => stderr.match(/"cannot start yet: waiting"/g)?.length ?? 0;

test('a FIFO without a reader does not delay the exit', async () => {
  const fifo = join(directory.path, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const environment = { PROM2OTLP_TERMINATION_MESSAGE: fifo };
  const { code, stderr } = await start(['run', '--config', 'none.yaml'], environment).finished;
  expect(stderr).toContain(`cannot write the reason to ${fifo}: `);
  expect(code).toBe(2);
});

describe.concurrent('a queue that another process holds', () => {
  test('is taken as soon as the other process releases it', async () => {
    const queue = join(directory.path, 'shared');
    const first = await hold({ name: 'first', queue });
    const second = startRun({ name: 'second', queue });
    await until('it waits', () => waits(second.stderr()) === 1);
    await first.stopNow();
    await second.ready();
    expect(waits(second.stderr())).toBe(1);
    await second.stopNow();
  });

  test('ends the start with 75 after 30 s, and a reason for Kubernetes', async () => {
    const queue = join(directory.path, 'kept');
    const first = await hold({ name: 'keeper', queue });
    const message = directory.write('termination-log', 'x'.repeat(500));
    const begunMs = performance.now();
    const second = startRun({ name: 'waiter', queue }, { PROM2OTLP_TERMINATION_MESSAGE: message });
    const { code, stderr } = await second.finished;
    expect(code).toBe(75);
    expect(performance.now() - begunMs).toBeGreaterThan(29_000);
    const reason = readFileSync(message, 'utf8');
    expect(reason).toMatch(/: (?:another process|process \d+) is using it; stop that process, or/);
    expect(reason).toContain(`cannot lock ${queue}`);
    // One line for the cause, and the reason at the end.
    expect(stderr.trimEnd().split('\n')).toHaveLength(2);
    expect(stderr.endsWith(reason)).toBe(true);
    await first.stopNow();
  });

  test('makes `once` and `queue drain` exit with 1 and the reason', async () => {
    const place = { name: 'busy' };
    const daemon = await hold(place);
    for (const verb of [['once'], ['queue', 'drain']]) {
      const { code, stderr } = await start([...verb, '--config', config(place)]).finished;
      expect(stderr).toMatch(/process (?:\d+ )?is using it/);
      expect(code).toBe(1);
    }
    await daemon.stopNow();
  });

  test('lets a signal end the wait cleanly', async () => {
    const queue = join(directory.path, 'left');
    const first = await hold({ name: 'stays', queue });
    const second = startRun({ name: 'leaves', queue });
    await until('it waits', () => waits(second.stderr()) === 1);
    second.child.kill('SIGTERM');
    expect((await second.finished).code).toBe(0);
    await first.stopNow();
  });
});

describe.concurrent('a port that is taken', () => {
  test('is taken as soon as it is free', async () => {
    const taker = await startTcpServer(() => undefined);
    const listen = `127.0.0.1:${taker.port}`;
    const daemon = startRun({ name: 'port', listen });
    await until('it waits', () => waits(daemon.stderr()) === 1);
    await taker[Symbol.asyncDispose]();
    expect(await daemon.ready()).toBe(`http://${listen}`);
    expect(waits(daemon.stderr())).toBe(1);
    await daemon.stopNow();
  });

  test('is not waited for longer than 30 s: 75', async () => {
    await using taker = await startTcpServer(() => undefined);
    const listen = `127.0.0.1:${taker.port}`;
    const { code, stderr } = await startRun({ name: 'taken', listen }).finished;
    expect(code).toBe(75);
    expect(waits(stderr)).toBe(1);
    expect(stderr).toMatch(/cannot listen on 127\.0\.0\.1:\d+: the port is in use; .*\n$/);
  });
});

describe.skipIf(noDisk !== null).concurrent('a disk that is full', () => {
  test('does not prevent a start with reserved space, and is reported', async () => {
    using disk = SmallDisk.mount(8);
    const place = { name: 'reserve', queue: join(disk.path, 'queue') };
    for (const end of ['clean', 'killed']) {
      disk.clear();
      const before = await hold(place);
      await until('points wait', async () => ((await before.status()).queue[0]?.points ?? 0) > 0);
      await (end === 'clean' ? before.stopNow() : before.kill());
      disk.fill();
      const daemon = await hold(place);
      expect(daemon.stderr()).toMatch(/the disk of the queue is full/);
      const { queueTrouble, problems } = await daemon.status();
      expect(queueTrouble).toMatch(/disk is full/);
      expect(problems.map(({ subject }) => subject)).toContain('queue');
      await until('it scrapes', async () => (await daemon.status()).state === 'ready');
      await daemon.stopNow();
    }
  });

  test('ends the start with 75 without reserved space, or starts when there is space', async () => {
    using disk = SmallDisk.mount(8);
    disk.fill();
    const place = { name: 'no-reserve', queue: join(disk.path, 'queue') };
    const first = startRun(place);
    const second = await startRun({ name: 'no-reserve-2', queue: join(disk.path, 'other') })
      .finished;
    expect(second.code).toBe(75);
    expect(second.stderr).toMatch(/database or disk is full; free space on its disk\n$/);
    expect((await first.finished).code).toBe(75);
    const third = startRun(place);
    await until('it waits', () => waits(third.stderr()) === 1);
    disk.clear();
    await third.ready();
    await third.stopNow();
  });
});

describe('a mistake that somebody must fix ends with 2, at once', () => {
  test.each<[name: string, spoil: (file: string) => void]>([
    ['a foreign file', makeForeign],
    ['a directory in the place of the file', mkdirSync],
  ])('%s', async (name, spoil) => {
    const queue = join(directory.path, name);
    mkdirSync(queue);
    spoil(join(queue, 'queue.sqlite'));
    const { code, stderr } = await startRun({ name, queue }).finished;
    expect(stderr).toMatch(/queue\.directory: /);
    expect([code, waits(stderr)]).toEqual([2, 0]);
  });

  test('an address that this machine does not have', async () => {
    const place = { name: 'address', listen: '192.0.2.1:0', token: 'a-token-of-some-length' };
    const { code, stderr } = await startRun(place).finished;
    expect(stderr).toMatch(/no such address/);
    expect([code, waits(stderr)]).toEqual([2, 0]);
  });
});

/** Makes the database of another program. */
function makeForeign(file: string): void {
  const db = new DatabaseSync(file);
  db.exec('CREATE TABLE theirs (x)');
  db.close();
}

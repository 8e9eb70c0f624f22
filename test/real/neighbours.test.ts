// Each neighbour fails in turn: the service, its name, the back end, the disk, the clock. Each time, the page shows the
// problem and the remedy, and the shipped alert fires in a real Prometheus. Once the neighbour is back, both end by
// themselves.

import { writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { startSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { SmallDisk } from '../faults/support/small-disk.ts';
import { WallClock } from '../faults/support/wall-clock.ts';
import { Receiver } from '../support/receiver.ts';
import { configFor } from '../support/rig.ts';
import { type Running as Daemon, startUnder, until } from '../support/program.ts';
import { prometheus } from './parts/prometheus.ts';
import { runFolder } from './support/folder.ts';
import { type Judge, startJudge } from './support/judge.ts';
import { reasonToSkip } from './support/part.ts';

const HOST = 'service.test';
/** Generous: a slow machine takes a minute for what takes seconds otherwise. */
const WAIT_MS = 180_000;
const ALERTS = ['ServiceDown', 'DeliveryLate', 'QueueTrouble', 'ClockWrong'];

const skip =
  (await reasonToSkip([prometheus])) ?? SmallDisk.reasonToSkip() ?? WallClock.reasonToSkip();
if (skip !== null) console.warn(`skipped: ${skip}`);

describe.skipIf(skip !== null)('with each neighbour missing in turn', () => {
  let simulator: Simulator;
  let isServing = true;
  let receiver: Receiver;
  let judge: Judge;
  let daemon: Daemon;
  let disk: SmallDisk & Disposable;
  let folder: string;
  const wallClock = new WallClock();
  const key = 'canary-41d7ab09';

  const hosts = (name: string): void =>
    writeFileSync(join(folder, 'hosts'), `127.0.0.1 localhost ${name}\n`);
  const startService = async (port = 0): Promise<void> => {
    simulator = await startSimulator({ clock, key, refreshMs: 500, port });
    isServing = true;
  };
  const stopService = async (): Promise<void> => {
    isServing = false;
    await simulator.close();
  };
  /** At the address that it had before. */
  const startAgain = (): Promise<void> => startService(Number(new URL(simulator.url).port));

  beforeAll(async () => {
    folder = await runFolder('neighbours');
    disk = SmallDisk.mount(24);
    await startService();
    receiver = await Receiver.start();
    hosts(HOST);
    await writeFile(join(folder, 'key'), key);
    const base_url = simulator.url.replace('127.0.0.1', HOST);
    const config = configFor(simulator, {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
      api: { base_url, key: '${file:key}', timeout: '900ms', insecure: true },
      services: [{ id: simulator.world.services[0]?.id, name: 'orders' }],
      otlp: { endpoint: receiver.url },
      queue: { directory: join(disk.path, 'queue'), metrics: { max_bytes: '8MiB' } },
    });
    await writeFile(join(folder, 'config.yaml'), config);
    // Gives the daemon a separate table of host names, which the test can change.
    const bind = `mount --bind '${join(folder, 'hosts')}' /etc/hosts && exec "$@"`;
    daemon = startUnder(
      ['unshare', '--mount', 'sh', '-c', bind, 'sh'],
      ['run', '--config', join(folder, 'config.yaml')],
      wallClock.environment,
    );
    judge = await startJudge({ alerts: ALERTS, scraped: await daemon.ready() });
    await daemon.shows('that it is ready', ({ state }) => state === 'ready', WAIT_MS);
  });

  /** Each test begins with all neighbours, whatever the one before has left. */
  beforeEach(async () => {
    receiver.behave = () => 200;
    disk.clear();
    wallClock.set(0);
    hosts(HOST);
    if (!isServing) await startAgain();
    const isFine = async (): Promise<boolean> =>
      (await problems()).length === 0 && (await firing()).length === 0;
    await until('nothing is wrong', isFine, WAIT_MS);
  });

  afterAll(async () => {
    daemon.child.kill('SIGTERM');
    const { stdout, stderr } = await daemon.finished;
    await judge.stop();
    if (isServing) await simulator.close();
    await receiver.close();
    disk[Symbol.dispose]();
    wallClock[Symbol.dispose]();
    expect(stdout + stderr).not.toContain(key);
  });

  /** What is wrong now. What was lost on the full disk is told until the end of the process. */
  async function problems(): Promise<readonly string[]> {
    const { problems } = await daemon.status();
    return problems
      .filter(({ severity, message }) => severity !== 'note' && !message.includes('points dropped'))
      .map(({ message, hint }) => `${message}; ${hint}`);
  }

  const firing = async (): Promise<readonly string[]> =>
    (await judge.firing()).map(({ alertname = '' }) => alertname);

  /** Waits until the page shows the words and the alert fires. Then brings the neighbour back, and waits for the end. */
  async function pull(
    { words, alert }: { readonly words: RegExp; readonly alert: string },
    back: () => Promise<void> | void,
  ): Promise<void> {
    const saw = await until(
      `the words ${String(words)}`,
      async () => (await problems()).find(problem => words.test(problem)),
      WAIT_MS,
    );
    await until(`the alert ${alert}`, async () => (await firing()).includes(alert), WAIT_MS);
    console.log(`neighbours: ${alert}: ${saw}`);
    await back();
    const isOver = async (): Promise<boolean> =>
      !(await problems()).some(problem => words.test(problem)) && !(await firing()).includes(alert);
    await until(`${alert} is over`, isOver, WAIT_MS);
    const before = receiver.requestCount;
    await until('data flows again', () => receiver.requestCount > before, WAIT_MS);
  }

  test('the service', async () => {
    await stopService();
    await pull({ words: /refused/, alert: 'ServiceDown' }, startAgain);
  });

  test('the name', async () => {
    hosts('other.test');
    // Closes open connections, which need no name.
    await stopService();
    await startAgain();
    await pull({ words: /service\.test/, alert: 'ServiceDown' }, () => hosts(HOST));
  });

  test('the back end', async () => {
    receiver.behave = () => 503;
    await pull({ words: /503.*wait in the queue/s, alert: 'DeliveryLate' }, () => {
      receiver.behave = () => 200;
    });
  });

  test('the disk', async () => {
    // The queue must grow: otherwise, the space that it already has is enough.
    receiver.behave = () => 503;
    disk.fill();
    await pull({ words: /cannot store/, alert: 'QueueTrouble' }, () => {
      disk.clear();
      receiver.behave = () => 200;
    });
  });

  test('the clock', async () => {
    wallClock.set(1);
    await pull({ words: /clock/, alert: 'ClockWrong' }, () => wallClock.set(0));
  });
});

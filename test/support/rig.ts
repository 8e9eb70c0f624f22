// The surroundings for tests of the program as a process: a simulated service, a receiver, a temporary directory, and a
// configuration that connects them.

import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { type FaultySimulator, startFaultySimulator } from './faulty-simulator.ts';
import type { OtlpPoint } from './otlp-points.ts';
import { type Running, start, tempDirectory } from './program.ts';
import { Receiver } from './receiver.ts';

/** A configuration for all services of a simulator; `changes` replace whole sections. `otlp` must be one of them. */
export function configFor(
  { url, key, world }: Pick<FaultySimulator, 'url' | 'key' | 'world'>,
  changes: Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify({
    api: { base_url: url, key },
    services: world.services.map(({ id, name }) => ({ id, name })),
    metrics: { interval: '1s' },
    queue: { directory: null },
    status: { listen: '127.0.0.1:0' },
    telemetry: { enabled: false },
    ...changes,
  });
}

class Rig {
  directory: ReturnType<typeof tempDirectory> = tempDirectory();
  readonly key: string;
  simulator!: FaultySimulator;
  receiver!: Receiver;
  #daemons: Running[] = [];

  constructor(key: string) {
    this.key = key;
  }

  async open(refreshMs = 1000): Promise<void> {
    this.simulator = await startFaultySimulator({ clock: systemClock, key: this.key, refreshMs });
    this.receiver = await Receiver.start();
    this.directory.write('key', `${this.key}\n`);
  }

  /** Starts the daemon, by default with `config()`. A daemon that still runs at the end of a test is killed. */
  run(file: string = this.config()): Running {
    const daemon = start(['run', '--config', file]);
    this.#daemons.push(daemon);
    return daemon;
  }

  async killAll(): Promise<void> {
    for (const daemon of this.#daemons.splice(0)) await daemon.kill();
  }

  async close(): Promise<void> {
    await this.simulator.close();
    this.directory[Symbol.dispose]();
    await this.receiver.close();
  }

  get ids(): readonly string[] {
    return this.simulator.world.services.map(({ id }) => id);
  }

  /** How many points of a service have come. */
  came(id: string): number {
    return this.receiver.points.filter(({ serviceId }) => serviceId === id).length;
  }

  /** The points that came, of each series. */
  get series(): ReadonlyMap<string, readonly OtlpPoint[]> {
    return Map.groupBy(this.receiver.points, ({ serviceId, metric, attributes }) =>
      JSON.stringify([serviceId, metric, attributes]),
    );
  }

  /** The series, of all that came, with a point that came twice or out of order, or with a start that has moved. */
  get disturbed(): readonly string[] {
    const isDisturbed = (points: readonly OtlpPoint[]): boolean =>
      points.some(({ startNs, timeNs }, i) => {
        const before = points[i - 1];
        if (before === undefined) return false;
        return startNs !== before.startNs || BigInt(timeNs) <= BigInt(before.timeNs);
      });
    return [...this.series].flatMap(([key, points]) => (isDisturbed(points) ? [key] : []));
  }

  /** Writes a configuration for all services of the simulator; `changes` replace whole sections. */
  config(changes: Readonly<Record<string, unknown>> = {}, name = 'prom2otlp.yaml'): string {
    const key = `\${file:${this.directory.path}/key}`;
    const api = { base_url: this.simulator.url, key, timeout: '1s' };
    const otlp = { endpoint: this.receiver.url };
    return this.directory.write(name, configFor(this.simulator, { api, otlp, ...changes }));
  }
}

/** A rig for all tests of a file. Each test starts new processes, which know nothing of the processes before. */
export function useRig(key = 'k'): Rig {
  const rig = new Rig(key);
  beforeAll(() => rig.open());
  beforeEach(() => rig.receiver.gate.anotherSender());
  afterEach(() => rig.killAll());
  afterAll(() => rig.close());
  return rig;
}

/** A rig with a new simulator, receiver and directory for each test. */
export function useRigForEach(key = 'k'): Rig {
  const rig = new Rig(key);
  beforeEach(() => rig.open(250));
  afterEach(async () => {
    await rig.killAll();
    await rig.close();
    rig.directory = tempDirectory();
  });
  afterAll(() => rig.directory[Symbol.dispose]());
  return rig;
}

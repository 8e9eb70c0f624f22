// What a test of the program as a process needs around it: a simulated service, a receiver, a temporary directory, and a
// configuration that connects them.

import { afterAll, beforeAll, beforeEach } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { tempDirectory } from './program.ts';
import { Receiver } from './receiver.ts';

export class Rig {
  readonly directory: ReturnType<typeof tempDirectory> = tempDirectory();
  readonly key: string;
  simulator!: Simulator;
  receiver!: Receiver;

  constructor(key: string) {
    this.key = key;
  }

  async open(refreshMs = 1000): Promise<void> {
    this.simulator = await startSimulator({ clock: systemClock, key: this.key, refreshMs });
    this.receiver = await Receiver.start();
    this.directory.write('key', `${this.key}\n`);
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

  /** Writes a configuration for all services of the simulator; `changes` replace whole sections. */
  config(changes: Readonly<Record<string, unknown>> = {}, name = 'prom2otlp.yaml'): string {
    const text = JSON.stringify({
      api: {
        base_url: this.simulator.url,
        key: `\${file:${this.directory.path}/key}`,
        timeout: '1s',
      },
      services: this.simulator.world.services.map(({ id, name: own }) => ({ id, name: own })),
      metrics: { interval: '1s' },
      otlp: { endpoint: this.receiver.url },
      queue: { directory: null },
      status: { listen: '127.0.0.1:0' },
      telemetry: { enabled: false },
      ...changes,
    });
    return this.directory.write(name, text);
  }
}

/** A rig for all tests of a file. Each test starts processes of its own, which know nothing of those before. */
export function useRig(key = 'k'): Rig {
  const rig = new Rig(key);
  beforeAll(() => rig.open());
  afterAll(() => rig.close());
  beforeEach(() => rig.receiver.gate.anotherSender());
  return rig;
}

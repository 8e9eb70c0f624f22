// What a reader of docs/operate/install.md has before the first command: a service, a back end, the key and the configuration.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock as clock } from '../../../src/lib/clock.ts';
import { startSimulator } from '../../../src/simulator/simulator.ts';
import { until } from '../../support/program.ts';
import { Receiver } from '../../support/receiver.ts';
import { configurationFor } from './install-document.ts';

export interface Reader extends AsyncDisposable {
  /** Writes the two files that every start begins with. Each start is another daemon for the back end. */
  readonly writeFiles: (folder: string) => void;
  readonly pointsArrive: () => Promise<void>;
}

export async function startReader(key: string): Promise<Reader> {
  const simulator = await startSimulator({ clock, key, refreshMs: 1000 });
  const receiver = await Receiver.start();
  const [service] = simulator.world.services;
  const place = {
    serviceUrl: simulator.url,
    otlpUrl: receiver.url,
    serviceId: service?.id ?? '',
  };
  return {
    writeFiles: folder => {
      receiver.gate.anotherSender();
      writeFileSync(join(folder, 'api-key'), `${key}\n`);
      writeFileSync(join(folder, 'prom2otlp.yaml'), configurationFor(place));
    },
    pointsArrive: async () => {
      const before = receiver.counters.length;
      await until('points arrive', () => receiver.counters.length > before, 60_000);
    },
    [Symbol.asyncDispose]: async () => {
      await simulator.close();
      await receiver.close();
    },
  };
}

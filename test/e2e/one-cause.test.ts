// When 150 services fail from one cause, a running daemon with metrics, logs and backups shows one problem and logs at
// most three lines.

import { expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import type { SimulatedService } from '../../src/simulator/world.ts';
import { start, tempDirectory, until } from '../support/program.ts';
import { configFor } from '../support/rig.ts';

const services = Array.from({ length: 150 }, (_, index): SimulatedService => {
  const servers = [{ name: `shop-${index}-0`, role: 'proxy' }] as const;
  return { id: `db${index}`, name: `shop-${index}`, topology: 'single', servers };
});

const CAUSES: Readonly<Record<string, (simulator: Simulator) => void>> = {
  'a refused key': simulator => {
    simulator.key = 'another';
  },
  'a key that is refused with 401': simulator => simulator.setFaults({ path: '/', status: 401 }),
  'a service that fails': simulator => simulator.setFaults({ path: '/', status: 500 }),
};

test.concurrent.each(Object.keys(CAUSES))(
  '%s of 150 services is one problem and three log lines',
  async name => {
    using directory = tempDirectory();
    const simulator = await startSimulator({ clock, key: 'k', services });
    CAUSES[name]?.(simulator);
    const config = configFor(simulator, {
      api: { base_url: simulator.url, key: 'k', timeout: '2s' },
      metrics: { interval: '2s' },
      logs: { enabled: true, schedule: '30s' },
      backups: { enabled: true, interval: '5s' },
      otlp: { endpoint: 'http://127.0.0.1:9' },
    });
    const daemon = start(['run', '--config', directory.write('c.yaml', config)]);
    await daemon.ready();
    const ours = async (): Promise<readonly string[]> => {
      const { problems } = await daemon.status();
      return problems
        .map(({ title }) => title)
        .filter(title => title.includes(simulator.url.slice(7)));
    };
    await until('all fails', async () =>
      (await ours()).some(title => title.endsWith(': metrics of 150 services, logs, backups')),
    );
    await clock.sleep(12_000);
    expect((await ours()).length).toBe(1);
    await daemon.stopNow();
    await simulator.close();
    const about = daemon
      .stderr()
      .split('\n')
      .filter(line => /"level":"(?:warn|error)"/.test(line) && line.includes(simulator.url));
    expect(about.length, about.join('\n')).toBeLessThanOrEqual(3);
    expect(about.length).toBeGreaterThan(0);
  },
);

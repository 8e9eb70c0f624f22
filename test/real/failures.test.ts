// What an operator who is woken at night sees: a running daemon whose neighbours fail in turn, from the start or later.
// Each failure gives one red line with its time, on a page in a real Chromium that stays short and light with any number
// of services. It fires an alert at a real Prometheus, and all is green soon after the remedy. SCREENSHOTS=folder keeps
// pictures and the table of times.

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { BrowserContextOptions } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { Supervisor } from '../../src/daemon/reload.ts';
import { Bell } from '../../src/lib/bell.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { renderCounters } from '../../src/lib/counters.ts';
import { type FaultySimulator, startFaultySimulator } from '../support/faulty-simulator.ts';
import { demoServices, type SimulatedService } from '../../src/simulator/world.ts';
import { serveStatus } from '../../src/status/status-server.ts';
import type { StatusDocument } from '../../src/status/status-report.ts';
import { tempDirectory, until } from '../support/program.ts';
import { Receiver } from '../support/receiver.ts';
import { configFor } from '../support/rig.ts';
import { chromiumPart } from './parts/chromium.ts';
import { prometheus } from './parts/prometheus.ts';
import { expectToFit, PHONE, SCREENSHOTS, takePicture, useBrowser } from './support/browser.ts';
import { startJudge } from './support/judge.ts';
import { reasonToSkip } from './support/part.ts';

const reason = await reasonToSkip([chromiumPart, prometheus]);
const KEY = 'key-of-the-failures-test';
const LOGS = '/observability/v2/logs';
const browser = useBrowser();

const SCREENS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  phone: PHONE,
};

interface Night extends AsyncDisposable {
  readonly simulator: FaultySimulator;
  readonly receiver: Receiver;
  readonly url: string;
  readonly supervisor: Supervisor;
  /** Writes a file beside the configuration. */
  write(name: string, text: string): string;
  /** Writes the configuration, with these changes. */
  configure(changes: Readonly<Record<string, unknown>>): string;
  document(): Promise<StatusDocument>;
  /** Waits until the alert of the night fires, or no longer fires; does nothing without an alert. */
  alerted(isFiring: boolean): Promise<void>;
}

interface NightOptions {
  readonly services?: number;
  readonly queueBytes?: string;
  /** The alert that fires at a Prometheus that scrapes the daemon's own metrics. */
  readonly alert?: string;
  /** Called before the daemon starts. */
  readonly before?: (simulator: FaultySimulator, receiver: Receiver) => void;
}

/** `count` services with one server each. */
function crowdOf(count: number): readonly SimulatedService[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `shop-${String(index + 1).padStart(3, '0')}`;
    const servers = [{ name: `${name}-0`, role: 'proxy' }] as const;
    return { id: `dbpgf${20_000_000 + index}`, name, topology: 'single', servers };
  });
}

/** Starts a daemon with metrics, logs and backups of `services` services; 0 means the four services of the demo. */
async function openNight(options: NightOptions = {}): Promise<Night> {
  const { services = 0, queueBytes, before, alert } = options;
  const directory = tempDirectory();
  const crowd = services === 0 ? demoServices() : crowdOf(services);
  const simulator = await startFaultySimulator({
    clock,
    key: KEY,
    refreshMs: 1000,
    services: crowd,
  });
  const receiver = await Receiver.start();
  before?.(simulator, receiver);
  // A busy machine needs seconds to make, read and check the page of many services.
  const interval = services > 100 ? '20s' : '5s';
  const config = {
    api: {
      base_url: simulator.url,
      key: `\${file:${directory.write('key', KEY)}}`,
      timeout: interval,
    },
    metrics: { interval },
    logs: { enabled: true, schedule: '60s', first_start: '1h' },
    backups: { enabled: true, interval: '60s' },
    otlp: { endpoint: receiver.url },
    queue: {
      directory: join(directory.path, 'queue'),
      ...(queueBytes === undefined ? {} : { metrics: { max_bytes: queueBytes } }),
    },
    log: { level: 'error' },
  };
  const configure = (changes: Readonly<Record<string, unknown>>): string =>
    directory.write('prom2otlp.yaml', configFor(simulator, { ...config, ...changes }));
  const supervisor = await Supervisor.open({ file: configure({}), environment: {}, clock });
  const server = await serveStatus(supervisor, clock);
  const judge =
    alert === undefined ? null : await startJudge({ alerts: [alert], scraped: server.url });
  const stop = new AbortController();
  const running = supervisor.run(stop.signal, new Bell());
  return {
    simulator,
    receiver,
    url: server.url,
    supervisor,
    write: (name, text) => directory.write(name, text),
    configure,
    document: async () =>
      (await (await fetch(`${server.url}/status.json`)).json()) as StatusDocument,
    alerted: async isFiring => {
      if (judge === null) return;
      const is = async (): Promise<boolean> => (await judge.firing()).length > 0 === isFiring;
      await until(`${alert} ${isFiring ? 'fires' : 'ends'}`, is, 60_000);
    },
    [Symbol.asyncDispose]: async () => {
      await judge?.stop();
      stop.abort();
      await running;
      await server.close();
      await supervisor.daemon.stop(AbortSignal.timeout(1));
      await simulator.close();
      await receiver.close();
      directory[Symbol.dispose]();
    },
  };
}

/** Waits until `is` accepts the status document; returns the seconds. */
async function wait(
  night: Night,
  what: string,
  is: (document: StatusDocument) => boolean,
): Promise<number> {
  const startMs = clock.monotonicMs();
  await until(what, async () => is(await night.document()), 120_000).catch(async error => {
    const { problems, pulls } = await night.document();
    throw new Error(JSON.stringify({ problems, pulls }, null, 1), { cause: error });
  });
  return (clock.monotonicMs() - startMs) / 1000;
}

const isGreen = ({ problems, pulls, state }: StatusDocument): boolean =>
  state === 'ready' &&
  !problems.some(({ severity }) => severity === 'error') &&
  pulls.every(pull => pull.state === 'ok');

const isRed =
  (words: string) =>
  ({ problems }: StatusDocument): boolean =>
    problems.some(({ severity, title }) => severity === 'error' && title.includes(words));

/** What one look at the page shows. */
interface Sight {
  readonly banner: string;
  readonly height: number;
  readonly bytes: number;
  readonly packedBytes: number;
}

/** Opens the page on every screen. Everything must fit on the screen, and the browser may not report errors. */
async function look({ url }: Night, name: string): Promise<Sight> {
  const html = await (await fetch(url)).text();
  let banner = '';
  let height = 0;
  for (const [screen, options] of Object.entries(SCREENS)) {
    const { page, complaints } = await browser.open(options, url);
    await takePicture(page, `${name}-${screen}`);
    await expectToFit(page);
    if (screen === 'light') {
      height = await page.evaluate<number>('document.documentElement.scrollHeight');
      banner = (await page.locator('.verdict strong').nth(1).textContent()) ?? '';
      const [needed = 0, given = 0] = await page.evaluate<readonly number[]>(
        "(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector('#account .scroll'))",
      );
      expect(needed, 'the account fits').toBeLessThanOrEqual(given);
    }
    expect(complaints, `${name} ${screen}`).toEqual([]);
    await page.context().close();
  }
  return { banner, height, bytes: html.length, packedBytes: gzipSync(html).length };
}

function tell(name: string, red: number | null, green: number | null, sight: Sight): void {
  const text = (seconds: number | null): string => (seconds === null ? '–' : seconds.toFixed(1));
  const line = `| ${name} | ${text(red)} | ${text(green)} | ${sight.banner} | ${sight.height} px | ${sight.bytes} B | ${sight.packedBytes} B |\n`;
  if (SCREENSHOTS !== undefined) appendFileSync(join(SCREENSHOTS, 'table.md'), line);
}

interface Endured {
  readonly sight: Sight;
  /** The seconds from the remedy until all is well. */
  readonly green: number;
}

/** Waits until the page is red and the alert fires; after the remedy, until all is well. */
async function endure(
  night: Night,
  name: string,
  is: (document: StatusDocument) => boolean,
  remedy: () => unknown,
): Promise<Endured> {
  const red = await wait(night, name, is);
  const sight = await look(night, name.replaceAll(' ', '-'));
  await night.alerted(true);
  remedy();
  const green = await wait(night, 'all is well', isGreen);
  await night.alerted(false);
  tell(name, red, green, sight);
  return { sight, green };
}

describe.skipIf(reason !== null)('the page of a daemon', () => {
  for (const services of [0, 150])
    test(`is green with ${services === 0 ? 4 : services} services that are well`, async () => {
      await using night = await openNight({ services });
      const green = await wait(night, 'all is well', isGreen);
      const sight = await look(night, `healthy-${services === 0 ? 4 : services}`);
      tell(`healthy, ${services}`, null, green, sight);
      expect(sight.banner).toMatch(/^Data flows/);
      expect((await night.document()).services).toHaveLength(services === 0 ? 4 : services);
      expect(sight.height).toBeLessThan(4000);
      expect(sight.packedBytes).toBeLessThan(60_000);
    });

  test('a refused key of 150 services is one line, and all is green soon after the new one', async () => {
    await using night = await openNight({
      services: 150,
      alert: 'KeyRefused',
      before: simulator => {
        simulator.key = 'the new one';
      },
    });
    await wait(night, 'the key is refused', isRed('logs, backups'));
    const { problems } = await night.document();
    const requestsBefore = night.simulator.requests.count;
    await clock.sleep(10_000);
    expect(night.simulator.requests.count - requestsBefore).toBeLessThanOrEqual(20);
    expect(problems.filter(({ severity }) => severity === 'error').length).toBeLessThanOrEqual(3);
    expect(problems[0]?.title).toMatch(
      /^key refused by 127\.0\.0\.1:\d+ since \d\d:\d\d:\d\d: metrics of 150 services, logs, backups$/,
    );
    const up = renderCounters(night.supervisor.daemon.counters);
    expect(up.match(/^prom2otlp_pull_up\{.*reason="auth"\} 0$/gm)).toHaveLength(3);
    const { sight, green } = await endure(night, 'refused key', isRed('logs, backups'), () =>
      night.write('key', 'the new one'),
    );
    expect(sight.banner).toContain('Key refused by');
    expect(sight.height).toBeLessThan(4000);
    expect(green).toBeLessThan(30);
  });

  test('a key that the service accepts again is found by itself', async () => {
    await using night = await openNight({ services: 4 });
    // Waits until no pull runs: a running pull would be refused in part, and would ask again only a minute later.
    await wait(
      night,
      'all is well, and no pull is running',
      document => isGreen(document) && document.pulls.every(pull => pull.nextAttemptAt !== null),
    );
    night.simulator.setFaults({ path: '/', status: 401 });
    const { green } = await endure(night, 'key refused for a while', isRed('key refused by'), () =>
      night.simulator.resetFaults(),
    );
    // The key holds all parts for a minute.
    expect(green).toBeLessThan(100);
  });

  test('one service that is down is named', async () => {
    await using night = await openNight({ alert: 'ServiceDown' });
    await wait(night, 'all is well', isGreen);
    const [first] = night.simulator.world.services;
    night.simulator.setFaults({ absentServices: [first?.id ?? ''] });
    await endure(night, 'one service down', isRed('orders: the page is good but'), () =>
      night.simulator.resetFaults(),
    );
  });

  test('a back end that is down, and the time that is left', async () => {
    await using night = await openNight({
      services: 20,
      queueBytes: '512KiB',
      alert: 'QueueFullSoon',
    });
    await wait(night, 'all is well', isGreen);
    night.receiver.behave = () => 503;
    const red = await wait(night, 'the back end is down', isRed('metrics and logs to http'));
    const sight = await look(night, 'back-end-down');
    tell('back end down', red, null, sight);
    const isFilling = ({ problems }: StatusDocument): boolean =>
      problems.some(({ message }) => /which is full in .* at this rate/.test(message));
    await endure(night, 'queue filling', isFilling, () => {
      night.receiver.behave = () => 200;
    });
  });

  test('a log API that fails from the start is red at once', async () => {
    await using night = await openNight({
      alert: 'PullFailing',
      before: simulator => simulator.setFaults({ path: LOGS, status: 500 }),
    });
    let counters = '';
    const { sight } = await endure(night, 'logs fail', isRed('server errors from'), () => {
      counters = renderCounters(night.supervisor.daemon.counters);
      night.simulator.resetFaults();
    });
    expect(counters).toMatch(/prom2otlp_pull_up\{pull="logs",.*reason="server_error"\} 0/);
    expect(sight.banner).toMatch(/^Server errors from /);
  });

  test('a changed configuration that cannot be used', async () => {
    await using night = await openNight({ alert: 'ConfigurationRefused' });
    await wait(night, 'all is well', isGreen);
    night.configure({ metrics: { interval: 'soon' } });
    await endure(night, 'bad reload', isRed('configuration'), () => night.configure({}));
  });

  test('everything at once, from the very start', async () => {
    await using night = await openNight({
      services: 150,
      before: (simulator, receiver) => {
        simulator.setFaults({ path: '/', status: 500 });
        receiver.behave = () => 503;
      },
    });
    const red = await wait(night, 'all fails', ({ problems }) =>
      ['metrics of 150 services, logs, backups', 'to http'].every(words =>
        problems.some(({ title }) => title.includes(words)),
      ),
    );
    const sight = await look(night, 'everything');
    tell('everything at once', red, null, sight);
    const { problems } = await night.document();
    expect(problems.length).toBeLessThanOrEqual(4);
    expect(sight.bytes).toBeLessThan(200_000);
    expect(sight.height).toBeLessThan(4000);
  });
});

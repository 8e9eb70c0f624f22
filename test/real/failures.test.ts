// What a person who is woken at night sees: a running daemon whose neighbours fail in turn, from the start or later. For
// each failure: one red line with its time, on a page in a real Chromium that is short and light however many services
// there are; an alert at a real Prometheus; and green again soon after the remedy. SCREENSHOTS=folder keeps pictures and
// the table of times.

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Supervisor } from '../../src/daemon/reload.ts';
import { Bell } from '../../src/lib/bell.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { renderCounters } from '../../src/lib/counters.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { demoServices, type SimulatedService } from '../../src/simulator/world.ts';
import { serveStatus } from '../../src/status/status-server.ts';
import type { StatusDocument } from '../../src/status/status-report.ts';
import { tempDirectory, until } from '../support/program.ts';
import { Receiver } from '../support/receiver.ts';
import { chromiumPart, openBrowser } from './parts/chromium.ts';
import { prometheus, type PrometheusRunning } from './parts/prometheus.ts';
import { reasonToSkip } from './support/part.ts';
import { firingAlerts, impatientRules } from './support/promql.ts';

const reason = await reasonToSkip([chromiumPart, prometheus]);
const KEY = 'key-of-the-failures-test';
const LOGS = '/observability/v2/logs';
const folder = process.env['SCREENSHOTS'];

let browser: Browser;
beforeAll(async () => {
  if (reason === null) browser = await openBrowser();
});
afterAll(async () => {
  if (reason === null) await browser.close();
});

const SCREENS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};

interface Night extends AsyncDisposable {
  readonly simulator: Simulator;
  readonly receiver: Receiver;
  readonly url: string;
  readonly supervisor: Supervisor;
  readonly configFile: string;
  readonly keyFile: string;
  readonly config: Readonly<Record<string, unknown>>;
  write(name: string, text: string): string;
  document(): Promise<StatusDocument>;
  /** Waits until the alert of the night fires, or no longer does. */
  alerted(isFiring: boolean): Promise<unknown>;
}

interface NightOptions {
  readonly services?: number;
  readonly queueBytes?: string;
  /** What fires at a Prometheus that reads the daemon's own metrics. */
  readonly alert?: string;
  /** Before the daemon starts. */
  readonly before?: (simulator: Simulator, receiver: Receiver) => void;
}

/** So many services with one server each. */
function crowdOf(count: number): readonly SimulatedService[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `shop-${String(index + 1).padStart(3, '0')}`;
    const servers = [{ name: `${name}-0`, role: 'proxy' }] as const;
    return { id: `dbpgf${20_000_000 + index}`, name, topology: 'single', servers };
  });
}

/** A daemon with metrics, logs and backups of so many services; 0: the four of the demo. */
async function openNight(options: NightOptions = {}): Promise<Night> {
  const { services = 0, queueBytes, before, alert } = options;
  const directory = tempDirectory();
  const crowd = services === 0 ? demoServices() : crowdOf(services);
  const simulator = await startSimulator({ clock, key: KEY, refreshMs: 1000, services: crowd });
  const receiver = await Receiver.start();
  before?.(simulator, receiver);
  const keyFile = directory.write('key', KEY);
  // The page of a crowd takes a busy machine seconds to make, to read and to check.
  const interval = services > 100 ? '20s' : '5s';
  const config = {
    api: { base_url: simulator.url, key: `\${file:${keyFile}}`, timeout: interval },
    services: simulator.world.services.map(({ id, name }) => ({ id, name })),
    metrics: { interval },
    logs: { enabled: true, schedule: '60s', first_start: '1h' },
    backups: { enabled: true, interval: '60s' },
    otlp: { endpoint: receiver.url },
    queue: {
      directory: join(directory.path, 'queue'),
      ...(queueBytes === undefined ? {} : { metrics: { max_bytes: queueBytes } }),
    },
    status: { listen: '127.0.0.1:0' },
    telemetry: { enabled: false },
    log: { level: 'error' },
  };
  const configFile = directory.write('prom2otlp.yaml', JSON.stringify(config));
  const supervisor = await Supervisor.open({ file: configFile, environment: {}, clock });
  const server = await serveStatus(supervisor, clock);
  const alerts = alert === undefined ? null : await startAlerts(directory, server.url, alert);
  const stop = new AbortController();
  const running = supervisor.run(stop.signal, new Bell());
  return {
    simulator,
    receiver,
    url: server.url,
    supervisor,
    configFile,
    keyFile,
    config,
    write: (name, text) => directory.write(name, text),
    document: async () =>
      (await (await fetch(`${server.url}/status.json`)).json()) as StatusDocument,
    alerted: isFiring =>
      until(
        `${alert} ${isFiring ? 'fires' : 'ends'}`,
        async () =>
          (await firingAlerts(alerts?.url ?? '')).some(one => one.alertname === alert) === isFiring,
        60_000,
      ),
    [Symbol.asyncDispose]: async () => {
      await alerts?.stop();
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

/** A Prometheus that scrapes the daemon's own metrics and has the shipped rule of an alert. */
function startAlerts(
  directory: ReturnType<typeof tempDirectory>,
  statusUrl: string,
  alert: string,
): Promise<PrometheusRunning> {
  const rules = directory.write('rules.yaml', impatientRules([alert]));
  const targets = [new URL(statusUrl).host];
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    scrape_configs: [{ job_name: 'prom2otlp', static_configs: [{ targets }] }],
    rule_files: [rules],
  };
  return prometheus.start({ config: JSON.stringify(config) });
}

/** Waits until the page says so; returns the seconds and the banner. */
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

/** Looks at the page on every screen; nothing may be wider than it, and nothing complain. */
async function look({ url }: Night, name: string): Promise<Sight> {
  const html = await (await fetch(url)).text();
  let banner = '';
  let height = 0;
  for (const [screen, options] of Object.entries(SCREENS)) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', message => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', error => complaints.push(String(error)));
    await page.goto(url);
    if (folder !== undefined)
      await page.screenshot({ path: join(folder, `${name}-${screen}.png`), fullPage: true });
    const [content = 0, width = 0, whole = 0] = await page.evaluate<readonly number[]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth, document.documentElement.scrollHeight]',
    );
    expect(content, `${name} ${screen}`).toBeLessThanOrEqual(width);
    if (screen === 'light') {
      height = whole;
      banner = (await page.locator('.verdict strong').nth(1).textContent()) ?? '';
      const [needed = 0, given = 0] = await page.evaluate<readonly number[]>(
        "(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector('#account .scroll'))",
      );
      expect(needed, 'the account fits').toBeLessThanOrEqual(given);
    }
    expect(complaints, `${name} ${screen}`).toEqual([]);
    await context.close();
  }
  return { banner, height, bytes: html.length, packedBytes: gzipSync(html).length };
}

function tell(name: string, red: number | null, green: number | null, sight: Sight): void {
  const text = (seconds: number | null): string => (seconds === null ? '–' : seconds.toFixed(1));
  const line = `| ${name} | ${text(red)} | ${text(green)} | ${sight.banner} | ${sight.height} px | ${sight.bytes} B | ${sight.packedBytes} B |\n`;
  if (folder !== undefined) appendFileSync(join(folder, 'table.md'), line);
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

  test('a refused key of 150 services is one line, and all is green within seconds of the new one', async () => {
    await using night = await openNight({
      services: 150,
      alert: 'KeyRefused',
      before: simulator => {
        simulator.key = 'the new one';
      },
    });
    const red = await wait(night, 'the key is refused', isRed('logs, backups'));
    const { problems } = await night.document();
    const requestsBefore = night.simulator.requests.count;
    await clock.sleep(10_000);
    expect(night.simulator.requests.count - requestsBefore).toBeLessThanOrEqual(4);
    expect(problems.filter(({ severity }) => severity === 'error').length).toBeLessThanOrEqual(3);
    expect(problems[0]?.title).toMatch(
      /^key refused by 127\.0\.0\.1:\d+ since \d\d:\d\d:\d\d: metrics of 150 services, logs, backups$/,
    );
    const up = renderCounters(night.supervisor.daemon.counters);
    expect(up.match(/^prom2otlp_pull_up\{.*reason="auth"\} 0$/gm)).toHaveLength(3);
    await night.alerted(true);
    const sight = await look(night, 'refused-key-150');
    night.write('key', 'the new one');
    const green = await wait(night, 'all is well', isGreen);
    await night.alerted(false);
    tell('refused key, 150', red, green, sight);
    expect(sight.banner).toContain('key refused by');
    expect(sight.height).toBeLessThan(4000);
    expect(green).toBeLessThan(8);
  });

  test('a key that the service accepts again is found by itself', async () => {
    await using night = await openNight({ services: 4 });
    await wait(night, 'all is well', isGreen);
    night.simulator.setFaults({ path: '/', status: 401 });
    const red = await wait(night, 'the key is refused', isRed('key refused by'));
    const sight = await look(night, 'refused-later-4');
    night.simulator.resetFaults();
    const green = await wait(night, 'all is well', isGreen);
    tell('key refused for a while', red, green, sight);
    expect(green).toBeLessThan(8);
  });

  test('one service that is down is named', async () => {
    await using night = await openNight({ alert: 'ServiceDown' });
    await wait(night, 'all is well', isGreen);
    const [first] = night.simulator.world.services;
    night.simulator.setFaults({ absentServices: [first?.id ?? ''] });
    const red = await wait(night, 'it is down', isRed('orders: the page is good but'));
    const sight = await look(night, 'service-down');
    await night.alerted(true);
    night.simulator.resetFaults();
    const green = await wait(night, 'all is well', isGreen);
    await night.alerted(false);
    tell('one service down', red, green, sight);
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
    const filling = await wait(night, 'the time that is left', ({ problems }) =>
      problems.some(({ hint }) => /which is full in .* at this rate/.test(hint)),
    );
    const fillingSight = await look(night, 'queue-filling');
    await night.alerted(true);
    night.receiver.behave = () => 200;
    const green = await wait(night, 'all is well', isGreen);
    await night.alerted(false);
    tell('back end down', red, green, sight);
    tell('queue filling', filling, green, fillingSight);
  });

  test('a log API that fails from the start is red at once', async () => {
    await using night = await openNight({
      alert: 'PullFailing',
      before: simulator => simulator.setFaults({ path: LOGS, status: 500 }),
    });
    const red = await wait(night, 'logs fail', isRed('server errors from'));
    expect(renderCounters(night.supervisor.daemon.counters)).toMatch(
      /prom2otlp_pull_up\{pull="logs",.*reason="server_error"\} 0/,
    );
    const sight = await look(night, 'logs-500');
    expect(sight.banner).toMatch(/^server errors from .*: logs of 4 services/);
    await night.alerted(true);
    night.simulator.resetFaults();
    const green = await wait(night, 'all is well', isGreen);
    await night.alerted(false);
    tell('log API 500 from the start', red, green, sight);
  });

  test('a changed configuration that cannot be used', async () => {
    await using night = await openNight({ alert: 'ConfigurationRefused' });
    await wait(night, 'all is well', isGreen);
    night.write(
      'prom2otlp.yaml',
      JSON.stringify({ ...night.config, metrics: { interval: 'soon' } }),
    );
    const red = await wait(night, 'the reload is refused', isRed('configuration'));
    const sight = await look(night, 'bad-reload');
    await night.alerted(true);
    night.write('prom2otlp.yaml', JSON.stringify(night.config));
    const green = await wait(night, 'all is well', isGreen);
    await night.alerted(false);
    tell('bad reload', red, green, sight);
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

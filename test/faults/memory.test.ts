// A container of 256 MiB, with the flags of the image and the systemd unit, and one service that sends pages which fill a
// memory: the process survives and stays within its memory, and the other services are read at every poll.

import { withoutInventory } from '../../bench/without-inventory.ts';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, expect, test } from 'vitest';
import { gzipBomb } from '../support/faulty-delivery.ts';
import { listen, type LoopbackServer } from '../../src/simulator/loopback-server.ts';
import type { StatusDocument } from '../../src/status/status-report.ts';
import { BIN, type Running, startUnder, tempDirectory, until } from '../support/program.ts';
import { shippedEnvironment, shippedFlags } from '../support/shipped.ts';
import { gzipOf, LINES } from './support/hostile-page.ts';
import { MemoryGroup } from './support/memory-group.ts';

const MEMORY_BYTES = 256 * 2 ** 20;
/** What the process may take at its peak, without the pages of files: an eighth is left to the kernel's own use. */
const OWN_BYTES_MAX = (MEMORY_BYTES * 7) / 8;
const CHURN_POLLS = Number(process.env['CHURN_POLLS'] ?? 40);
const CHURN_SERIES = 15_000;
const WAIT_MS = 300_000;

const noGroup = MemoryGroup.reasonToSkip();
if (noGroup !== null) console.log(`faults: limits of memory are skipped: ${noGroup}`);
// With CI=true, the tests are never skipped.
const isSkipped = noGroup !== null && process.env['CI'] !== 'true';

const root = join(BIN, '../..');

test('the image and the unit start the program with the same flags', () => {
  const unit = readFileSync(join(root, 'deploy/systemd/prom2otlp.service'), 'utf8');
  const ofUnit = /^ExecStart=\S*node (.*?) \S*prom2otlp\.js /m.exec(unit)?.[1]?.split(' ');
  expect(shippedFlags()).toEqual(ofUnit);
  expect(shippedFlags()).toContain('--expose-gc');
  expect(shippedEnvironment()).toHaveProperty('MALLOC_ARENA_MAX');
});

const GOOD = ['good1', 'good2'] as const;

/** One process in its group, with a hostile service, two good ones, and a back end. */
class Scene {
  readonly group = MemoryGroup.create(MEMORY_BYTES);
  readonly #files = tempDirectory();
  readonly #source: LoopbackServer;
  readonly #sink: LoopbackServer;
  readonly #running: Running;
  readonly served = { hostile: 0, good1: 0, good2: 0 };

  private constructor(
    source: LoopbackServer,
    sink: LoopbackServer,
    config: Readonly<Record<string, unknown>>,
  ) {
    this.#source = source;
    this.#sink = sink;
    const text = JSON.stringify({
      api: { base_url: source.url, key: 'a-key' },
      services: ['hostile', ...GOOD].map(id => ({ id, api: { headers: { 'x-service': id } } })),
      otlp: { endpoint: sink.url },
      queue: { directory: join(this.#files.path, 'queue') },
      status: { listen: '127.0.0.1:0' },
      telemetry: { enabled: false },
      ...config,
    });
    const file = this.#files.write('prom2otlp.yaml', text);
    const { PATH: _path, ...environment } = shippedEnvironment();
    // The sources need more memory, because Node strips their types.
    const variables = { ...environment, PROM2OTLP_ENTRY: 'dist/main.js' };
    const args = ['run', '--config', file];
    this.#running = startUnder(this.group.wrapper, args, variables, shippedFlags());
  }

  static async start(
    hostilePage: (poll: number) => Buffer | readonly Buffer[],
    config: Readonly<Record<string, unknown>>,
  ): Promise<Scene> {
    const scenes: Scene[] = [];
    const serve = withoutInventory((request, response) => {
      const { served } = scenes[0] ?? never();
      const id = String(request.headers['x-service']) as keyof typeof served;
      const poll = served[id]++;
      if (id !== 'hostile') {
        response.end(`polls{namespace="${id}"} ${poll}\n`);
        return;
      }
      const page = hostilePage(poll);
      response.setHeader('content-encoding', 'gzip');
      response.on('error', () => undefined);
      if (Buffer.isBuffer(page)) response.end(page);
      else void sendAll(page, response);
    });
    const source = await listen({}, serve);
    const sink = await listen({}, (request, response) => {
      request.resume().on('end', () => response.end());
    });
    const scene = new Scene(source, sink, config);
    scenes.push(scene);
    await scene.#running.ready(WAIT_MS);
    return scene;
  }

  async status(): Promise<StatusDocument> {
    try {
      return await this.#running.status();
    } catch (error) {
      await Promise.race([
        this.#running.finished,
        new Promise(resolve => setTimeout(resolve, 1000)),
      ]);
      this.#expectAlive();
      throw error;
    }
  }

  /** The target of a service. */
  async target(id: string): Promise<StatusDocument['targets'][number]> {
    const { targets } = await this.status();
    return targets.find(({ name }) => name.includes(`(${id})`)) ?? never();
  }

  async polled(count: number): Promise<void> {
    await this.until(`${count} polls`, () => this.served.hostile >= count);
  }

  async until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
    await until(what, () => this.#expectAlive() && check(), WAIT_MS);
  }

  get logLines(): number {
    return this.#running.stderr().split('\n').length;
  }

  get memory(): Running['memory'] {
    return this.#running.memory;
  }

  /** Expects that the process lives within its memory, and that the good services were read at every poll. */
  async expectWell(polls: number): Promise<void> {
    const { now, peak, ofFiles } = this.memory;
    const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
    console.log(
      `faults: memory after ${polls} hostile polls: ${mib(now)} resident, at most ${mib(peak)}, ${mib(ofFiles)} of files; the group at most ${mib(this.group.peakBytes)}`,
    );
    expect(peak - ofFiles).toBeLessThanOrEqual(OWN_BYTES_MAX);
    expect(this.group.killCount).toBe(0);
    for (const id of GOOD) {
      const target = await this.target(id);
      expect(target).toMatchObject({ state: 'up', failureCount: 0 });
      expect(target.scrapeCount).toBeGreaterThanOrEqual(polls - 1);
    }
  }

  async stop(): Promise<void> {
    await this.#running.stop();
  }

  #expectAlive(): true {
    const { exitCode, signalCode } = this.#running.child;
    if (exitCode === null && signalCode === null) return true;
    const how = String(exitCode ?? signalCode);
    throw new Error(
      `the program ended with ${how}, ${this.group.killCount} kills: ${this.#running.stderr().slice(-2000)}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.kill();
    await this.#source.close();
    await this.#sink.close();
    this.group[Symbol.dispose]();
    this.#files[Symbol.dispose]();
  }
}

function never(): never {
  throw new Error('this cannot be');
}

/** Ends early when the reader goes away. */
async function sendAll(pieces: readonly Buffer[], response: ServerResponse): Promise<void> {
  await pipeline(Readable.from(pieces), response).catch(() => undefined);
}

const TAKEN = /^$/;
const REFUSED = /^(?:too_large|limit_memory)$/;
/** The page is refused, or taken without the series that exceed a limit. */
const EITHER = /^(?:too_large|limit_memory|)$/;

describe.skipIf(isSkipped)('256 MiB of memory', () => {
  test(`${CHURN_POLLS} pages of ${CHURN_SERIES} new series each`, async () => {
    const pages = await Promise.all(
      Array.from({ length: CHURN_POLLS }, (_, poll) =>
        gzipOf(i => LINES.series(poll * CHURN_SERIES + i), CHURN_SERIES),
      ),
    );
    const last = pages.at(-1) ?? never();
    await using scene = await Scene.start(poll => pages[poll] ?? last, {
      metrics: { interval: '2s' },
    });
    await scene.polled(CHURN_POLLS);
    await scene.expectWell(CHURN_POLLS);
    const target = await scene.target('hostile');
    expect(target).toMatchObject({ state: 'up', failureCount: 0 });
    // Ended series are kept for an hour: those of the later pages have no room.
    expect(target.refused).toMatchObject({ samples: CHURN_SERIES });
    expect(target.series, String(target.series)).toBeGreaterThan(100_000);
    expect(target.series).toBeLessThan(270_000);
    await scene.stop();
  });

  test('pages that fit, pages that fill any memory, of each kind, and one as it should be', async () => {
    const hostile = [
      ['the largest within the limits', await gzipOf(LINES.longLabels, 23_000), TAKEN],
      ['100 MB of labels in 3 MB of gzip', await gzipOf(LINES.longLabels, 100_000), /^too_large$/],
      ['60 MB of labels', await gzipOf(LINES.longLabels, 60_000), REFUSED],
      ['a bomb', [...gzipBomb(1_024)], /^bomb$/],
      ['servers', await gzipOf(LINES.servers, 100_000), EITHER],
      ['scopes', await gzipOf(LINES.scopes, 200_000), EITHER],
      ['names', await gzipOf(LINES.names, 300_000), EITHER],
      ['services', await gzipOf(LINES.services, 100_000), EITHER],
      ['histograms', await gzipOf(LINES.histograms, 200_000), EITHER],
      ['comments', await gzipOf(LINES.comments, 60_000), EITHER],
      ['200 MB of comments', await gzipOf(LINES.comments, 200_000), /^too_large$/],
      ['families', await gzipOf(LINES.help, 2_000_000), REFUSED],
      ['duplicates', await gzipOf(LINES.duplicates, 500_000), EITHER],
      ['samples', await gzipOf(LINES.bare, 900_000), EITHER],
      ['a page as it should be', await gzipOf(LINES.series, 1000), TAKEN],
    ] as const;
    await using scene = await Scene.start(poll => hostile[poll]?.[1] ?? Buffer.alloc(0), {
      metrics: { interval: '6s' },
    });
    for (const [index, [name, , expected]] of hostile.entries()) {
      const polls = index + 1;
      await scene.until(`${name} was read`, async () => {
        const { scrapeCount } = await scene.target('hostile');
        return scene.served.hostile >= polls && scrapeCount >= polls;
      });
      expect((await scene.target('hostile')).lastReason, name).toMatch(expected);
    }
    await scene.expectWell(hostile.length);
    await scene.stop();
  });

  test('15,000 services that no entry names, others with every page, all to be sent', async () => {
    const pages = await Promise.all(
      Array.from({ length: 5 }, (_, poll) =>
        gzipOf(i => LINES.services(poll * 15_000 + i), 15_000),
      ),
    );
    await using scene = await Scene.start(poll => pages[poll] ?? Buffer.alloc(0), {
      metrics: { interval: '4s' },
      unconfigured_services: 'send',
    });
    await scene.polled(pages.length);
    const status = await scene.status();
    expect(JSON.stringify(status).length).toBeLessThan(200_000);
    expect(status.unconfigured.length).toBeLessThanOrEqual(50);
    expect(status.unconfiguredRest.services).toBeGreaterThan(100);
    expect(status.problems.length).toBeLessThan(10);
    expect(Object.keys(status.account.services).length).toBeLessThanOrEqual(210);
    const { samples } = status.account.total;
    const { read, used, metadata, repeated, dropped, droppedByReason } = samples;
    expect(used + metadata + repeated + dropped).toBe(read);
    expect(droppedByReason['series_limit']).toBeGreaterThan(10_000);
    expect(scene.logLines).toBeLessThan(30);
    await scene.expectWell(pages.length);
    await scene.stop();
  });
});

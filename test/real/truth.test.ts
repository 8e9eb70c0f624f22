// No reader claims an increment that did not happen. Real servers get a counted number of statements while they are
// killed, flushed, failed over and crash-looped. The daemon, as cumulative and as delta, and the Collector's Prometheus
// receiver with its start time processor read the same pages, in which the uptime is on time, late, stuck or missing. The
// points that arrive are read by start and value, by value alone, and as a sum of deltas, and compared with the ledger.
//
// TRUTH_ROUNDS (default 1; 10 in test:full) is the number of rounds; each round adds three crashes to the crash loop.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  agrees,
  judge,
  type Kind,
  KINDS,
  Ledger,
  type Point,
  type Read,
  readByStarts,
  readByValues,
  readDeltas,
  type Reading,
  type Verdict,
} from '../support/truth-ledger.ts';
import { until } from '../support/program.ts';
import { alsoScrape, collector } from './parts/collector.ts';
import { exporter } from './parts/exporter.ts';
import { mariadb } from './parts/mariadb.ts';
import { configureBridge, startBridge } from './support/bridge.ts';
import { runFolder } from './support/folder.ts';
import { Parts, reasonToSkip } from './support/part.ts';
import { readReceived, type ReceivedPoint } from './support/received.ts';
import { CountedServer } from './truth/counted-server.ts';
import { CRASHES_A_ROUND, FAILOVERS, Play, SCENES, TOLD_SCENES } from './truth/play.ts';
import { startTruthFront, Switchboard, type TruthFront } from './truth/truth-front.ts';
import { SERIES, UPTIME, type View, VIEWS } from './truth/views.ts';

const skip = await reasonToSkip([mariadb, exporter, collector]);

const ROUNDS = Number(process.env['TRUTH_ROUNDS'] ?? 1);
const ALL_MS = 60_000 + ROUNDS * 240_000;
const PATIENCE_MS = 60_000;

const READERS = ['start', 'value', 'delta'] as const;
const OURS = 'prom2otlp';
const STRATEGIES = ['true_reset_point', 'subtract_initial_point'] as const;

/** One line of the table: the verdict on one reader of one sender's points of one series. */
interface Line extends Verdict {
  /** The program, or the strategy of the Collector's start time processor. */
  readonly sender: typeof OURS | (typeof STRATEGIES)[number];
  readonly reader: (typeof READERS)[number];
  readonly view: View;
  readonly kind: Kind;
  readonly front: TruthFront;
}

describe.skipIf(skip !== null)('a ledger of the truth', () => {
  const ledger = new Ledger();
  const parts = new Parts();
  let fronts: PerScraper<TruthFront>;
  let lines: Line[];

  beforeAll(async () => {
    const servers = [
      parts.keep(await CountedServer.start(ledger)),
      parts.keep(await CountedServer.start(ledger)),
    ] as const;
    const board = new Switchboard(servers[0]);
    ledger.stand(servers[0].life, Date.now());
    fronts = {
      cumulative: parts.keep(await startTruthFront(board)),
      delta: parts.keep(await startTruthFront(board)),
      collector: parts.keep(await startTruthFront(board)),
    };
    const outputs = {
      cumulative: await startDaemon(parts, fronts.cumulative, 'cumulative'),
      delta: await startDaemon(parts, fronts.delta, 'delta'),
      collector: await startReceiver(parts, fronts.collector),
    };
    await until('the receiver scrapes', () => fronts.collector.readings.length > 0, PATIENCE_MS);
    await new Play(ledger, board, servers, Object.values(fronts)).run(ROUNDS);
    await parts.stop();
    lines = await judged(ledger, outputs, fronts);
    await tell(lines);
  }, ALL_MS);
  afterAll(() => parts.stop());

  const ours = (reader: Line['reader']): Line[] =>
    lines.filter(line => line.sender === OURS && line.reader === reader);

  test('the ledger and the servers have the same counts, on every page', () => {
    for (const { readings } of Object.values(fronts)) {
      expect(readings.length).toBeGreaterThan(20);
      for (const kind of KINDS) expect(readings.filter(r => !agrees(r, kind))).toEqual([]);
    }
  });

  test('everything happened, and each scraper saw enough of it', () => {
    expect(ledger.lives.length).toBeGreaterThan(ROUNDS * (5 + CRASHES_A_ROUND));
    for (const { readings } of Object.values(fronts)) {
      const lives = new Set(readings.map(({ life }) => life));
      expect(lives.size).toBeGreaterThan(ROUNDS * 3);
      expect(new Set(readings.map(({ scene }) => scene))).toEqual(new Set(SCENES));
    }
    for (const { happened, unseen } of lines.filter(({ kind }) => kind === 'statements')) {
      expect(happened).toBeGreaterThan(1000 * ROUNDS);
      expect(unseen).toBeGreaterThan(0);
    }
  });

  test.each(['start', 'delta'] as const)('no false increment is reported: %s', reader => {
    const wrong = ours(reader).flatMap(line =>
      line.falseClaims.filter(({ scene }) => isEvident(line.view, scene)).map(c => story(line, c)),
    );
    expect(wrong).toEqual([]);
  });

  test.each(['start', 'delta'] as const)('streams neither overlap nor contradict: %s', reader => {
    expect(
      ours(reader).flatMap(({ view, kind, faults }) =>
        faults.map(fault => `${view.name}, ${kind}: ${fault}`),
      ),
    ).toEqual([]);
  });

  test('if the uptime does not show a failover, the increase is no larger than that of values alone', () => {
    for (const line of ours('start')) {
      const byValue = ours('value').find(v => v.view === line.view && v.kind === line.kind);
      expect(overAtFailovers(line), `${line.view.name}, ${line.kind}`).toBeLessThanOrEqual(
        byValue === undefined ? 0 : overAtFailovers(byValue),
      );
    }
  });

  test('values alone mislead at a failover and nowhere else', () => {
    for (const { falseClaims, kind } of lines.filter(({ reader }) => reader === 'value')) {
      expect(new Set(falseClaims.map(({ scene }) => scene)), kind).toEqual(new Set(FAILOVERS));
    }
  });

  test.each(['start', 'delta'] as const)(
    'everything that pages show of a restart is counted: %s',
    reader => {
      for (const { view, missedIn, kind } of ours(reader)) {
        if (!EVIDENT_VIEWS.has(view.name)) continue;
        for (const scene of TOLD_SCENES) {
          expect(missedIn.get(scene), `${view.name}, ${kind}, ${scene}`).toBe(0);
        }
      }
    },
  );
});

/** The views whose uptime is right on every page. */
const EVIDENT_VIEWS: ReadonlySet<string> = new Set(['on time', 'no stamps']);

/** Scenes in which the next value exceeds the old one, so that only the uptime shows the restart. */
const OVERTAKING: readonly string[] = ['kill and overtake', 'restart while cut off'];

/** False if the pages cannot show in time that another process answers. */
function isEvident({ name }: View, scene: string): boolean {
  return EVIDENT_VIEWS.has(name) || !(isFailover(scene) || OVERTAKING.includes(scene));
}

function isFailover(scene: string): boolean {
  return (FAILOVERS as readonly string[]).includes(scene);
}

function overAtFailovers({ falseClaims }: Verdict): number {
  return falseClaims.reduce((sum, { scene, excess }) => sum + (isFailover(scene) ? excess : 0), 0);
}

/** Starts the program with all views as services of one page. Returns the file with the points that a Collector gets. */
async function startDaemon(
  parts: Parts,
  front: TruthFront,
  temporality: 'cumulative' | 'delta',
): Promise<string> {
  const sink = parts.keep(await collector.start({}));
  const services = VIEWS.map(({ id, name }) => ({ id, name: name.replaceAll(/\W+/g, '-'), front }));
  const file = await configureBridge({
    services,
    otlp: { endpoint: sink.httpUrl, temporality },
    metrics: { interval: '1s' },
  });
  parts.keep(await startBridge(file, services));
  return sink.output;
}

/**
 * Starts the Collector's receiver with its start time processor, in the two strategies that need no metric. The default
 * strategy is also followed by the processor that makes deltas. Returns the beginning of the names of its files.
 */
async function startReceiver(parts: Parts, front: TruthFront): Promise<string> {
  const nameOf = (strategy: string): string => `metric_start_time/${strategy}`;
  const pipelines: readonly (readonly [file: string, processors: readonly string[]])[] = [
    ...STRATEGIES.map(strategy => [strategy, [nameOf(strategy)]] as const),
    ['delta', [nameOf(STRATEGIES[0]), 'cumulative_to_delta']],
  ];
  const job = { job_name: 'truth', static_configs: [{ targets: [new URL(front.url).host] }] };
  const global = { scrape_interval: '1s', scrape_timeout: '1s' };
  const running = await collector.start({
    configure: (config, output) => {
      alsoScrape(config, {
        discovery_reload_on_startup: true,
        config: { global, scrape_configs: [job] },
      });
      config.processors = {
        cumulative_to_delta: {},
        ...Object.fromEntries(STRATEGIES.map(strategy => [nameOf(strategy), { strategy }])),
      };
      config.exporters = Object.fromEntries(
        pipelines.map(([file]) => [
          `file/${file}`,
          { path: `${output}.${file}`, flush_interval: '100ms' },
        ]),
      );
      config.service.pipelines = Object.fromEntries(
        pipelines.map(([file, processors]) => [
          `metrics/${file}`,
          { receivers: ['otlp', 'prometheus'], processors, exporters: [`file/${file}`] },
        ]),
      );
    },
  });
  return parts.keep(running).output;
}

type PerScraper<T> = Readonly<Record<'cumulative' | 'delta' | 'collector', T>>;

/** Every reader's verdict on every series of every view, of the program and of the Collector. */
async function judged(
  ledger: Ledger,
  outputs: PerScraper<string>,
  fronts: PerScraper<TruthFront>,
): Promise<Line[]> {
  const read = async (
    sender: Line['sender'],
    readers: readonly Line['reader'][],
    [file, front]: readonly [file: string, front: TruthFront],
  ): Promise<Line[]> => {
    const received = await readReceived(file, { isOurs: sender === OURS });
    return VIEWS.flatMap(view =>
      KINDS.flatMap(kind => {
        const series = received.filter(isOf(view, kind));
        return readers.flatMap(reader => {
          // The receiver turns an untyped series into a gauge, which has neither a start nor a delta.
          if (reader !== 'value' && series.every(({ type }) => type === 'gauge')) return [];
          const read = readAs(reader, pointsOf(series));
          const dated = view.isStamped ? read : datedByPages(read, front.readings);
          const verdict = judge(ledger, front.readings, dated, kind);
          return [{ ...verdict, sender, reader, view, kind, front }];
        });
      }),
    );
  };
  const [reset, subtract] = STRATEGIES;
  return [
    ...(await read(OURS, ['start', 'value'], [outputs.cumulative, fronts.cumulative])),
    ...(await read(OURS, ['delta'], [outputs.delta, fronts.delta])),
    ...(await read(reset, ['start', 'value'], [`${outputs.collector}.${reset}`, fronts.collector])),
    ...(await read(reset, ['delta'], [`${outputs.collector}.delta`, fronts.collector])),
    ...(await read(
      subtract,
      ['start', 'value'],
      [`${outputs.collector}.${subtract}`, fronts.collector],
    )),
  ];
}

/** True for a point with a value of a view's series. */
function isOf(view: View, kind: Kind): (point: ReceivedPoint) => boolean {
  const { name, label } = SERIES[kind];
  return point =>
    !point.isStale &&
    point.name === name &&
    (label === '' || point.labels['command'] === 'do') &&
    (point.resource['service.instance.id'] === view.id || point.labels['namespace'] === view.id);
}

/** The points for the ledger, in the order in which they arrived. */
function pointsOf(received: readonly ReceivedPoint[]): Point[] {
  return received.map(({ startMs, timeMs, series }) => ({
    // Rounds to milliseconds, because the receiver computes nanoseconds in floating point.
    startMs: Math.round(startMs),
    timeMs: Math.round(timeMs),
    value: [...series.values()][0] ?? Number.NaN,
  }));
}

function readAs(reader: Line['reader'], points: readonly Point[]): Read {
  if (reader === 'start') return readByStarts(points);
  return reader === 'value' ? readByValues(points) : readDeltas(points);
}

/** Points of a page without stamps have the time at which the scrape began, a little before the page was requested. */
const SCRAPE_LEAD_MS = 400;

/** Gives claims between points of pages without stamps the times of those pages. */
function datedByPages({ claims, faults }: Read, readings: readonly Reading[]): Read {
  const pageAt = (ms: number): number | undefined =>
    readings.find(({ askedForMs }) => askedForMs >= ms - 5)?.atMs;
  const lastBy = (ms: number): number =>
    readings.findLast(({ askedForMs }) => askedForMs <= ms + SCRAPE_LEAD_MS)?.atMs ?? ms;
  return {
    claims: claims.map(({ fromMs, toMs, amount }) => {
      const page = pageAt(toMs) ?? toMs;
      return { fromMs: Math.min(lastBy(fromMs), page - 1), toMs: page, amount };
    }),
    faults,
  };
}

/** A false claim with the pages around it: enough to reproduce it in a test of the rules. */
function story({ view, kind, front }: Line, claim: Verdict['falseClaims'][number]): string {
  const at = front.pages.findIndex(({ atMs }) => atMs >= claim.toMs);
  const around = front.pages.slice(Math.max(0, at - 6), at + 3).map(({ atMs, body }) => {
    const find = (name: string): string =>
      new RegExp(`^${name}\\{[^}]*"${view.id}".*\\} (.*)$`, 'm').exec(body)?.[1] ?? 'none';
    const isIt = atMs === claim.toMs ? ' <' : '';
    return `  at ${atMs}: value ${find(SERIES[kind].name)}, uptime ${find(UPTIME)}${isIt}`;
  });
  const { scene, amount, excess, fromMs, toMs } = claim;
  const head = `${view.name}, ${kind}, ${scene}: claimed ${amount} from ${fromMs} to ${toMs}, ${excess} too many`;
  return [head, ...around].join('\n');
}

/** Prints the figures of the statements as a table, and keeps all of them in the folder of the real parts. */
async function tell(lines: readonly Line[]): Promise<void> {
  const folder = await runFolder('truth');
  const stories = lines.flatMap(line =>
    line.falseClaims.map(claim => `${line.sender}, ${line.reader}: ${story(line, claim)}`),
  );
  await writeFile(join(folder, 'table.md'), table(lines));
  await writeFile(join(folder, 'false-claims.txt'), stories.join('\n'));
  for (const front of new Set(lines.map(line => line.front))) {
    const name = lines.find(line => line.front === front);
    const text = front.pages.map(({ atMs, body }) => `# at ${atMs}\n${body}`).join('\n');
    await writeFile(join(folder, `pages of ${name?.sender}, ${name?.reader}.txt`), text);
  }
  // One view is enough for the Collector, which does not use the uptime.
  const shown = lines.filter(
    ({ kind, sender, view }) => kind === 'statements' && (sender === OURS || view === VIEWS[0]),
  );
  console.log(`${table(shown)}all of it: ${folder}`);
}

const HEAD =
  'sent by|read by|series|uptime|happened|on no page|claimed too much|where|shown, not counted|where|faults'.split(
    '|',
  );

function table(lines: readonly Line[]): string {
  const rows = lines.map(line => {
    const excess = new Map<string, number>();
    for (const { scene, excess: more } of line.falseClaims) {
      excess.set(scene, (excess.get(scene) ?? 0) + more);
    }
    const where = (counts: ReadonlyMap<string, number>): string =>
      [...counts].flatMap(([scene, n]) => (n === 0 ? [] : [`${scene} ${n}`])).join(', ');
    const { sender, reader, kind, view, happened, unseen, over, missed, missedIn, faults } = line;
    const words = [sender, reader, kind, view.name, happened, unseen];
    return [...words, over, where(excess), missed, where(missedIn), faults.length];
  });
  const all = [HEAD, HEAD.map(() => '---'), ...rows];
  return all.map(row => `| ${row.join(' | ')} |\n`).join('');
}

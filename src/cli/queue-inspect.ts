// `queue inspect`: what waits, for whom, since when; what was refused for good; and the account. As tables, or as
// one JSON object with the same numbers.

import type { Config } from '../config/config.ts';
import { formatAge, formatBytes, formatCount } from '../lib/format.ts';
import { printableJson } from '../lib/printable.ts';
import type { Signal } from '../model.ts';
import { otlpJson } from '../pipeline/encode/otlp-json.ts';
import { QueueView } from '../pipeline/queue/queue-view.ts';
import type { SetAside } from '../pipeline/queue/queue.ts';
import { SET_ASIDE_ROWS_MAX } from '../pipeline/queue/set-aside-list.ts';
import { accountReport } from '../status/account-report.ts';
import type { AccountReport } from '../status/status-report.ts';
import { loadQueueConfig, refuseWords } from './queue-config.ts';
import { renderTable } from './table.ts';
import { readArgs, type TextSink, type VerbContext } from './verb.ts';

const VERB = 'queue inspect';
const SIGNALS: readonly Signal[] = ['metrics', 'logs'];
/** Entries in the JSON, groups in the table. */
const SET_ASIDE_SHOWN_MAX = 20;

/** Times are milliseconds since the epoch. */
interface Waiting {
  readonly signal: Signal;
  requests: number;
  points: number;
  oldestAtMs: number | null;
  newestAtMs: number | null;
}

interface Inspection {
  readonly directory: string;
  readonly diskBytes: number;
  readonly corruptFiles: readonly string[];
  readonly signals: readonly (Waiting & { readonly bytes: number; readonly maxBytes: number })[];
  readonly services: readonly (Waiting & { readonly service: string })[];
  readonly setAside: readonly SetAside[];
  readonly account: AccountReport;
}

export function queueInspect(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, {
    config: { type: 'string' },
    json: { type: 'boolean' },
  });
  refuseWords(VERB, words);
  const { config, directory } = loadQueueConfig(VERB, values.config, context);
  const view = QueueView.open(directory);
  try {
    const inspection = inspect(view, config);
    if (values.json === true) context.out.line(printableJson(jsonOf(inspection)));
    else print(inspection, context.out, context.clock.nowMs());
  } finally {
    view.close();
  }
  return Promise.resolve(0);
}

function inspect(view: QueueView, config: Config): Inspection {
  const services = new Map<string, Waiting & { readonly service: string }>();
  const signals = SIGNALS.map(signal => {
    const sum = { ...nothing(signal), bytes: 0, maxBytes: config.queue[signal].maxBytes };
    for (const head of view.heads(signal)) {
      sum.bytes += head.countedBytes;
      add(sum, head.points, head.madeAtMs);
      for (const { service, points } of head.parts) {
        const key = `${signal} ${service}`;
        const waiting = services.get(key) ?? { service, ...nothing(signal) };
        services.set(key, waiting);
        add(waiting, points, head.madeAtMs);
      }
    }
    return sum;
  });
  return {
    directory: view.directory,
    diskBytes: view.diskBytes(),
    corruptFiles: view.corruptFiles(),
    signals,
    services: [...services.values()],
    setAside: view.setAside(SET_ASIDE_ROWS_MAX),
    account: accountReport(view.account()),
  };
}

function nothing(signal: Signal): Waiting {
  return { signal, requests: 0, points: 0, oldestAtMs: null, newestAtMs: null };
}

function add(waiting: Waiting, points: number, madeAtMs: number): void {
  waiting.requests++;
  waiting.points += points;
  waiting.oldestAtMs = Math.min(waiting.oldestAtMs ?? madeAtMs, madeAtMs);
  waiting.newestAtMs = Math.max(waiting.newestAtMs ?? madeAtMs, madeAtMs);
}

function print(inspection: Inspection, out: TextSink, nowMs: number): void {
  const { directory, diskBytes, corruptFiles, signals, services, setAside, account } = inspection;
  const section = (title: string, rows: readonly (readonly string[])[]): void => {
    if (rows.length <= 1) return;
    out.line('');
    if (title !== '') out.line(title);
    out.line(renderTable(rows, { width: out.columns }));
  };
  out.line(`${directory}: ${formatBytes(diskBytes)} on disk`);
  for (const file of corruptFiles)
    out.line(`damaged, put aside and kept: ${file}; look at it, then delete it`);
  const ages = (waiting: Waiting): readonly string[] =>
    [waiting.oldestAtMs, waiting.newestAtMs].map(atMs => ageOf(atMs, nowMs));
  section('', [
    ['SIGNAL', 'REQUESTS', 'POINTS', 'SIZE', 'LIMIT', 'OLDEST', 'NEWEST'],
    ...signals.map(one => [
      one.signal,
      ...[one.requests, one.points].map(formatCount),
      ...[one.bytes, one.maxBytes].map(formatBytes),
      ...ages(one),
    ]),
  ]);
  section('waiting, by service', [
    ['SERVICE', 'SIGNAL', 'REQUESTS', 'POINTS', 'OLDEST', 'NEWEST'],
    ...services.map(one => [
      one.service,
      one.signal,
      ...[one.requests, one.points].map(formatCount),
      ...ages(one),
    ]),
  ]);
  section('refused for good, newest first', [
    ['LAST', 'SERVICE', 'SIGNAL', 'REQUESTS', 'POINTS', 'REASON'],
    ...groupSetAside(setAside).map(({ last, requests, points }) => [
      ageOf(last.atMs, nowMs),
      last.service,
      last.signal,
      ...[requests, points].map(formatCount),
      last.reason,
    ]),
  ]);
  section('the account', accountRows(account));
}

interface SetAsideGroup {
  readonly last: SetAside;
  requests: number;
  points: number;
}

/** A split leaves many pieces behind, all refused in the same words. */
function groupSetAside(newestFirst: readonly SetAside[]): readonly SetAsideGroup[] {
  const groups = new Map<string, SetAsideGroup>();
  for (const entry of newestFirst) {
    const key = JSON.stringify([entry.service, entry.signal, entry.reason]);
    const group = groups.get(key) ?? { last: entry, requests: 0, points: 0 };
    groups.set(key, group);
    group.requests++;
    group.points += entry.points;
  }
  return [...groups.values()].slice(0, SET_ASIDE_SHOWN_MAX);
}

function accountRows({ total, services }: AccountReport): readonly (readonly string[])[] {
  const head = ['SERVICE', 'SAMPLES', 'DROPPED', 'POINTS', 'ACCEPTED', 'REJECTED'];
  const rows = [...Object.entries(services), ['total', total] as const];
  return [
    [...head, 'SET ASIDE', 'EVICTED', 'QUEUED'],
    ...rows.map(([id, { samples, points }]) => [
      id,
      ...[samples.read, samples.dropped, points.made, points.accepted].map(formatCount),
      ...[points.rejected, points.setAside, points.evicted, points.queued].map(formatCount),
    ]),
  ];
}

function ageOf(atMs: number | null, nowMs: number): string {
  return atMs === null ? '-' : formatAge(nowMs - atMs);
}

function jsonOf({ signals, services, setAside, ...rest }: Inspection): unknown {
  return {
    ...rest,
    signals: signals.map(withTimes),
    services: services.map(withTimes),
    setAside: setAside.slice(0, SET_ASIDE_SHOWN_MAX).map(({ atMs, sample, ...one }) => ({
      at: timeOf(atMs),
      ...one,
      sample: sampleOf(one.signal, sample),
    })),
  };
}

function withTimes({ oldestAtMs, newestAtMs, ...one }: Waiting): unknown {
  return { ...one, oldestAt: timeOf(oldestAtMs), newestAt: timeOf(newestAtMs) };
}

function timeOf(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

/** The refused request; null where its bytes are those of a row that was damaged on disk, or none were kept. */
function sampleOf(signal: Signal, sample: Buffer): unknown {
  try {
    return sample.length === 0 ? null : JSON.parse(otlpJson(signal, sample));
  } catch {
    return null;
  }
}

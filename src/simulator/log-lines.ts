// The lines that a simulated server has written into one of its logs, as a pure function of seed, server, type
// and time: a line at a random moment of each period, in the formats of the real logs. A line never changes
// once its moment has passed, so that today's archive only grows.

import { hashText, unit } from './load.ts';
import type { SimulatedServer } from './topology.ts';

export type LogType = 'error-log' | 'slow-query-log' | 'audit-log' | 'proxy-log';

export interface LogRecord {
  readonly atMs: number;
  /** One record; it may be of several lines. Without the last newline. */
  readonly text: string;
}

const PERIOD_MS: Readonly<Record<LogType, number>> = {
  'error-log': 600_000,
  'slow-query-log': 300_000,
  'audit-log': 60_000,
  'proxy-log': 900_000,
};

/** The types of log that a server of this role keeps. */
export function logTypesOf({ role }: SimulatedServer): readonly LogType[] {
  return role === 'proxy' ? ['proxy-log'] : ['error-log', 'slow-query-log', 'audit-log'];
}

/** All records of [fromMs, toMs), in the order of time. */
export function* logRecords(
  server: SimulatedServer,
  type: LogType,
  window: { readonly fromMs: number; readonly toMs: number },
  seed: number,
): Generator<LogRecord> {
  const period = PERIOD_MS[type];
  const hash = hashText(`${server.name} ${type}`, seed);
  for (let step = Math.floor(window.fromMs / period); step * period < window.toMs; step++) {
    const atMs = step * period + Math.floor(unit(hash, step) * period);
    if (atMs < window.fromMs || atMs >= window.toMs) continue;
    yield { atMs, text: FORMATS[type](new Date(atMs), unit(hash, ~step), server.name) };
  }
}

type Format = (time: Date, chance: number, serverName: string) => string;

const FORMATS: Readonly<Record<LogType, Format>> = {
  'error-log': (time, chance) => {
    const head = `${date(time)} ${String(time.getUTCHours()).padStart(2)}:${minutes(time)}`;
    const thread = Math.floor(chance * 900);
    if (chance < 0.1)
      return `${head} ${thread} [ERROR] Cannot open table 'shop/stock'\nrolled back`;
    if (chance < 0.4) {
      return `${head} ${thread} [Warning] Aborted connection ${thread} to db: 'shop' user: 'app' host: '10.0.0.9' (Got timeout reading communication packets)`;
    }
    return `${head} 0 [Note] Checkpoint completed`;
  },
  'slow-query-log': (time, chance) =>
    [
      `# Time: ${compactDate(time).slice(2)} ${String(time.getUTCHours()).padStart(2)}:${minutes(time)}`,
      '# User@Host: app[app] @ web-1 [10.0.0.9]',
      `# Thread_id: ${Math.floor(chance * 900)}  Schema: shop  QC_hit: No`,
      `# Query_time: ${(1 + 9 * chance).toFixed(6)}  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210`,
      '# Rows_affected: 0  Bytes_sent: 65',
      `SET timestamp=${Math.floor(time.getTime() / 1000)};`,
      'SELECT * FROM orders',
      ` WHERE customer_id = ${Math.floor(chance * 100_000)};`,
    ].join('\n'),
  'audit-log': (time, chance, serverName) => {
    const head = `${compactDate(time)} ${hours(time)},${serverName}`;
    if (chance < 0.05)
      return `${head},bad,10.0.0.9,${Math.floor(chance * 9e3)},0,FAILED_CONNECT,,,1045`;
    const query = `'select \\'a,b\\', ${Math.floor(chance * 100)}'`;
    return `${head},app,10.0.0.9,75,${Math.floor(chance * 9e3)},QUERY,shop,${query},0`;
  },
  'proxy-log': (time, chance) => {
    const head = `${date(time)} ${hours(time)}  `;
    if (chance < 0.2)
      return `${head} error  : (17) [router] (Read-Write); Lost connection to the primary`;
    return `${head} notice : [monitor] (Mon); Server [orders-1] changed state: [down] -> [up]`;
  },
};

function date(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function compactDate(time: Date): string {
  return date(time).replaceAll('-', '');
}

function hours(time: Date): string {
  return time.toISOString().slice(11, 19);
}

function minutes(time: Date): string {
  return time.toISOString().slice(14, 19);
}

// The archives that an action of `logs` is about: the options that choose them, the list of the service, and the
// temporary file for one.

import { tmpdir } from 'node:os';
import { LOG_TYPES } from '../config/log-keys.ts';
import { DAY_MS } from '../lib/clock.ts';
import { nearest } from '../lib/nearest.ts';
import { textAt } from '../logs/item.ts';
import { listPages } from '../logs/list.ts';
import type { LogsApi } from '../service/logs-api.ts';
import { SHOW_OPTIONS, tellNone } from './service-access.ts';
import { moment, text } from './options.ts';
import { type Call, cannotWrite, usageError, type VerbContext } from './verb.ts';

export const SERVERS_OPTIONS = {
  ...SHOW_OPTIONS,
  type: text('TYPE', 'such as error-log', LOG_TYPES),
  from: moment('RFC 3339, or back from now such as 2h (default: a day before --to)'),
  to: moment('the same (default: now)'),
};
export const LIST_OPTIONS = {
  ...SERVERS_OPTIONS,
  server: text('NAME', 'the name of a server, or its data source id'),
};

export type ListCall = Call<typeof LIST_OPTIONS>;

/** The fields of an archive that are read, by the names of their pointers. */
const TEXTS = ['id', 'type', 'server', 'service', 'source', 'size', 'start'] as const;

export interface ListedArchive extends Readonly<Record<(typeof TEXTS)[number], string>> {
  /** null where the service names no number of bytes. */
  readonly sizeBytes: number | null;
}

/** The times of --from and --to; by default the last 24 hours. */
export function readSpan(
  { command, values: { from, to } }: Call<typeof SERVERS_OPTIONS>,
  nowMs: number,
): { readonly from: Date; readonly to: Date } {
  const toMs = to?.(nowMs) ?? nowMs;
  const fromMs = from?.(nowMs) ?? toMs - DAY_MS;
  if (fromMs >= toMs) throw usageError(command, '--from is later than --to');
  return { from: new Date(fromMs), to: new Date(toMs) };
}

/** The archives of one API that match the options, even if the service does not filter; null after a printed failure. */
export async function listArchives(
  api: LogsApi,
  { values }: ListCall,
  span: { readonly from: Date; readonly to: Date },
  context: VerbContext,
): Promise<readonly ListedArchive[] | null> {
  const { stop: signal } = context;
  const { type, server } = values;
  // The service can filter by data source id, but not by server name: isWanted() does that.
  const isSource = server?.includes('/') === true;
  const query = { ...span, type, ...(isSource ? { server } : {}), signal };
  const found = new Map<string, ListedArchive>();
  const end = await listPages(api, query, items => {
    for (const item of items) {
      const archive = readArchive(api, item);
      if (isWanted(archive, values)) found.set(`${archive.source} ${archive.id}`, archive);
    }
    return null;
  });
  if (end.ok) return [...found.values()];
  return signal.aborted ? null : tellNone(context, end.error);
}

function readArchive({ pointers }: LogsApi, item: unknown): ListedArchive {
  const texts = TEXTS.map(name => [name, textAt(pointers[name], item)] as const);
  const { start, size, ...rest } = Object.fromEntries(texts) as Omit<ListedArchive, 'sizeBytes'>;
  return { ...rest, size, sizeBytes: /^\d+$/.test(size) ? Number(size) : null, start };
}

function isWanted(archive: ListedArchive, values: ListCall['values']): boolean {
  const { type, server, 'service-id': serviceId } = values;
  if (type !== undefined && archive.type !== type) return false;
  if (server !== undefined && archive.server !== server && archive.source !== server) return false;
  return (
    serviceId === undefined ||
    archive.source === '' ||
    `${archive.source}/`.startsWith(`${serviceId}/`)
  );
}

/** What is said where the service lists nothing: it does not tell a mistyped type from one without archives. */
export function noArchives({ values: { type = '' } }: Call<typeof SERVERS_OPTIONS>): string {
  const near = LOG_TYPES.includes(type) ? undefined : nearest(type, LOG_TYPES);
  return near === undefined
    ? 'no archives'
    : `no archives of the type ${type}; did you mean ${near}?`;
}

/** Throws the mistake that the temporary file cannot be written. */
export function refuseTemporary(error: unknown): never {
  throw cannotWrite(tmpdir(), error, 'set TMPDIR to a directory where this user may write');
}

// What the actions of `logs` have in common: the log endpoints of the API that is meant, and times.

import { parseDuration } from '../config/units.ts';
import { textAt } from '../logs/item.ts';
import { itemsOf, listPages } from '../logs/list.ts';
import { LogApi } from '../service/logs-api.ts';
import type { Config } from '../config/config.ts';
import type { ServiceError } from '../service/service-error.ts';
import { type AccessValues, withServices } from './service-access.ts';
import { usageError, type VerbContext } from './verb.ts';

export interface LogValues extends AccessValues {
  readonly type?: string | undefined;
  readonly server?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** One API with what is wanted of it. */
export interface OpenLogApi {
  readonly config: Config;
  readonly api: LogApi;
  /** For people: host and services. */
  readonly name: string;
}

/** One archive as a person sees it. */
export interface ListedArchive {
  readonly id: string;
  readonly type: string;
  readonly server: string;
  readonly service: string;
  readonly source: string;
  readonly size: string;
  readonly start: string;
}

const DAY_MS = 86_400_000;

/** Opens the APIs for the time of `use`. */
export async function withLogApis<T>(
  verb: string,
  values: LogValues,
  context: VerbContext,
  use: (apis: readonly OpenLogApi[]) => Promise<T>,
): Promise<T> {
  return await withServices(verb, values, context, services =>
    use(
      services.map(({ config, target, http }) => ({
        config,
        name: target.name,
        api: new LogApi({
          client: http,
          endpoints: config.logs.endpoints,
          timeoutMs: target.api.timeoutMs,
          priority: 'command',
        }),
      })),
    ),
  );
}

/** The times of --from and --to; by default the day before now. A duration counts back from now. */
export function readSpan(
  verb: string,
  { from, to }: LogValues,
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } {
  const read = (option: string, text: string | undefined, absentMs: number): number => {
    if (text === undefined) return absentMs;
    const backMs = parseDuration(text);
    const atMs = backMs === undefined ? Date.parse(text) : nowMs - backMs;
    if (Number.isNaN(atMs))
      throw usageError(
        verb,
        `expected --${option} as 2026-03-04T09:00:00Z, or as 2h back from now`,
      );
    return atMs;
  };
  const toMs = read('to', to, nowMs);
  const fromMs = read('from', from, toMs - DAY_MS);
  if (fromMs >= toMs) throw usageError(verb, '--from is later than --to');
  return { fromMs, toMs };
}

/** The archives of one API that match the options; the service's own filters are not relied on. */
export async function listArchives(
  { api }: OpenLogApi,
  values: LogValues,
  span: { readonly fromMs: number; readonly toMs: number },
  { clock, stop }: Pick<VerbContext, 'clock' | 'stop'>,
): Promise<readonly ListedArchive[] | ServiceError> {
  const { type, server } = values;
  // The service knows data source ids; by the name of a server only we can choose.
  const isSource = server?.includes('/') === true;
  const query = { ...span, type: type ?? null, ...(isSource ? { server } : {}) };
  const options = { clock, signal: stop, random: Math.random, onFailure: () => undefined };
  const pages = listPages(api, query, { ...options, giveUpAtMs: clock.monotonicMs() });
  const found = new Map<string, ListedArchive>();
  for (;;) {
    const page = await pages.next();
    if (page.done === true) {
      const { value } = page;
      if (value.ok) return [...found.values()];
      return value.error;
    }
    for (const item of page.value) {
      const archive = readArchive(api, item);
      if (isWanted(archive, values)) found.set(`${archive.source} ${archive.id}`, archive);
    }
  }
}

function readArchive({ pointers }: LogApi, item: unknown): ListedArchive {
  return {
    id: textAt(pointers.id, item),
    type: textAt(pointers.type, item),
    server: textAt(pointers.server, item),
    service: textAt(pointers.service, item),
    source: textAt(pointers.source, item),
    size: textAt(pointers.size, item),
    start: textAt(pointers.start, item),
  };
}

function isWanted(archive: ListedArchive, values: LogValues): boolean {
  const { type, server, 'service-id': serviceId } = values;
  if (type !== undefined && archive.type !== type) return false;
  if (server !== undefined && archive.server !== server && archive.source !== server) return false;
  return serviceId === undefined || archive.source === '' || isOf(archive.source, serviceId);
}

function isOf(source: string, serviceId: string): boolean {
  return source === serviceId || source.startsWith(`${serviceId}/`);
}

/** The list in an answer of any shape: at its pointer, or the first list there is. */
export function firstList(api: LogApi, json: unknown): readonly unknown[] | null {
  const items = itemsOf(api, json);
  if (items !== null) return items;
  if (typeof json !== 'object' || json === null) return null;
  return Object.values(json).find(Array.isArray) ?? null;
}

export function failureLine({ message, hint }: ServiceError): string {
  return `${message}; ${hint}`;
}

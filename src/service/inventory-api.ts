// The inventory (seen on real deployments): the database services of the key, with their state and what they are made of.
// Answers are read tolerantly: a field that is missing or has another type is ''. Every text is foreign: it is made
// printable here and cut, because it becomes an attribute, a label and a line of the log.

import { isObject, membersOf } from '../lib/json.ts';
import { printableLine } from '../lib/printable.ts';
import { ApiArea, itemsIn } from './api-area.ts';
import type { ReadOptions } from './http-client.ts';
import type { Result } from './service-error.ts';

/** What the inventory says about one database service. Texts are printable; '' where it says nothing. */
export interface ServiceFacts {
  readonly id: string;
  readonly name: string;
  /** The word of the service for its state, as it is. */
  readonly status: string;
  /** True if the service was switched off: that it has no series is no outage. */
  readonly isStopped: boolean;
  readonly provider: string;
  readonly region: string;
  readonly tier: string;
  readonly topology: string;
  readonly version: string;
  readonly size: string;
  readonly nodes: string;
  readonly tags: Readonly<Record<string, string>>;
  /** The windows that have a start and an end, by the wall clock; weekly ones and other shapes are not understood. */
  readonly maintenance: readonly Window[];
  /** True if the status itself is maintenance. */
  readonly isMaintained: boolean;
}

interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export type Inventory = Result<{
  readonly services: readonly ServiceFacts[];
  /** False if pages or items are missing: then a service that is not listed may exist. */
  readonly isComplete: boolean;
}>;

const PAGE_SIZE = 100;
const PAGES_MAX = 100;
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
/** All pages together; what follows is left out. */
const BYTES_MAX = 16 * 1024 * 1024;
const TEXT_LENGTH_MAX = 256;
const TAGS_MAX = 64;
const WINDOWS_MAX = 16;
/** The end of the name of the header with the token of the next page; its beginning is the deployment's. */
const NEXT_TOKEN = '-page-token-next';

export class InventoryApi extends ApiArea {
  /** Reads all pages: at most 10,000 services. */
  async list({ signal }: ReadOptions = {}): Promise<Inventory> {
    const services = new Map<string, ServiceFacts>();
    let isComplete = true;
    let token: string | undefined;
    let bytes = 0;
    for (let page = 1; page <= PAGES_MAX; page++) {
      const answer = await this.http.requestJson('GET', this.path, {
        query: { page_size: PAGE_SIZE, page_token: token },
        maxBodyBytes: PAGE_BYTES_MAX,
        part: 'inventory',
        signal,
      });
      if (!answer.ok) return answer;
      const items = itemsIn(answer.json, 'services');
      if (items === null)
        return this.unreadable('read the inventory', 'holds no list', answer.status);
      for (const item of items) {
        const facts = factsOf(item);
        if (facts === null) isComplete = false;
        else services.set(facts.id, facts);
      }
      const next = nextToken(answer.headers);
      if (next === '') return { ok: true, services: [...services.values()], isComplete };
      // A service that ignores the parameter would return the same page for ever.
      bytes += answer.wireBytes;
      if (next === token || bytes > BYTES_MAX) break;
      token = next;
    }
    return { ok: true, services: [...services.values()], isComplete: false };
  }
}

function nextToken(headers: Readonly<Record<string, unknown>>): string {
  const found = Object.entries(headers).find(([name]) => name.toLowerCase().endsWith(NEXT_TOKEN));
  const value = Array.isArray(found?.[1]) ? (found[1] as unknown[])[0] : found?.[1];
  return typeof value === 'string' ? value.trim() : '';
}

/** Null for anything without an id. */
function factsOf(item: unknown): ServiceFacts | null {
  const fields = membersOf(item);
  const id = textOf(fields['id']);
  if (id === '') return null;
  const status = textOf(fields['status']);
  return {
    id,
    name: textOf(fields['name']),
    status,
    isStopped: isStopped(status, fields['is_active']),
    provider: textOf(fields['provider']),
    region: textOf(fields['region']),
    tier: textOf(fields['tier']),
    topology: textOf(fields['topology']),
    version: textOf(fields['version']),
    size: textOf(fields['size']),
    nodes: textOf(fields['nodes']),
    tags: tagsOf(fields['tags']),
    maintenance: windowsOf(fields['maintenance_window']),
    isMaintained: /maint/i.test(status),
  };
}

/** A text or a number; of an object, its name or id; of a list, the number of its items. */
function textOf(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  if (typeof value === 'string') return printableLine(value).trim().slice(0, TEXT_LENGTH_MAX);
  if (Array.isArray(value)) return String(value.length);
  const { name, id } = membersOf(value);
  return typeof name === 'string' || typeof id === 'string' ? textOf(name ?? id) : '';
}

/** The status decides where it is clear; a service that is inactive because it has failed is not stopped. */
function isStopped(status: string, isActive: unknown): boolean {
  if (/^(?:stop|paus|suspend|hibernat|inactive)/i.test(status)) return true;
  return isActive === false && !/fail|err|degrad|unhealthy|start|creat|pend|maint/i.test(status);
}

/** Tags as a map, as a list of keys with values, or as a list of words. */
function tagsOf(value: unknown): Readonly<Record<string, string>> {
  const pairs = Array.isArray(value)
    ? value.map((tag: unknown) => {
        const { key, name, value: text } = membersOf(tag);
        return isObject(tag) ? [textOf(key ?? name), textOf(text)] : [textOf(tag), 'true'];
      })
    : Object.entries(membersOf(value)).map(([name, text]) => [textOf(name), textOf(text)]);
  const isUsable = ([name]: readonly string[]): boolean => /^[\w./:-]+$/.test(name ?? '');
  return Object.fromEntries(pairs.filter(isUsable).slice(0, TAGS_MAX)) as Record<string, string>;
}

/** One window or several, whatever their members are called: `start`, `start_time`, `from`; `end`, `end_time`, `to`. */
function windowsOf(value: unknown): readonly Window[] {
  const all = Array.isArray(value) ? value.slice(0, WINDOWS_MAX) : [value];
  return all.flatMap(one => {
    const members = membersOf(one);
    const timeAt = (...names: string[]): number =>
      timeOf(names.map(name => members[name]).find(found => found !== undefined));
    const fromMs = timeAt('start', 'start_time', 'startTime', 'from', 'starts_at');
    const toMs = timeAt('end', 'end_time', 'endTime', 'to', 'ends_at');
    return fromMs < toMs ? [{ fromMs, toMs }] : [];
  });
}

/** RFC 3339 or Unix seconds, in milliseconds; NaN for anything else, such as the hour of a weekly window. */
function timeOf(value: unknown): number {
  if (typeof value === 'number') return value * 1000;
  const isDate = typeof value === 'string' && /^\d{4}-\d\d-\d\d[T ]/.test(value);
  return isDate ? Date.parse(value) : Number.NaN;
}

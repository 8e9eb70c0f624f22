// The metrics page as the service writes it: text 0.0.4, samples grouped by name, every one with an explicit
// timestamp. What does not change from page to page (HELP, TYPE, names, labels) is laid out once as bytes;
// a page is then those bytes with values and times written in between, since benches render 100,000 lines.

import { CATALOG } from '../catalog/all.ts';
import { hashText, type Moment, valueAt } from './load.ts';
import { labelsOf, type SimulatedSeries } from './series.ts';
import type { SimulatedServer, SimulatedService } from './topology.ts';

/** A page without its values. The text before line i is `prefixes` from `ends[i - 1]` to `ends[i]`. */
export interface PageLayout {
  readonly series: readonly SimulatedSeries[];
  /** The servers on the page, and for each line the index of its own. */
  readonly servers: readonly ServerOnPage[];
  readonly serverOfLine: Uint32Array;
  readonly prefixes: Buffer;
  readonly ends: Uint32Array;
}

export interface ServerOnPage {
  readonly service: SimulatedService;
  readonly server: SimulatedServer;
}

/** When a server's samples were taken, and whether they say so. */
export interface SampleTime {
  readonly moment: Moment;
  readonly isExplicit: boolean;
}

/** Longest value, a space, a timestamp and the line's end. */
const TAIL_BYTES_MAX = 48;
const PIECE_LINES = 4_096;

/** Lays the series out by name. `badLines` says how many broken lines go before a service's first sample. */
export function layoutPage(
  series: readonly SimulatedSeries[],
  badLines: Readonly<Record<string, number>>,
): PageLayout {
  const byName = Map.groupBy(series, one => one.name);
  const ordered: SimulatedSeries[] = [];
  const text = new PrefixText(series.length);
  const badLinesLeft = new Map(Object.entries(badLines));
  for (const name of [...byName.keys()].sort()) {
    let header = metadataLines(name);
    for (const one of byName.get(name) ?? []) {
      const key = seriesKey(one);
      const bad = badLinesLeft.get(one.service.id) ?? 0;
      badLinesLeft.delete(one.service.id);
      // A decimal comma: the line names its service, but has no value.
      text.add(`${header}${`${key} 12,5\n`.repeat(bad)}${key} `);
      ordered.push(one);
      header = '';
    }
  }
  return { series: ordered, ...text.end(), ...indexServers(ordered) };
}

/** A whole page, ending in a newline. `times` has one entry for each of the layout's servers. */
export function renderPage(layout: PageLayout, times: readonly SampleTime[]): Buffer {
  const { series, prefixes, ends, serverOfLine } = layout;
  const page = Buffer.allocUnsafeSlow(prefixes.length + series.length * TAIL_BYTES_MAX);
  const endings = times.map(({ moment, isExplicit }) =>
    isExplicit ? ` ${moment.timeMs}\n` : '\n',
  );
  let from = 0;
  let length = 0;
  for (let line = 0; line < series.length; line++) {
    const one = series[line];
    const time = times[serverOfLine[line] ?? 0];
    const to = ends[line] ?? 0;
    if (one === undefined || time === undefined) break;
    length += prefixes.copy(page, length, from, to);
    const value = valueAt(one.shape, one.hash, time.moment);
    length += page.write(formatValue(value) + endings[serverOfLine[line] ?? 0], length, 'latin1');
    from = to;
  }
  return page.subarray(0, length);
}

/** A number as the service's exporters print it: shortest form, with an exponent from a million on. */
export function formatValue(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  const text = value.toExponential();
  // 1.5e+6 in this language is 1.5e+06 there.
  return text.at(-3) === 'e' ? `${text.slice(0, -1)}0${text.slice(-1)}` : text;
}

const ENTRIES = new Map(CATALOG.map(entry => [entry.name, entry]));

// The habits that have been seen: HELP is missing for some names and says nothing for others, what has no
// known type comes untyped or without a TYPE line, and one TYPE line lacks the space after the #.
function metadataLines(name: string): string {
  const entry = ENTRIES.get(name);
  if (entry === undefined) return '';
  const hash = hashText(name, 0);
  const isStatus = name.startsWith('engine_global_status_');
  const help = isStatus ? 'Generic metric from the status of the server.' : entry.description;
  const helpLine = hash % 4 === 0 ? '' : `# HELP ${name} ${help}\n`;
  if (name === 'engine_up') return `${helpLine}#TYPE ${name} gauge\n`;
  if (entry.declared !== 'unknown') return `${helpLine}# TYPE ${name} ${entry.declared}\n`;
  return hash % 2 === 0 ? helpLine : `${helpLine}# TYPE ${name} untyped\n`;
}

function seriesKey(series: SimulatedSeries): string {
  const labels = labelsOf(series).map(([key, value]) => `${key}="${escape(value)}"`);
  return `${series.name}{${labels.join(',')}}`;
}

function escape(value: string): string {
  if (!/[\\"\n]/u.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/** Collects the prefixes as bytes, in pieces: as one string, a big corpus would be too long. */
class PrefixText {
  readonly #ends: Uint32Array;
  readonly #pieces: Buffer[] = [];
  #pending: string[] = [];
  #count = 0;
  #length = 0;

  constructor(count: number) {
    this.#ends = new Uint32Array(count);
  }

  add(prefix: string): void {
    this.#pending.push(prefix);
    this.#length += Buffer.byteLength(prefix);
    this.#ends[this.#count++] = this.#length;
    if (this.#pending.length >= PIECE_LINES) this.#flush();
  }

  end(): Pick<PageLayout, 'prefixes' | 'ends'> {
    this.#flush();
    return { prefixes: Buffer.concat(this.#pieces), ends: this.#ends };
  }

  #flush(): void {
    this.#pieces.push(Buffer.from(this.#pending.join('')));
    this.#pending = [];
  }
}

function indexServers(
  series: readonly SimulatedSeries[],
): Pick<PageLayout, 'servers' | 'serverOfLine'> {
  const indexes = new Map<SimulatedServer, number>();
  const servers: ServerOnPage[] = [];
  const serverOfLine = new Uint32Array(series.length);
  for (const [line, { service, server }] of series.entries()) {
    let index = indexes.get(server);
    if (index === undefined) {
      index = servers.push({ service, server }) - 1;
      indexes.set(server, index);
    }
    serverOfLine[line] = index;
  }
  return { servers, serverOfLine };
}

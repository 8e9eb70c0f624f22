// Makes pages of the past from stored samples, for the code that reads today's: each line of today's page whose series has
// a stored sample appears with the sample's value and time. So a series of the past has the names, labels and metadata
// that its points have today, and one that is no longer on the page is left out. In: today's page and stored series. Out:
// pages in the order of time, each with at most one sample of a series.

import type { PageLimits } from '../../model/page-rules.ts';
import type { ExpositionFormat, Page } from '../../model/page.ts';
import { parseSeriesKey } from './series-key.ts';
import { SampleLine } from './sample-line.ts';

/** A series as the history has it; samples in the order of time. */
export interface PastSeries {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly { readonly timeMs: number; readonly value: string }[];
}

const NEWLINE = 0x0a;
const HASH = 0x23;
/** The label that carries the id of a service on the page. The history knows services by name. */
const ID_LABEL = 'namespace';

/** A line of today's page. */
interface PageLine {
  /** The metadata lines before it, with their newlines. */
  readonly metadata: string;
  /** Name and labels, as on the page. */
  readonly key: string;
  readonly identity: string;
}

interface FormOptions {
  readonly limits: PageLimits;
  /** Whether the series of a service are wanted; those without an id are. */
  readonly takes: (id: string) => boolean;
  /** The label that has the name of the service. */
  readonly nameLabel: string;
}

/** Today's page, line by line. */
export class PageForm {
  /** The names of the services on the page. */
  readonly names: Set<string> = new Set();
  readonly #lines: PageLine[] = [];
  readonly #format: ExpositionFormat;
  /** By metric name: the names of the labels that its series have on the page. */
  readonly #labelNames = new Map<string, Set<string>>();
  readonly #byIdentity = new Map<string, number>();
  /** The end of an OpenMetrics page. */
  readonly #end: string;

  /** The bytes are not used later. Lines that are no samples are left out. */
  constructor({ bytes, format }: Pick<Page, 'bytes' | 'format'>, options: FormOptions) {
    this.#format = format;
    this.#end = format === 'openmetrics' ? '# EOF\n' : '';
    const line = new SampleLine(options.limits);
    let metadata = '';
    for (let start = 0; start < bytes.length; ) {
      const newline = bytes.indexOf(NEWLINE, start);
      const end = newline < 0 ? bytes.length : newline;
      if (bytes[start] === HASH) {
        const text = bytes.toString('utf8', start, end);
        if (text !== '# EOF') metadata += `${text}\n`;
      } else if (line.scan(bytes, start, end)) {
        if (this.#add(bytes, line, metadata, options)) metadata = '';
      }
      start = end + 1;
    }
  }

  /** False for a series of another service. */
  #add(
    bytes: Buffer,
    { keyStart, keyEnd }: SampleLine,
    metadata: string,
    { takes, nameLabel }: FormOptions,
  ): boolean {
    const { name, labels } = parseSeriesKey(bytes, keyStart, keyEnd);
    const [, id] = labels.find(([label]) => label === ID_LABEL) ?? [];
    if (id !== undefined && !takes(id)) return false;
    const names = this.#labelNames.get(name) ?? new Set();
    this.#labelNames.set(name, names);
    for (const [label, value] of labels) {
      if (label !== ID_LABEL) names.add(label);
      if (label === nameLabel) this.names.add(value);
    }
    const identity = identityOf(name, labels, names);
    this.#byIdentity.set(identity, this.#lines.length);
    this.#lines.push({ metadata, key: bytes.toString('utf8', keyStart, keyEnd), identity });
    return true;
  }

  /** How many series the page has. */
  get series(): number {
    return this.#lines.length;
  }

  /** The keys of the series that `seen` lacks, as on the page. */
  without(seen: ReadonlySet<number>): readonly string[] {
    return this.#lines.filter((_, index) => !seen.has(index)).map(({ key }) => key);
  }

  /**
   * The pages that these samples make. `seen` receives the places of the series that have samples. A stored series that
   * the page does not have is left out.
   */
  *pagesOf(past: readonly PastSeries[], seen: Set<number>): Generator<PastPage> {
    const samples: Sample[] = [];
    const endMs = new Map<number, number>();
    // Two stored series that are one today, such as of an old and a new instance, follow each other. One that overlaps
    // another is left out: together they would look like a counter that falls.
    const inTime = past.filter(({ samples: own }) => own.length > 0).sort(byFirstTime);
    for (const { name, labels, samples: own } of inTime) {
      const names = this.#labelNames.get(name);
      const place = names && this.#byIdentity.get(identityOf(name, Object.entries(labels), names));
      const [firstMs = 0, lastMs = 0] = [own[0]?.timeMs, own.at(-1)?.timeMs];
      if (place === undefined || firstMs <= (endMs.get(place) ?? -1)) continue;
      endMs.set(place, lastMs);
      seen.add(place);
      for (const sample of own) samples.push({ ...sample, place });
    }
    let page = new Map<number, Sample>();
    // What was measured at one time stays together: the parts of a histogram are one point.
    for (const [, together] of [...Map.groupBy(samples, ({ timeMs }) => timeMs)].sort(byTime)) {
      if (together.some(({ place }) => page.has(place))) {
        yield this.#render(page);
        page = new Map();
      }
      for (const sample of together) page.set(sample.place, sample);
    }
    if (page.size > 0) yield this.#render(page);
  }

  #render(page: ReadonlyMap<number, Sample>): PastPage {
    let text = '';
    let timeMs = 0;
    let metadata = '';
    for (const [place, line] of this.#lines.entries()) {
      metadata += line.metadata;
      const sample = page.get(place);
      if (sample === undefined) continue;
      timeMs = Math.max(timeMs, sample.timeMs);
      const stamp = this.#format === 'openmetrics' ? sample.timeMs / 1000 : sample.timeMs;
      text += `${metadata}${line.key} ${sample.value} ${stamp}\n`;
      metadata = '';
    }
    const bytes = Buffer.from(`${text}${this.#end}`);
    return { bytes, format: this.#format, timeMs, samples: page.size };
  }
}

interface Sample {
  readonly place: number;
  readonly timeMs: number;
  readonly value: string;
}

/** A page of the past; `timeMs`: that of its newest sample. */
export interface PastPage extends Pick<Page, 'bytes' | 'format'> {
  readonly timeMs: number;
  readonly samples: number;
}

function byFirstTime({ samples: a }: PastSeries, { samples: b }: PastSeries): number {
  return (a[0]?.timeMs ?? 0) - (b[0]?.timeMs ?? 0);
}

function byTime([a]: readonly [number, unknown], [b]: readonly [number, unknown]): number {
  return a - b;
}

/** The same text for a series of the page and for the stored one; labels that the page does not have do not count. */
function identityOf(
  name: string,
  labels: Iterable<readonly [label: string, value: string]>,
  names: ReadonlySet<string>,
): string {
  const counted = [...labels].filter(([label, value]) => names.has(label) && value !== '');
  return JSON.stringify([name, ...counted.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

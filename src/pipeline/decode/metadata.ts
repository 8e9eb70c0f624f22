// Comment lines (HELP, TYPE, UNIT, EOF) of a page, and the question they answer: to which metric does a
// sample name belong, and as what (otlp-mapping A4, A5, B)? In: comment lines of one page. Out: metrics in
// the SeriesTable, whose declared half is brought up to date when the page has ended.

import type { DeclaredType, Metric } from '../../model/metric.ts';
import type { ExpositionFormat } from '../../model/page.ts';
import { ROLE, type SeriesTable } from '../../model/series-table.ts';
import { unescapeHelp, unescapeText } from './series-key.ts';

/** The comment lines of this page about one family; the first line of a kind wins. */
export interface FamilyLines {
  /** The first of these lines. */
  readonly line: number;
  type: DeclaredType | null;
  help: string | null;
  unit: string | null;
}

/** A sample name's place: index into table.metrics, and one of ROLE. */
export interface NamePlace {
  readonly metric: number;
  readonly role: number;
}

/**
 * Which suffixes of a family's name belong to the family, and what they are. `''` is the bare name. But for gauge
 * histograms, of which nothing is sent, a role has one suffix.
 */
const SUFFIX_ROLES: Partial<Record<DeclaredType, Readonly<Record<string, number>>>> = {
  histogram: { _bucket: ROLE.bucket, _count: ROLE.count, _sum: ROLE.sum, _created: ROLE.created },
  // OpenMetrics has the `g`; text 0.0.4 and some writers of OpenMetrics do without.
  gaugehistogram: {
    _bucket: ROLE.gaugePart,
    _gcount: ROLE.gaugePart,
    _gsum: ROLE.gaugePart,
    _count: ROLE.gaugePart,
    _sum: ROLE.gaugePart,
    _created: ROLE.gaugePart,
  },
  summary: { '': ROLE.quantile, _count: ROLE.count, _sum: ROLE.sum, _created: ROLE.created },
};
const OPENMETRICS_SUFFIX_ROLES: typeof SUFFIX_ROLES = {
  ...SUFFIX_ROLES,
  counter: { _total: ROLE.scalar, _created: ROLE.created },
  info: { _info: ROLE.scalar },
};
/** The other way round: by which suffixes a role is known. Rows of other roles have the name of their metric. */
const SUFFIXES_OF_ROLE: Readonly<Partial<Record<number, readonly string[]>>> = {
  [ROLE.bucket]: ['_bucket'],
  [ROLE.count]: ['_count'],
  [ROLE.sum]: ['_sum'],
  [ROLE.created]: ['_created'],
  [ROLE.gaugePart]: ['_bucket', '_gcount', '_gsum', '_count', '_sum', '_created'],
};

const TYPES: readonly DeclaredType[] = [
  'counter',
  'gauge',
  'unknown',
  'histogram',
  'summary',
  'info',
  'stateset',
  'gaugehistogram',
];
/** What text 0.0.4 calls its types, in any case: the last two are not in its documentation, but in use. */
const TEXT_TYPES: ReadonlyMap<string, DeclaredType> = new Map([
  ['counter', 'counter'],
  ['gauge', 'gauge'],
  ['untyped', 'unknown'],
  ['histogram', 'histogram'],
  ['summary', 'summary'],
  ['gaugehistogram', 'gaugehistogram'],
  ['gauge_histogram', 'gaugehistogram'],
]);
const COMMENT = /^#[ \t]*(HELP|TYPE|UNIT|EOF)(?:[ \t]+|$)/;
const NAME = /^(?:"((?:[^"\\]|\\.)*)"|([^ \t]+))[ \t]*/;

/** The names of a NamePlace's metric, which need not exist. */
interface NameHome {
  readonly name: string;
  readonly familyName: string;
  readonly declared: DeclaredType;
  readonly role: number;
}

/** The metadata of one page while it is decoded. */
export class PageMetadata {
  readonly #table: SeriesTable;
  readonly #format: ExpositionFormat;
  readonly #families = new Map<string, FamilyLines>();
  readonly #suffixRoles: typeof SUFFIX_ROLES;
  #hasEnded = false;

  constructor(table: SeriesTable, format: ExpositionFormat) {
    this.#table = table;
    this.#format = format;
    this.#suffixRoles = format === 'openmetrics' ? OPENMETRICS_SUFFIX_ROLES : SUFFIX_ROLES;
  }

  /** True after `# EOF` of an OpenMetrics page: nothing after it counts. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The comment lines so far, by family name. */
  get families(): ReadonlyMap<string, Readonly<FamilyLines>> {
    return this.#families;
  }

  /** Reads the comment on line `number`; the reason when it is one of ours and wrong, null otherwise. */
  readLine(text: string, number: number): string | null {
    const match = COMMENT.exec(text);
    if (match === null) return null;
    const keyword = match[1];
    if (keyword === 'EOF' || keyword === 'UNIT') {
      if (this.#format === 'text') return null;
    }
    const rest = text.slice(match[0].length);
    if (keyword === 'EOF') {
      if (rest !== '') return 'unexpected text after `# EOF`';
      this.#hasEnded = true;
      return null;
    }
    const name = NAME.exec(rest);
    // A keyword alone is a comment like any other.
    if (name === null) return null;
    const family = name[1] === undefined ? name[2]! : unescapeText(name[1]);
    const lines = this.#familyLines(family, number);
    const value = rest.slice(name[0].length);
    if (keyword === 'HELP')
      lines.help ??= this.#format === 'text' ? unescapeHelp(value) : unescapeText(value);
    else if (keyword === 'UNIT') lines.unit ??= value.trim();
    else return this.#readType(lines, value.trim());
    return null;
  }

  /** The metric that a sample name belongs to, made if it is new. */
  placeOf(sampleName: string): NamePlace {
    const table = this.#table;
    const { name, familyName, declared, role } = this.#homeOf(sampleName);
    const key = metricKey(familyName, name);
    let index = table.metricByKey.get(key);
    if (index === undefined) {
      index = addMetric(table, name, familyName, declared);
      table.metricByKey.set(key, index);
    }
    return { metric: index, role };
  }

  /**
   * True when the comment lines of this page may give a row on it another place than the one where it was filed: before
   * its TYPE came, or on another page. It goes through names, not through rows.
   */
  movesRows(): boolean {
    for (const metric of this.#table.metrics)
      if (metric.seenPage === this.#table.page && this.#movesRowsOf(metric)) return true;
    return false;
  }

  #movesRowsOf(metric: Metric): boolean {
    const { name, familyName, roles } = metric;
    for (let role = 0; 1 << role <= roles; role++) {
      if ((roles & (1 << role)) === 0) continue;
      const suffixes = SUFFIXES_OF_ROLE[role];
      if (suffixes === undefined) {
        if (!isHome(this.#homeOf(name), metric, role)) return true;
      } else if (suffixes.some(suffix => !isHome(this.#homeOf(familyName + suffix), metric, role)))
        return true;
    }
    return false;
  }

  /** Brings the declared half of every metric seen on this page up to date. */
  finish(): void {
    for (const metric of this.#table.metrics) {
      if (metric.seenPage !== this.#table.page) continue;
      const lines = this.#families.get(metric.familyName);
      const declared = lines?.type ?? 'unknown';
      const hasType = (lines?.type ?? null) !== null;
      const help = lines?.help ?? '';
      const unit = lines?.unit ?? '';
      if (
        metric.declared === declared &&
        metric.hasType === hasType &&
        metric.help === help &&
        metric.unit === unit
      )
        continue;
      Object.assign(metric, { declared, hasType, help, unit, changed: true });
    }
  }

  #readType(lines: FamilyLines, word: string): string | null {
    if (lines.type !== null) return null;
    const isText = this.#format === 'text';
    const type = isText
      ? TEXT_TYPES.get(word.toLowerCase())
      : TYPES.find(candidate => candidate === word);
    lines.type = type ?? 'unknown';
    return type === undefined
      ? `the type ${JSON.stringify(word.slice(0, 40))} is none of the format's`
      : null;
  }

  #familyLines(family: string, line: number): FamilyLines {
    let lines = this.#families.get(family);
    if (lines === undefined) {
      lines = { line, type: null, help: null, unit: null };
      this.#families.set(family, lines);
    }
    return lines;
  }

  /** The full name comes first: a TYPE of its own makes it a family of its own. */
  #homeOf(name: string): NameHome {
    const own = this.#families.get(name)?.type;
    if (own !== undefined && own !== null) {
      const role = this.#suffixRoles[own]?.[''] ?? ROLE.scalar;
      return { name, familyName: name, declared: own, role };
    }
    const at = name.lastIndexOf('_');
    const familyName = name.slice(0, Math.max(at, 0));
    const type = this.#families.get(familyName)?.type ?? 'unknown';
    const role = at < 0 ? undefined : this.#suffixRoles[type]?.[name.slice(at)];
    if (role === undefined)
      return { name, familyName: name, declared: 'unknown', role: ROLE.scalar };
    return { name: metricNameOf(familyName, type), familyName, declared: type, role };
  }
}

function isHome(home: NameHome, metric: Metric, role: number): boolean {
  const isRole = home.role === role || (role === ROLE.metadata && home.role === ROLE.scalar);
  return isRole && home.name === metric.name && home.familyName === metric.familyName;
}

/** The name in OTLP: histograms and summaries go by their family's, an OpenMetrics counter keeps `_total`. */
function metricNameOf(family: string, type: DeclaredType): string {
  if (type === 'counter') return `${family}_total`;
  return type === 'info' ? `${family}_info` : family;
}

function metricKey(familyName: string, name: string): string {
  return familyName === name ? name : `${familyName}\u0000${name}`;
}

/** Adds a metric whose derived half is still empty. */
export function addMetric(
  table: SeriesTable,
  name: string,
  familyName: string,
  declared: DeclaredType,
): number {
  const metric: Metric = {
    name,
    familyName,
    declared,
    hasType: false,
    seenPage: 0,
    roles: 0,
    help: '',
    unit: '',
    changed: true,
    sentName: name,
    kind: 'gauge',
    typeSource: 'none',
    family: 'other',
    sentUnit: '',
    sentDescription: '',
    uptimeName: null,
    isUptime: false,
    isIncluded: true,
  };
  const index = table.spare.metrics.pop() ?? table.metrics.length;
  table.metrics[index] = metric;
  return index;
}

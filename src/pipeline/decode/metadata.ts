// Comment lines (HELP, TYPE, UNIT, EOF) of a page. They determine the metric and role of each
// sample name (docs/how-it-works/mapping.md A4, A5, B). In: comment lines of one page. Out: metrics in the
// SeriesTable, whose declared half is updated at the end of the page.

import { isIncluded, type NameFilters } from '../../model/page-rules.ts';
import { DECLARED_TYPES, type DeclaredType, type Metric } from '../../model/metric.ts';
import type { ExpositionFormat } from '../../model/page.ts';
import { ROLE, type SeriesTable } from '../../model/series-table.ts';
import { unescapeHelp, unescapeText } from './series-key.ts';

/** One family's comment lines on this page; the first line of a kind wins. */
export interface FamilyLines {
  /** The line number of the first of them. */
  readonly line: number;
  type: DeclaredType | null;
  help: string | null;
  unit: string | null;
}

/** Where a sample name belongs: index into table.metrics, and one of ROLE. */
export interface NamePlace {
  readonly metric: number;
  readonly role: number;
}

/**
 * The suffixes of each type's sample names, with their roles. `''` is the bare name. Except for
 * gauge histograms, which are never sent, each role has one suffix.
 */
const SUFFIX_ROLES: Partial<Record<DeclaredType, Readonly<Record<string, number>>>> = {
  histogram: { _bucket: ROLE.bucket, _count: ROLE.count, _sum: ROLE.sum, _created: ROLE.created },
  // The `g` is from OpenMetrics; text 0.0.4 and some OpenMetrics writers omit it.
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
/** The suffixes of each role. Rows of other roles have their metric's name. */
const SUFFIXES_OF_ROLE: ReadonlyMap<number, readonly (readonly [suffix: string, role: number])[]> =
  Map.groupBy(
    Object.values(SUFFIX_ROLES)
      .flatMap(Object.entries<number>)
      .filter(([suffix]) => suffix !== ''),
    ([, role]) => role,
  );

/**
 * The types of text 0.0.4, in upper or lower case. The last two are undocumented, but the reference
 * parser's tests require them.
 */
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

/** The names of a NamePlace's metric, which may not exist yet. */
interface NameHome {
  readonly name: string;
  readonly familyName: string;
  readonly declared: DeclaredType;
  readonly role: number;
}

const EVERY_NAME: NameFilters = { include: [], exclude: [] };

/** The metadata of one page while it is decoded. */
export class PageMetadata {
  readonly #table: SeriesTable;
  readonly #filters: NameFilters;
  readonly #format: ExpositionFormat;
  readonly #suffixRoles: typeof SUFFIX_ROLES;
  /** The comment lines so far, by family name. */
  readonly families: Map<string, FamilyLines> = new Map();
  /** True after `# EOF` of an OpenMetrics page: nothing after it counts. */
  hasEnded = false;

  constructor(table: SeriesTable, format: ExpositionFormat, filters: NameFilters = EVERY_NAME) {
    this.#table = table;
    this.#filters = filters;
    this.#format = format;
    this.#suffixRoles = format === 'openmetrics' ? OPENMETRICS_SUFFIX_ROLES : SUFFIX_ROLES;
  }

  /** Reads the comment on line `number`; returns the reason if it is bad, else null. */
  readLine(text: string, number: number): string | null {
    const match = COMMENT.exec(text);
    if (match === null) return null;
    const keyword = match[1];
    const isText = this.#format === 'text';
    if (isText && (keyword === 'EOF' || keyword === 'UNIT')) return null;
    const rest = text.slice(match[0].length);
    if (keyword === 'EOF') {
      if (rest !== '') return 'unexpected text after `# EOF`';
      this.hasEnded = true;
      return null;
    }
    const name = NAME.exec(rest);
    // A keyword without a name is an ordinary comment.
    if (name === null) return null;
    const family = name[1] === undefined ? name[2]! : unescapeText(name[1]);
    const lines = this.#familyLines(family, number);
    const value = rest.slice(name[0].length);
    if (keyword === 'HELP') lines.help ??= isText ? unescapeHelp(value) : unescapeText(value);
    else if (keyword === 'UNIT') lines.unit ??= value.trim();
    else return this.#readType(lines, value.trim());
    return null;
  }

  /** The metric and role of a sample name; adds the metric if it is new. */
  placeOf(sampleName: string): NamePlace {
    const { name, familyName, declared, role } = this.#homeOf(sampleName);
    const index = metricOf(this.#table, name, familyName, declared);
    const metric = this.#table.metrics[index]!;
    if (metric.seenPage === 0) metric.isIncluded = isIncluded(name, this.#filters);
    return { metric: index, role };
  }

  /** The family of a sample name. */
  familyOf(sampleName: string): string {
    return this.#homeOf(sampleName).familyName;
  }

  /**
   * Whether a row of this page may now belong elsewhere: its TYPE came after it, or differs from
   * the previous page's. Checks names, not rows.
   */
  movesRows(): boolean {
    const { metrics, page } = this.#table;
    return metrics.some(metric => metric.seenPage === page && this.#movesRowsOf(metric));
  }

  #movesRowsOf(metric: Metric): boolean {
    const { name, familyName, roles } = metric;
    for (let role = 0; 1 << role <= roles; role++) {
      if ((roles & (1 << role)) === 0) continue;
      const names = SUFFIXES_OF_ROLE.get(role)?.map(([suffix]) => familyName + suffix) ?? [name];
      if (names.some(one => !isHome(this.#homeOf(one), metric, role))) return true;
    }
    return false;
  }

  /** Updates the declared half of every metric on this page. */
  finish(): void {
    for (const metric of this.#table.metrics) {
      if (metric.seenPage !== this.#table.page) continue;
      const lines = this.families.get(metric.familyName);
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
    const type =
      this.#format === 'text'
        ? TEXT_TYPES.get(word.toLowerCase())
        : DECLARED_TYPES.find(candidate => candidate === word);
    lines.type = type ?? 'unknown';
    if (type !== undefined) return null;
    return `the format has no type ${JSON.stringify(word.slice(0, 40))}`;
  }

  #familyLines(family: string, line: number): FamilyLines {
    const lines = this.families.get(family) ?? { line, type: null, help: null, unit: null };
    this.families.set(family, lines);
    return lines;
  }

  /** A TYPE of the full name wins over a suffix of another family. */
  #homeOf(name: string): NameHome {
    const own = this.families.get(name)?.type ?? null;
    const at = own === null ? name.lastIndexOf('_') : -1;
    const familyName = name.slice(0, Math.max(at, 0));
    const type = this.families.get(familyName)?.type ?? 'unknown';
    const role = at < 0 ? undefined : this.#suffixRoles[type]?.[name.slice(at)];
    if (role !== undefined)
      return { name: metricNameOf(familyName, type), familyName, declared: type, role };
    const declared = own ?? 'unknown';
    const ownRole = this.#suffixRoles[declared]?.[''] ?? ROLE.scalar;
    return { name, familyName: name, declared, role: ownRole };
  }
}

function isHome(home: NameHome, metric: Metric, role: number): boolean {
  const isRole = home.role === role || (role === ROLE.metadata && home.role === ROLE.scalar);
  return isRole && home.name === metric.name && home.familyName === metric.familyName;
}

/**
 * The name in OTLP: histograms and summaries use the family's; counters of OpenMetrics keep
 * `_total`.
 */
function metricNameOf(family: string, type: DeclaredType): string {
  if (type === 'counter') return `${family}_total`;
  return type === 'info' ? `${family}_info` : family;
}

/** The metric of a name in a family, added if it is new; derive fills its derived half. */
export function metricOf(
  table: SeriesTable,
  name: string,
  familyName: string,
  declared: DeclaredType,
): number {
  const key = familyName === name ? name : `${familyName}\u0000${name}`;
  const known = table.metricByKey.get(key);
  if (known !== undefined) return known;
  const index = table.spare.metrics.pop() ?? table.metrics.length;
  table.metrics[index] = {
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
    labelRules: null,
    kind: 'gauge',
    typeSource: 'none',
    family: 'other',
    sentUnit: '',
    sentDescription: '',
    uptimeName: null,
    isUptime: false,
    isIncluded: true,
  };
  table.metricByKey.set(key, index);
  return index;
}

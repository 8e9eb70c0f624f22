// The full function of decode: reads a page of text 0.0.4 or OpenMetrics 1.0 into the columns of
// the SeriesTable. In: a Page and the target's table. Out: key, metric, role, value, timeMs, seen
// and line of each row on the page, new rows, and a PageReport. It is lenient (docs/how-it-works/mapping.md A6):
// it drops, counts and names bad lines and keeps the others. It works in slices and never throws on
// input.

import { isUtf8 } from 'node:buffer';
import type { NameFilters, PageLimits } from '../../model/page-rules.ts';
import { newReport, type Page, PROBLEMS_MAX, type PageReport } from '../../model/page.ts';
import {
  COST,
  NO_ROW,
  ROLE,
  type SeriesTable,
  SPARE_SHARE,
  tableBytes,
} from '../../model/series-table.ts';
import { ExpectedRows } from './expected-rows.ts';
import { LastTime } from './same-text.ts';
import { type FamilyLines, type NamePlace, PageMetadata } from './metadata.ts';
import { passPlainValue, readMilliseconds, readSeconds, readValue } from './number.ts';
import { LayoutBuilder } from './replay.ts';
import { compactKeys, findRow, insertRow } from './row-index.ts';
import { SampleLine } from './sample-line.ts';
import {
  duplicateLabel,
  isText,
  KeyLabels,
  keyOfRow,
  labelValue,
  parseSeriesKey,
  type SeriesKey,
} from './series-key.ts';

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const HASH = 0x23;
const SPACE = 0x20;
const TAB = 0x09;
const DELETE = 0x7f;
const NAMESPACE_LABEL = /[{,\s]namespace\s*=\s*"((?:[^"\\]|\\.)*)"/;

/** Room for the words of a comment line besides a name and a text. */
const COMMENT_BYTES = 32;

/** How much of a page is read to estimate its number of lines. */
const GUESSED_BY_BYTES = 16 * 1024;

function expectedLines(bytes: Buffer): number {
  const end = Math.min(bytes.length, GUESSED_BY_BYTES);
  let lines = 1;
  for (let at = 0; at < end; at++) if (bytes[at] === NEWLINE) lines++;
  return Math.ceil((lines * bytes.length) / Math.max(end, 1));
}

/** The limits, and what does not count against them. */
export interface DecodeRules extends NameFilters {
  readonly limits: PageLimits;
}

/** A new series that is refused. */
const REFUSED = -2;

/** One page being decoded. Call step() until it returns true, then read `report`. */
export class Decoding {
  readonly report: PageReport = newReport();
  readonly #page: Page;
  readonly #table: SeriesTable;
  readonly #limits: PageLimits;
  readonly #memoryBytes: number;
  readonly #metadata: PageMetadata;
  readonly #line: SampleLine;
  readonly #number = new Float64Array(1);
  readonly #layout: LayoutBuilder;
  readonly #labels = new KeyLabels();
  readonly #expected: ExpectedRows;
  readonly #view: DataView;
  readonly #lastTime = new LastTime();
  /** Null until needed. */
  #isUtf8: boolean | null = null;
  /** The name of the newest series and its place; null when a comment line may have changed it. */
  #placedName: Uint8Array = new Uint8Array(0);
  #place: NamePlace | null = null;
  #at = 0;
  #lineStart = 0;
  /** Sample lines so far without those of excluded series. */
  #kept = 0;

  /** `memoryBytes`: the part of limits.memory that the other tables leave. */
  constructor(
    page: Page,
    table: SeriesTable,
    rules: DecodeRules,
    memoryBytes: number = rules.limits.memoryBytes,
  ) {
    const { limits } = rules;
    this.#page = page;
    this.#table = table;
    this.#limits = limits;
    this.#memoryBytes = memoryBytes;
    this.#metadata = new PageMetadata(table, page.format, rules);
    this.#line = new SampleLine(limits);
    table.turnPage();
    // The page's size is enough for the keys of a first page: the arena never has to grow.
    if (table.keysUsed === 0)
      table.setKeys(Buffer.allocUnsafeSlow(Math.max(page.bytes.length, 64)));
    table.reserve(Math.min(expectedLines(page.bytes), limits.samples));
    this.#layout = new LayoutBuilder(page, table);
    this.#expected = new ExpectedRows(table, page.bytes);
    const { buffer, byteOffset, length } = page.bytes;
    this.#view = new DataView(buffer, byteOffset, length);
  }

  /** The HELP, TYPE and UNIT lines by family name, including families without samples. */
  get families(): ReadonlyMap<string, Readonly<FamilyLines>> {
    return this.#metadata.families;
  }

  /** Decodes up to `lines` lines; true when the page is done. */
  step(lines: number): boolean {
    const { bytes } = this.#page;
    for (let left = lines; left > 0; left--) {
      if (this.#at >= bytes.length || this.report.limit !== null) {
        this.#finish();
        return true;
      }
      this.#lineStart = this.#at;
      this.report.lines++;
      const known = this.#expected.find(this.#at);
      if (known >= 0 && this.#readKnownLine(known)) continue;
      const newline = bytes.indexOf(NEWLINE, this.#at);
      const end = newline < 0 ? bytes.length : newline;
      this.#at = end + 1;
      this.#readLine(known, bytes[end - 1] === RETURN && end > 0 ? end - 1 : end);
    }
    this.#checkMemory();
    return false;
  }

  /** The memory that the page takes beside the table, by sizes that are known anyway. */
  #pageBytes(): number {
    const { repeats, exemplars } = this.#table;
    return (
      this.#page.bytes.length * COST.body +
      this.#metadata.families.size * COST.familyLines +
      repeats.length * COST.repeat +
      exemplars.size * COST.exemplar
    );
  }

  /** Called once per step: no series of the page makes it too large, but all else can. */
  #checkMemory(): void {
    const leftBytes = Math.max(this.#memoryBytes - tableBytes(this.#table), 0);
    const spareBytes = this.#limits.memoryBytes / SPARE_SHARE;
    if (this.#pageBytes() <= leftBytes + spareBytes) return;
    const reason = `the page takes more memory than metrics.limits.memory leaves (${Math.floor(leftBytes)} bytes)`;
    this.#endAt('memory', reason);
  }

  /**
   * Reads a line that begins with the key of `row` and continues as most lines do: a plain value,
   * then the newest timestamp or none. Returns false to leave the line to #readLine().
   */
  #readKnownLine(row: number): boolean {
    const { bytes } = this.#page;
    if (this.#metadata.hasEnded) return false;
    const valueStart = this.#expected.keyEnd + 1;
    let at = passPlainValue(bytes, valueStart, this.#number);
    if (at < 0) return false;
    let timeMs = Number.NaN;
    if (bytes[at] === SPACE) {
      if (!this.#lastTime.isAt(this.#view, at)) return false;
      timeMs = this.#lastTime.ms;
      at += this.#lastTime.length;
    }
    if (bytes[at] !== NEWLINE) return false;
    this.report.samples++;
    this.#store(row, this.#number[0]!, timeMs);
    this.#layout.add(row, this.#lineStart, valueStart, at);
    this.#at = at + 1;
    return true;
  }

  /** Reads any line; `known` is the row whose key begins it, or -1. */
  #readLine(known: number, end: number): void {
    const { bytes } = this.#page;
    let start = this.#lineStart;
    while (start < end && (bytes[start] === SPACE || bytes[start] === TAB)) start++;
    if (start >= end) return;
    if (this.#metadata.hasEnded) {
      this.#problem('the text after `# EOF` is not read', start);
      this.#at = bytes.length;
      return;
    }
    if (bytes[start] === HASH) {
      this.#place = null;
      if (!this.#isPrintable(start, end)) return;
      // The text of a HELP goes out with every block of its metric. Without it, the samples are as good.
      if (end - start > this.#limits.nameBytes + this.#limits.valueBytes + COMMENT_BYTES) return;
      const reason = this.#metadata.readLine(bytes.toString('utf8', start, end), this.report.lines);
      if (reason !== null) this.#problem(reason, start);
      return;
    }
    this.report.samples++;
    // An OpenMetrics page ends with `# EOF`: a sample without a newline may lack digits.
    const isCutOff = this.#page.format === 'openmetrics' && end === bytes.length;
    const isGood = isCutOff
      ? this.#problem('the page is cut off within this line', start)
      : this.#readSample(known, start, end);
    if (!isGood) this.#countBadLine(start, end);
  }

  /** False after a problem was noted. */
  #readSample(known: number, start: number, end: number): boolean {
    const { bytes, format } = this.#page;
    const line = this.#line;
    const number = this.#number;
    const isSample =
      known < 0
        ? line.scan(bytes, start, end)
        : line.scanNumbers(bytes, start, this.#expected.keyEnd, end);
    if (!isSample) return this.#problem(line.reason, line.reasonAt);
    if (!readValue(bytes, line.valueStart, line.valueEnd, number))
      return this.#problem('the value is no number', line.valueStart);
    const value = number[0]!;
    let timeMs = Number.NaN;
    let numbersEnd = line.valueEnd;
    if (line.timeStart >= 0) {
      const read = format === 'text' ? readMilliseconds : readSeconds;
      if (!read(bytes, line.timeStart, line.timeEnd, number))
        return this.#problem('the timestamp is no time', line.timeStart);
      timeMs = number[0]!;
      numbersEnd = line.timeEnd;
      this.#lastTime.note(this.#view, line.timeStart - 1, line.timeEnd, timeMs);
    }
    if (line.exemplarStart >= 0 && format === 'text')
      return this.#problem('unexpected text after the value', line.exemplarStart - 1);
    if (line.exemplarStart >= 0 && !this.#isPrintable(line.exemplarStart, end)) return false;
    const row = known < 0 ? this.#rowOfLine() : known;
    if (row === REFUSED) this.#layout.abandon();
    if (row < 0) return row === REFUSED;
    this.#store(row, value, timeMs);
    this.#layout.add(row, line.keyStart, line.valueStart, numbersEnd);
    // A bad exemplar is named, but its sample is good.
    if (line.exemplarStart >= 0) this.#readExemplar(line.exemplarStart, end);
    return true;
  }

  /** The row of the scanned series, added if it is new; REFUSED, or -1 with a problem. */
  #rowOfLine(): number {
    const known = findRow(this.#table, this.#page.bytes, this.#line);
    const row = known < 0 ? this.#addRow() : known;
    if (row >= 0) this.#expected.found(row);
    return row;
  }

  #store(row: number, value: number, timeMs: number): void {
    const table = this.#table;
    if (table.metrics[table.metric[row]!]!.isIncluded) this.#keep();
    if (table.seen[row] === table.page) {
      this.#layout.abandon();
      table.repeats.push({ row, value, timeMs, line: this.report.lines });
      return;
    }
    table.value[row] = value;
    table.timeMs[row] = timeMs;
    table.seen[row] = table.page;
    table.line[row] = this.report.lines;
    this.#notePlace(row);
  }

  /** Counts a sample line that include and exclude keep. */
  #keep(): void {
    const { samples } = this.#limits;
    if (++this.#kept > samples)
      this.#endAt('samples', `more samples than metrics.limits.samples (${samples})`);
  }

  /** Marks the metric of a row on this page as seen. */
  #notePlace(row: number): void {
    const { metrics, metric: metricOf, role, page } = this.#table;
    const metric = metrics[metricOf[row]!]!;
    if (metric.seenPage !== page) metric.roles = 0;
    metric.seenPage = page;
    metric.roles |= 1 << role[row]!;
  }

  /** Checks what SampleLine does not, and adds the row of a new series; REFUSED, or -1 with a problem. */
  #addRow(): number {
    const { bytes } = this.#page;
    const line = this.#line;
    // The parts of a valid page are valid.
    this.#isUtf8 ??= isUtf8(bytes);
    if (!this.#isUtf8 && !isUtf8(bytes.subarray(line.keyStart, line.keyEnd))) {
      this.#problem('the name or a label is not valid UTF-8', line.keyStart);
      return -1;
    }
    // A known series has none.
    if (!this.#isPrintable(line.keyStart, line.keyEnd)) return -1;
    if (!this.#hasMemory(line.keyEnd - line.keyStart)) return this.#refuse();
    const place = this.#placeOfKey();
    if (place === null) return -1;
    const table = this.#table;
    const row = insertRow(table, bytes, line);
    table.metric[row] = place.metric;
    table.role[row] = place.role;
    table.fresh.push(row);
    return row;
  }

  /** Whether there is memory for a new series with so many bytes of text. */
  #hasMemory(textBytes: number): boolean {
    const { row, fresh, name, text } = COST;
    const bytes = this.#pageBytes() + tableBytes(this.#table);
    return bytes + row + fresh + name + text * textBytes <= this.#memoryBytes;
  }

  /** Leaves out the scanned series, because there is no memory for it. */
  #refuse(): typeof REFUSED {
    const key = parseSeriesKey(this.#page.bytes, this.#line.keyStart, this.#line.keyEnd);
    const family = this.#metadata.familyOf(key.name);
    this.report.refused.add('memory', labelValue(key, 'namespace'), family);
    this.#keep();
    return REFUSED;
  }

  /** The place of the scanned series; null with a problem. */
  #placeOfKey(): NamePlace | null {
    const { bytes } = this.#page;
    const { keyStart, keyEnd } = this.#line;
    const labels = this.#labels;
    if (labels.read(bytes, keyStart, keyEnd) && labels.isDistinct(bytes)) {
      // Consecutive series usually share their name.
      const { nameEnd } = labels;
      if (this.#place === null || !isText(bytes, keyStart, nameEnd, this.#placedName)) {
        this.#place = this.#metadata.placeOf(bytes.toString('utf8', keyStart, nameEnd));
        this.#placedName = bytes.subarray(keyStart, nameEnd);
      }
      return this.#place;
    }
    const key = parseSeriesKey(bytes, keyStart, keyEnd);
    return this.#isDistinct(key, keyStart) ? this.#metadata.placeOf(key.name) : null;
  }

  /** False after a problem was noted: a control character but tab and carriage return costs its line. */
  #isPrintable(start: number, end: number): boolean {
    const { bytes } = this.#page;
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!;
      if ((byte >= SPACE && byte !== DELETE) || byte === TAB || byte === RETURN) continue;
      const code = byte.toString(16).toUpperCase().padStart(4, '0');
      return this.#problem(`the line has the control character U+${code}`, at);
    }
    return true;
  }

  /** False after a problem was noted. */
  #isDistinct(key: SeriesKey, at: number): boolean {
    const label = duplicateLabel(key);
    return label === null || this.#problem(`the label ${JSON.stringify(label)} occurs twice`, at);
  }

  /** False after a problem was noted. */
  #readExemplar(start: number, end: number): boolean {
    this.#layout.abandon();
    const { bytes } = this.#page;
    const line = this.#line;
    const number = this.#number;
    if (!line.scanExemplar(bytes, start, end)) return this.#problem(line.reason, line.reasonAt);
    if (!readValue(bytes, line.valueStart, line.valueEnd, number))
      return this.#problem('the exemplar has no number', line.valueStart);
    const value = number[0]!;
    let timeMs = Number.NaN;
    if (line.timeStart >= 0) {
      if (!readSeconds(bytes, line.timeStart, line.timeEnd, number))
        return this.#problem('the timestamp of the exemplar is no time', line.timeStart);
      timeMs = number[0]!;
    }
    const key = parseSeriesKey(bytes, line.keyStart, line.keyEnd);
    if (!this.#isDistinct(key, line.keyStart)) return false;
    this.#table.exemplars.set(this.report.lines, { labels: key.labels, value, timeMs });
    return true;
  }

  #countBadLine(start: number, end: number): void {
    this.report.badLines++;
    this.#keep();
    this.#layout.abandon();
    const text = this.#page.bytes.toString('latin1', start, Math.min(end, start + 4096));
    const namespace = NAMESPACE_LABEL.exec(text)?.[1] ?? '';
    const counts = this.report.badByNamespace;
    if (counts.has(namespace) || counts.size < 1000)
      counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }

  /** This line exceeds a limit: the page is unusable as a whole. */
  #endAt(limit: string, reason: string): void {
    const { report } = this;
    report.limit = limit;
    report.problems.unshift({ line: report.lines, column: 1, reason });
    report.problems.length = Math.min(report.problems.length, PROBLEMS_MAX);
  }

  #problem(reason: string, at: number): false {
    const { problems, lines } = this.report;
    if (problems.length < PROBLEMS_MAX)
      problems.push({ line: lines, column: at - this.#lineStart + 1, reason });
    return false;
  }

  #finish(): void {
    // An unusable page has the same effects as a failed scrape.
    if (this.report.limit === null) {
      if (this.#metadata.movesRows()) this.#placeAgain();
      this.#metadata.finish();
      if (this.report.problems.length === 0) this.#layout.finish(this.report.lines);
    }
    compactKeys(this.#table);
    this.report.bytes = this.#pageBytes();
  }

  /**
   * Places all rows of the page again, now that all comment lines are known; a metric left without
   * rows counts as not seen.
   */
  #placeAgain(): void {
    const table = this.#table;
    for (const metric of table.metrics) if (metric.seenPage === table.page) metric.seenPage = 0;
    for (let row = 0; row < table.count; row++) {
      const role = table.role[row];
      if (table.seen[row] !== table.page || role === ROLE.synthetic) continue;
      const place = this.#metadata.placeOf(keyOfRow(table, row).name);
      const before = table.metric[row]!;
      const isRole = place.role === role || (place.role === ROLE.scalar && role === ROLE.metadata);
      if (place.metric !== before || !isRole) {
        table.metric[row] = place.metric;
        table.role[row] = place.role;
        table.point[row] = NO_ROW;
        const isWaiting = table.block[row] === NO_ROW || table.filedBefore.has(row);
        if (!isWaiting) {
          table.filedBefore.set(row, before);
          table.fresh.push(row);
        }
      }
      this.#notePlace(row);
    }
  }
}

// Tables for terminals: columns of plain text, with numbers aligned to the right, cut to the width of the terminal. The
// column that tells the rows apart is never cut: half an id cannot be copied.
// Cells may come from the service or the back end, so control characters never reach the terminal.

import type { Config } from '../config/config.ts';
import { formatAge } from '../lib/format.ts';
import { printableLine } from '../lib/printable.ts';
import { paint } from './output.ts';
import type { TextSink } from './verb.ts';

export type Rows = readonly (readonly string[])[];

interface Column {
  readonly isRight: boolean;
  readonly widthMin: number;
  width: number;
}

/** The column that tells the rows apart, unless the caller names another; -1 for none. */
const KEY_COLUMN = 0;

const GAP = '  ';
/** Texts are not cut shorter than this: a line that is still too long wraps. */
const CUT_WIDTH_MIN = 8;

/** A number, with or without a unit: `1,234`, `-0.5`, `98%`, `1.5 KiB`, `2 min 5 s`. */
const NUMBER = /^[-+]?\d[\d,.]*(?:%| [A-Za-z]{1,3}(?: \d+ [a-z]{1,3})?)?$/;
/** The cells without a number that a column of numbers may have. */
const NO_NUMBER: ReadonlySet<string> = new Set(['', '-']);

const WIDE =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uFF01-\uFF60]/u;
const PRINTABLE_ASCII = /^[ -~]*$/;
const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The rows as lines, without a line break at the end. The first row is the head. A line takes at most `width` columns of
 * the terminal, as far as its texts can be shortened.
 */
export function renderTable(
  rows: Rows,
  width: number = Infinity,
  key: number = KEY_COLUMN,
): string {
  const cells = rows.map(row => row.map(printableLine));
  const columns = measure(cells);
  const others = columns.filter((_, i) => i !== key);
  shrink(others, width, columns);
  return cells
    .map(row => columns.map((column, i) => setCell(row[i] ?? '', column)).join(GAP))
    .map(line => line.trimEnd())
    .join('\n');
}

/** The rows as a table in Markdown. The first row is the head. */
export function markdownTable(rows: Rows): string {
  const [head = [], ...body] = rows.map(row => `| ${row.map(escapeCell).join(' | ')} |`);
  return [head, `|${'---|'.repeat(rows[0]?.length ?? 0)}`, ...body].join('\n');
}

/** The text of a cell. Names come from the page and from the configuration: they must not end a cell or become markup. */
export function escapeCell(text: string): string {
  return printableLine(text).replaceAll(/[\\`*[\]<>|~&@]/g, '\\$&');
}

/** Returns a function that adds the name of a service to its id: `dbpgf12345678 (orders)`, unless both are the same. */
export function labelsOf({
  services,
  elsewhere,
}: Pick<Config, 'services' | 'elsewhere'>): (id: string) => string {
  const names = new Map([...services, ...elsewhere].map(({ id, name }) => [id, name]));
  return id => {
    const name = names.get(id) ?? id;
    return name === id ? id : `${id} (${name})`;
  };
}

/** The head of a column for a field of the service, in words: `serverDataSourceId` is `SERVER DATA SOURCE ID`. */
export function headOf(field: string): string {
  const words = field.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, ' ').replaceAll(/[_\s]+/g, ' ');
  return words.trim().toUpperCase();
}

export function ageOf(atMs: number | null, nowMs: number): string {
  return atMs === null ? '-' : formatAge(nowMs - atMs);
}

export function yesOrNo(is: boolean): string {
  return is ? 'yes' : 'no';
}

/** Prints the rows below their head, or `empty` if there are none. Cuts them to the terminal, unless `isWhole`. */
export function printTable(
  out: TextSink,
  [head = [], ...rows]: Rows,
  options: { readonly empty?: string; readonly isWhole?: boolean; readonly key?: number } = {},
): void {
  const { empty, isWhole = false, key } = options;
  if (rows.length === 0 && empty !== undefined) return out.line(empty);
  const width = isWhole ? Infinity : out.columns;
  const [first = '', ...lines] = renderTable([head, ...rows], width, key).split('\n');
  out.line([paint(out, 'bold', first), ...lines].join('\n'));
}

/** Columns that a text takes on a terminal. */
export function textWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

function measure(rows: Rows): readonly Column[] {
  const count = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const [head = [], ...body] = rows;
  return Array.from({ length: count }, (_, i) => {
    const texts = body.map(row => row[i] ?? '');
    const headWidth = textWidth(head[i] ?? '');
    return {
      isRight: areNumbers(texts),
      widthMin: Math.max(headWidth, CUT_WIDTH_MIN),
      width: texts.reduce((widest, text) => Math.max(widest, textWidth(text)), headWidth),
    };
  });
}

function areNumbers(texts: readonly string[]): boolean {
  const filled = texts.filter(text => !NO_NUMBER.has(text));
  return filled.length > 0 && filled.every(text => NUMBER.test(text));
}

/** Narrows the widest text column of `some`, step by step, until the line fits or no text can be shortened. */
function shrink(some: readonly Column[], widthMax: number, all: readonly Column[]): void {
  const gaps = GAP.length * Math.max(0, all.length - 1);
  let excess = all.reduce((sum, { width }) => sum + width, gaps) - widthMax;
  for (; excess > 0; excess--) {
    const widest = some
      .filter(column => !column.isRight && column.width > column.widthMin)
      .reduce<Column | null>((a, b) => (a === null || b.width > a.width ? b : a), null);
    if (widest === null) return;
    widest.width--;
  }
}

function setCell(text: string, { width, isRight }: Column): string {
  const cut = cutText(text, width);
  const blanks = ' '.repeat(Math.max(0, width - textWidth(cut)));
  return isRight ? blanks + cut : cut + blanks;
}

function cutText(text: string, widthMax: number): string {
  if (textWidth(text) <= widthMax) return text;
  let cut = '';
  let width = 1;
  for (const { segment } of GRAPHEMES.segment(text)) {
    width += textWidth(segment);
    if (width > widthMax) break;
    cut += segment;
  }
  return `${cut}…`;
}

// Redaction removes every literal of a statement, wherever the text is cut (beginning, middle or end): in the slow query
// log, the audit log, dumps of the error log, and lines that do not parse. The literals contain marked words and numbers,
// quoted in every way that a session's settings allow. FUZZ_INPUTS is the number of statements; FUZZ_SEED repeats a run.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MARK, type ParsedRecord } from '../../src/logs/record.ts';
import { type ReadingOptions, readLog, SQL_CHARACTERS, SQL_NAMES } from '../support/log-reading.ts';
import { INPUTS, parametersFor } from './parameters.ts';

const PARAMETERS = parametersFor(INPUTS);

/** Marks of literals; neither occurs in a name, a header or a return code. */
const TOKEN = /Z|907/;
const WORD = 'ZZ';
const NUMBER = '907907';

const SEQUENCES = ['/*', '*/', '-- ', "''", '\\n', ';\n', "', '", '", "', '` `', 'Z', 'Z', 'Z'];
const character = fc.constantFrom(')', ...SQL_CHARACTERS, ...SEQUENCES);
const text = fc.array(character, { maxLength: 8 }).map(parts => parts.join(''));
const value = fc.tuple(text, text).map(([before, behind]) => before + WORD + behind);

const NUMBERS = [
  NUMBER,
  `-${NUMBER}`,
  `${NUMBER}.907`,
  `0x${NUMBER}`,
  `${NUMBER}e907`,
  `.${NUMBER}`,
];
const number = fc.constantFrom(...NUMBERS, `x'${NUMBER}'`, `b'${NUMBER}'`, `N'${NUMBER}'`);
/** A string literal in a session in which a backslash escapes. */
const escaping = fc
  .tuple(value, fc.constantFrom("'", '"'), fc.boolean())
  .map(([string, quote, doubles]) => {
    const backslashes = string.replaceAll('\\', '\\\\');
    const inner = doubles ? quote + quote : `\\${quote}`;
    return quote + backslashes.replaceAll(quote, inner) + quote;
  });
/** A string literal in a session in which a backslash does not escape. */
const doubling = fc
  .tuple(value, fc.constantFrom("'", '"'))
  .map(([string, quote]) => quote + string.replaceAll(quote, quote + quote) + quote);
const comment = fc.oneof(
  value.map(string => `/* ${string.replaceAll('*', '').replace('!', '')} */`),
  value.map(string => `-- ${string.replaceAll('\n', '')}\n`),
  value.map(string => `# ${string.replaceAll('\n', '')}\n`),
);
const OPERATORS = [',', '(', ')', '=', ' and ', '<', '+', ' - ', '\n', '.', ';', ';\n'];

function statementOf(string: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const code = fc.constantFrom('@a', ...SQL_NAMES, ...OPERATORS);
  const parts = fc.array(fc.oneof(code, code, string, string, number, comment), { maxLength: 16 });
  // Blanks separate the tokens: no two literals touch in SQL.
  return parts.map(tokens => `select ${tokens.join(' ')}`);
}
const statement = fc.oneof(statementOf(escaping), statementOf(doubling));
const places = fc.tuple(fc.nat(), fc.nat());

const HEADER = [
  '# User@Host: app[app] @ web-1 [10.0.0.9]',
  '# Thread_id: 75  Schema: shop  QC_hit: No',
  '# Query_time: 2.000215  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210',
  'SET timestamp=1772615525;',
].join('\n');
const HEADER_LINES = HEADER.split('\n').length;
const AUDIT = '20260304 09:12:07,db-0,app,10.0.0.9,75,311,QUERY,shop,';

function expectNone(records: readonly ParsedRecord[]): void {
  const sent = records.map(({ body, attributes }) => JSON.stringify([body, attributes]));
  expect(sent.join('\n')).not.toMatch(TOKEN);
}

/** Escaped as the server does it. */
function escaped(sql: string): string {
  return `'${sql.replace(/[\\']/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`;
}

test(`of ${INPUTS} statements of the slow query log, whole and cut`, () => {
  fc.assert(
    fc.property(statement, places, (sql, [first, second]) => {
      const [from, to] = orderedPlaces(sql, first, second);
      const whole = `${HEADER}\n${sql};`;
      expectNone(readLog('slow-query-log', `${whole}\n${HEADER}\nselect 1;`));
      expectNone(readLog('slow-query-log', whole));
      // The end is missing: the file ends there, or the record or a line exceeds its limit.
      expectNone(readLog('slow-query-log', `${HEADER}\n${sql.slice(0, to)}`));
      const recordBytesMax = Buffer.byteLength(`${HEADER}\n${sql.slice(0, to)}`);
      expectNone(readLog('slow-query-log', `${whole}\n${HEADER}\nselect 1;`, { recordBytesMax }));
      // The middle is missing: the splitter cuts the end of a line that exceeds its limit.
      const lineEnd = sql.indexOf('\n', to);
      const cut = `${HEADER}\n${sql.slice(0, to)}${lineEnd < 0 ? '' : sql.slice(lineEnd)};\n${HEADER}\nselect 1;`;
      const cutLine = HEADER_LINES + sql.slice(0, to).split('\n').length - 1;
      const line = (at: number) => (at === cutLine ? { marks: MARK.lineCut } : {});
      expectNone(readLog('slow-query-log', cut, { line }));
      // The beginning is missing: the file begins there, or the rest was flushed.
      expectNone(readLog('slow-query-log', sql.slice(from, to)));
      expectNone(readLog('slow-query-log', `${sql.slice(from)};\n${HEADER}\nselect 1;`));
      const lines = sql.split('\n').length;
      const flushedAt = [HEADER_LINES + (first % lines), HEADER_LINES + (second % lines)];
      expectNone(readLog('slow-query-log', `${whole}\n${HEADER}\nselect 1;`, { flushedAt }));
    }),
    PARAMETERS,
  );
});

test(`of ${INPUTS} statements of the audit log, whole and cut, escaped and not`, () => {
  fc.assert(
    fc.property(statement, places, (sql, [first, second]) => {
      const unescaped = `${AUDIT}${escaped(sql).replaceAll("\\'", "'")},0`;
      // The server's own limit cuts the end of a statement, and closes its quote.
      const short = `${AUDIT}${escaped(sql.slice(0, first % (sql.length + 1)))},0`;
      for (const line of [`${AUDIT}${escaped(sql)},0`, short, unescaped]) {
        const [from, to] = orderedPlaces(line, first, second);
        expectNone(readLog('audit-log', line));
        expectNone(readLog('audit-log', line.slice(0, to)));
        expectNone(readLog('audit-log', line.slice(from)));
        expectNone(readLog('audit-log', line.slice(from, to)));
      }
    }),
    PARAMETERS,
  );
});

const NOTE = '2026-03-04  9:06:10 41 [Note] x';
const DUMP = '2026-03-04  9:06:10 41 [ERROR] Query (0x1): ';

test(`of ${INPUTS} statements in dumps of the error log, whole and cut`, () => {
  fc.assert(
    fc.property(statement, places, (sql, [first, second]) => {
      const to = second % (sql.length + 1);
      const whole = `${DUMP}${sql}\n${NOTE}`;
      expectNone(readLog('error-log', whole));
      expectNone(readLog('error-log', `${DUMP}${sql.slice(0, to)}`));
      // The beginning is missing: the file begins with a later line, or it was flushed.
      const lines = sql.split('\n');
      const line = 1 + (first % lines.length);
      const later = lines.slice(line).join('\n');
      expectNoneOfRest(later, `${later}\n${NOTE}`);
      expectNoneOfRest(later, whole, { flushedAt: [line] });
      // The middle is missing: the splitter cuts the end of a line that exceeds its limit.
      const lineEnd = sql.indexOf('\n', to);
      const rest = lineEnd < 0 ? '' : sql.slice(lineEnd);
      const cutLine = sql.slice(0, to).split('\n').length - 1;
      const cut = (at: number) => (at === cutLine ? { marks: MARK.lineCut } : {});
      expectNoneOfRest(rest, `${DUMP}${sql.slice(0, to)}${rest}\n${NOTE}`, { line: cut });
    }),
    PARAMETERS,
  );
});

/** If the rest has no quote, the words of a string cannot be distinguished from others: only numbers are checked. */
function expectNoneOfRest(rest: string, log: string, options: ReadingOptions = {}): void {
  const records = readLog('error-log', log, options);
  if (/['"]|\*\//.test(rest)) expectNone(records);
  else expect(records.map(({ body }) => body).join('\n')).not.toMatch(/907/);
}

function orderedPlaces(sql: string, first: number, second: number): readonly [number, number] {
  const [one, other] = [first % (sql.length + 1), second % (sql.length + 1)];
  return one < other ? [one, other] : [other, one];
}

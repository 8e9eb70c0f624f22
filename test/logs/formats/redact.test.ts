// No literal survives, in any form, and everything else does.

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redactSql, redactSqlFrom, redactUnknown } from '../../../src/logs/formats/redact.ts';
import { SQL_CHARACTERS, SQL_NAMES } from '../../support/log-reading.ts';

function check(sql: string, want: string): void {
  expect(redactSql(sql)).toBe(want);
}

describe('redactSql', () => {
  test('redacts strings with both quotes and both kinds of escape', () => {
    check(`select 'a', "b", '', ""`, 'select ?, ?, ?, ?');
    check(`select 'it''s', "say ""x"""`, 'select ?, ?');
    check(String.raw`select 'it\'s', "say \"x\"", 'c:\\', 5`, 'select ?, ?, ?, ?');
    check("select 'two\nlines'", 'select ?');
    check("select 'a' 'b'", 'select ? ?');
  });

  test('redacts the prefix of a string', () => {
    check(
      "select x'0f', X'0F', b'01', N'name', _utf8mb4'x', _binary 'y'",
      'select ?, ?, ?, ?, ?, _binary ?',
    );
    check("select date'2026-01-01', timestamp '2026-01-01 10:00'", 'select date?, timestamp ?');
    check("select * from t where a like'x%'", 'select * from t where a like?');
  });

  test('redacts numbers with their signs', () => {
    check(
      'select 1, -2, +3, 4.5, .5, 6., 7e8, 7.5e-8, 0x1F, 0b01',
      'select ?, ?, +?, ?, ?, ?, ?, ?, ?, ?',
    );
    check('where a=-5 and b>-.5 and c in (-1)', 'where a=? and b>? and c in (?)');
    check('limit 10,20', 'limit ?,?');
    check('where a=907e1and b=907E-1or c', 'where a=?and b=?or c');
    for (const digit of '0123456789abcdefABCDEF') check(`where a = 0x${digit}1`, 'where a = ?');
  });

  test('keeps a minus that subtracts, and one that only looks like a comment', () => {
    check('a-1', 'a-?');
    check('a - 1', 'a - ?');
    check('f(x)-1', 'f(x)-?');
    check('5--3', '?-?');
  });

  test('keeps names, with digits and with backticks', () => {
    check(
      "select t1.c2, `a 1`, `it's`, x$5 from 2024_orders",
      "select t1.c2, `a 1`, `it's`, x$5 from 2024_orders",
    );
    check('select `a``b`, t.2col, größe1', 'select `a``b`, t.2col, größe1');
    check('select @a, @@global.x1, :p1, ?, $1', 'select @a, @@global.x1, :p1, ?, $1');
  });

  test('redacts comments', () => {
    check('select 1 -- secret\nfrom t', 'select ? -- ?\nfrom t');
    check('select 1 # secret\nfrom t', 'select ? # ?\nfrom t');
    check("select /* it's secret */ a from t --", 'select /* ? */ a from t -- ?');
    check('select /*+ MAX_EXECUTION_TIME(1000) */ a', 'select /* ? */ a');
  });

  test('reads a comment that the engine executes', () => {
    check(
      "select /*!40001 SQL_NO_CACHE */ /*M!100100 'x' */ a",
      'select /*!40001 SQL_NO_CACHE */ /*M!100100 ? */ a',
    );
  });

  test('merges the literals of a list after IN, and of no other list', () => {
    check("where a in (1, 'b',-3 ,0x4)", 'where a in (?)');
    check('where a IN(1,2) or b not in ( 3 )', 'where a IN(?) or b not in ( ? )');
    check('where a in (1, x, 2, 3)', 'where a in (?, x, ?, ?)');
    check('where (a,b) in ((1,2),(3,4))', 'where (a,b) in ((?,?),(?,?))');
    check('insert into t values (1,2),(3,4)', 'insert into t values (?,?),(?,?)');
    check('select join (1,2)', 'select join (?,?)');
  });

  test('redacts the rest after something unclosed', () => {
    check("select 'abc", 'select ?');
    check('select 1 /* abc', 'select ? /* ?');
    check("select `abc 'x', 5", 'select `abc ?, ?');
  });

  test('redacts everything from a string that reads differently if a backslash does not escape', () => {
    check(String.raw`select a, 'C:\', 'secret', 'x'`, 'select a, ?');
    check(String.raw`select a, 'C:\', ' secret'`, 'select a, ?');
    check(String.raw`select a, 'C:\', 'secret', 'D:\'`, 'select a, ?');
    check(
      String.raw`select 'it\'s', name, 'b' from t where a=5`,
      'select ?, name, ? from t where a=?',
    );
  });

  test('redacts everything from a string that ends elsewhere in another valid reading', () => {
    check(String.raw`select 'C:\' -- ' SEKRET`, 'select ?');
    check(String.raw`select a, "C:\" /* " SEKRET */`, 'select a, ?');
  });

  test('redacts everything from where the text cannot be SQL', () => {
    check('select /* a /* b */ SEKRET */ 1', 'select ?');
    check(String.raw`select 'it\'s' /* a /* b */ SEKRET */ 1`, 'select ?');
    check(String.raw`select a, \SEKRET, 'x'`, 'select a, ?');
  });

  test('redacts everything from a string with a missing quote', () => {
    check("insert into t values ('O'Brien', 'secret')", 'insert into t values (?');
    check("where a='x'and b='y'and c=1", 'where a=?and b=?and c=?');
  });
});

describe('redactSqlFrom', () => {
  test('continues inside an open string or comment, and reports the open one at the end', () => {
    const from = (...args: Parameters<typeof redactSqlFrom>): unknown[] => {
      const { text, end } = redactSqlFrom(...args);
      return [text, end];
    };
    expect(from('code', "select 'a")).toEqual(['select ?', "'"]);
    expect(from("'", "b', 5")).toEqual(['?, ?', 'code']);
    expect(from("'", 'all of it')).toEqual(['?', "'"]);
    expect(from('"', `it's", 5`)).toEqual(['?, ?', 'code']);
    expect(from('/*', 'secret */ select 1')).toEqual(['/* ? */ select ?', 'code']);
    expect(from('`', 'c`, 5')).toEqual(['c`, ?', 'code']);
    expect(from('code', 'select `a')).toEqual(['select `a', '`']);
  });
});

test('redactUnknown redacts the whole of a text with an unknown beginning', () => {
  expect(redactUnknown("SEKRET-a', 'x', 'SEKRET-b")).toBe('?');
  expect(redactUnknown("and a = 'x' and b = 5")).toBe('?');
  expect(redactUnknown('')).toBe('');
});

/** A text that no name or keyword of the statement can contain. */
const SECRET = 'ZQ';
const text = fc.string({ unit: fc.constantFrom(...SQL_CHARACTERS), maxLength: 12 });
const secretText = fc.tuple(text, text).map(([before, after]) => `${before}${SECRET}${after}`);

const backslashString = fc
  .tuple(secretText, fc.constantFrom("'", '"'))
  .map(([value, quote]) => quote + value.replace(/[\\'"]/g, String.raw`\$&`) + quote);
const doublingString = (value: string, quote: string): string =>
  quote + value.replaceAll('\\', '\\\\').replaceAll(quote, quote + quote) + quote;
/** A string in a session in which a backslash does not escape. */
const plainString = secretText.map(value => `'${value.replaceAll("'", "''")}'`);
const number = fc.constantFrom(
  ..."9077 -9077 9077.5 0x9077 9077e5 .9077 x'9077' b'9077' N'9077'".split(' '),
);
const comment = fc.oneof(
  secretText.map(value => `/* ${value.replaceAll('*', '').replace('!', '')} */`),
  secretText.map(value => `-- ${value.replaceAll('\n', '')}\n`),
  secretText.map(value => `# ${value.replaceAll('\n', '')}\n`),
);
const name = fc.constantFrom('x$5', ...SQL_NAMES);
const operator = fc.constantFrom(',', '(', ')', '=', ' and ', '<', '+', ' - ', '\n', '.', ';');
const literal = fc.oneof(
  backslashString,
  fc
    .tuple(secretText, fc.constantFrom("'", '"'))
    .map(([value, quote]) => doublingString(value, quote)),
  number,
);

/** Separates tokens by blanks, because no two literals touch in SQL. */
function statementOf(...tokens: fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc
    .array(fc.oneof(name, operator, ...tokens), { maxLength: 30 })
    .map(parts => parts.join(' '));
}

describe('any statement', () => {
  test('loses every literal and comment, whole or cut off, whether a backslash escapes or not', () => {
    const statement = fc.oneof(statementOf(literal, comment), statementOf(plainString, number));
    fc.assert(
      fc.property(statement, fc.nat(), (sql, cut) => {
        expect(redactSql(sql)).not.toMatch(/ZQ|9077/);
        expect(redactSql(sql.slice(0, cut % (sql.length + 1)), true)).not.toMatch(/ZQ|9077/);
      }),
      { numRuns: 1000 },
    );
  });

  test('keeps its names, in their order', () => {
    // If one of two readings misses a quote, both are possible, and then the names are removed as well.
    const plainName = name.filter(word => word !== "`it's`");
    const plainLiteral = literal.filter(value => !/[#/`-]/.test(value));
    const names = fc.array(fc.tuple(plainName, plainLiteral), { maxLength: 10 });
    fc.assert(
      fc.property(names, pairs => {
        const sql = pairs.map(([word, value]) => `${word} = ${value}`).join(' , ');
        const want = pairs.map(([word]) => `${word} = ?`).join(' , ');
        expect(redactSql(sql)).toBe(want);
      }),
      { numRuns: 300 },
    );
  });

  test('reports the open context at each cut', () => {
    fc.assert(
      fc.property(statementOf(literal), fc.nat(), (sql, cut) => {
        const at = cut % (sql.length + 1);
        const head = redactSqlFrom('code', sql.slice(0, at));
        fc.pre(head.end === 'code' || sql.charAt(at) !== head.end);
        fc.pre(!head.isMisread && !sql.includes("`it's`") && !endsWithinToken(sql, at));
        const tail = redactSqlFrom(head.end, sql.slice(at));
        expect(tail.end).toBe(redactSqlFrom('code', sql).end);
      }),
      { numRuns: 500 },
    );
  });

  test('with any characters is read without an error, and grows in its comments alone', () => {
    const ofSql = fc.constantFrom(...SQL_CHARACTERS);
    const unit = fc.oneof(ofSql, fc.string({ unit: 'grapheme', maxLength: 1 }));
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 300 }), characters => {
        const sql = characters.join('');
        // An empty comment gets a placeholder and up to two blanks.
        const comments = sql.match(/#|--|\/\*/g) ?? [];
        expect(redactSql(sql).length).toBeLessThanOrEqual(sql.length + 3 * comments.length);
      }),
      { numRuns: 500 },
    );
  });
});

/** The end of a line never cuts after a backslash or within a doubled quote. */
function endsWithinToken(sql: string, at: number): boolean {
  return /[\\'"]$/.test(sql.slice(0, at)) || /^['"]/.test(sql.slice(at));
}

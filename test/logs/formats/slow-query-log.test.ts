// Where one statement of the slow query log ends and the next begins, trap by trap; and the fields of each.

import { describe, expect, test } from 'vitest';
import { createLineReader } from '../../../src/logs/formats/reader.ts';
import { MARK } from '../../../src/logs/record.ts';
import {
  attribute,
  expectRecords,
  rawLine,
  type ReadingOptions,
  readLog,
  rejoin,
  TEST_OPTIONS,
} from '../../support/log-reading.ts';

const CLOCK = 1772615525;

const USER = '# User@Host: app[app] @ web-1 [10.0.0.9]';

function header(user = 'app'): string {
  return [
    USER.replace('app[app]', `${user}[${user}]`),
    '# Thread_id: 75  Schema: shop  QC_hit: No',
    '# Query_time: 2.000215  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210',
    '# Rows_affected: 0  Bytes_sent: 65',
    `SET timestamp=${CLOCK};`,
  ].join('\n');
}

function record(statement: string): string {
  return `${header()}\n${statement};`;
}

const own = (key: string): string => `prom2otlp.slow_query.${key}`;

const TIME = '# Time: 260304  9:12:07';
const BANNER = [
  '/usr/sbin/engined, Version: 11.4.5-log (any build). started with:',
  'Tcp port: 3306  Unix socket: /run/engine.sock',
  'Time\t\t    Id Command\tArgument',
].join('\n');

const check = (records: readonly string[], options: ReadingOptions = {}): void =>
  expectRecords('slow-query-log', records, options);

const NEXT = record('select 2');

test.each<[string, string[]]>([
  ['where the next header begins, with or without a time', [NEXT, NEXT, `${TIME}\n${NEXT}`, NEXT]],
  ['after a statement of many lines', [record('select *\n\n  from t\n where a = 5'), NEXT]],
  [
    'after a procedure with its own statements',
    [record('create procedure p()\nbegin\n  select 1;\n  select 2;\nend'), NEXT],
  ],
  ['at the banner of a server that starts again', [BANNER, NEXT, BANNER, BANNER, NEXT]],
  ['after a command that is not a statement', [record('# administrator command: Quit'), NEXT]],
  ['where its header was truncated', [`${USER}\n# Thread_id: 75`, NEXT]],
  ['where only its time was written', [TIME, `${TIME}\n${NEXT}`]],
])('a record ends %s', (_, records) => check(records));

test('a record ends after a line that was cut off, whose semicolon is lost', () => {
  const first = record('select 1').slice(0, -1);
  const lines = first.split('\n').length;
  const line = (number: number) => (number === lines - 1 ? { marks: MARK.lineCut } : {});
  check([first, NEXT], { line });
});

const FAKE = header('fake');

const [BANNER_FIRST = '', BANNER_SECOND = ''] = BANNER.split('\n');
test.each<[string, string]>([
  ['if no semicolon precedes it', `select 1,\n${FAKE.split('\n').slice(0, 4).join('\n')}\n2`],
  ['if no semicolon precedes it within a string', `select 'a\n${TIME}\n${FAKE}\nselect 5;'`],
  ['if it has only a time', `begin\nselect 1;\n${TIME}\nselect 2;\nend`],
  ['if it has only a user', `begin\nselect 1;\n${USER}\nselect 2;\nend`],
  ['if it ends after the user', `begin\nselect 1;\n${TIME}\n${USER}\n\nselect 2;\nend`],
  [
    'if it is longer than names can be',
    `select 1;\n# User@Host: ${'x'.repeat(3000)}[x] @ y []\n# Thread_id: 5\nselect 2`,
  ],
  ['as is the first line of a banner', `select 1;\n${BANNER_FIRST}\nselect 2`],
  ['as are two lines of a banner', `select 1;\n${BANNER_FIRST}\n${BANNER_SECOND}\nselect 2`],
  ['as is one in a string', `select 'x${BANNER_FIRST}\n'`],
  ['as is one that leaves the line unchanged', `select 'x' ${BANNER_FIRST}\nselect 2`],
])('a header is text %s', (_, statement) => check([record(statement), NEXT]));

describe('a line of a header in a statement swallows no record', () => {
  const LINES = [
    '# Time: x',
    TIME,
    '# User@Host: x',
    '# User@Host: x[x] @ y []',
    '# Thread_id: 75',
    '# Query_time: 2.0',
    'SET timestamp=1',
    'use x',
    ...BANNER.split('\n'),
  ];

  test('when it is the last of the statement', () => {
    for (const line of LINES) {
      for (const next of [NEXT, `${TIME}\n${NEXT}`]) {
        check([record(`select 1;\n${line}`), next, NEXT]);
        check([record(`select '\n;\n${line}`), next, NEXT]);
        check([record(`select /*\n;\n${line}`), next, NEXT]);
      }
    }
  });

  test('when several follow each other', () => {
    for (const first of LINES)
      for (const second of LINES) {
        if (first.includes('@') && /Thread_id|Query_time/.test(second)) continue;
        check([record(`select 'a;\n${first};\n${second}`), NEXT, NEXT]);
        check([record(`select 'a;\n${first}\n${second}`), `${TIME}\n${NEXT}`, NEXT]);
      }
  });

  test('if the name of a user or a database contains it', () => {
    const user = (name: string) => NEXT.replace('app[app]', `${name}[${name}]`);
    const odd = [
      'a;\nb',
      'a\n;\n',
      ';\n;\n;',
      'a;\nSET timestamp=1;\n',
      'a[b] @ c\nd',
      '\n'.repeat(40),
    ];
    for (const name of odd) check([record('select 1'), user(name), NEXT]);
    check([record('select 1'), NEXT.replace('shop', 'x;\ny'), NEXT]);
    const [named] = readLog('slow-query-log', user('a;\nb'));
    expect(attribute(named, 'user.name')).toBe('a;\nb');
    expect(attribute(named, own('query_time_s'))).toBe(2.000215);
    expect(attribute(named, 'db.query.text')).toBe('select ?');
  });
});

describe('a whole header begins a record, in doubt after an open statement', () => {
  const OUTER = header();
  const marksOf = (text: string, options: ReadingOptions = {}): number[] =>
    readLog('slow-query-log', text, options).map(({ marks }) => marks & MARK.doubtful);
  const doubt = MARK.doubtful;

  test('in a string or comment of the statement before it; a name is no literal', () => {
    const cut = (before: string, behind: string): string[] => [
      `${OUTER}\n${before};`,
      `${FAKE}\n${behind};`,
    ];
    for (const [before, behind] of [
      ["select 'a", "'"],
      ['select "it\'s', '"'],
      ["select /* it's", '*/ 1'],
      ['select `a', '` from t'],
      ["select 'it''s", "'"],
      [String.raw`select 'a\\', '`, "'"],
    ] as const) {
      const [first, second] = cut(before, behind);
      check([first ?? '', second ?? '', NEXT]);
      const isName = before.includes('`a');
      expect(marksOf([first, second].join('\n'))).toEqual([0, isName ? 0 : doubt]);
    }
  });

  test('and no other quote hides the next record', () => {
    const hidden = header('evil');
    const mode = String.raw`select sleep(2), 'x\'`;
    check([record(mode), `${hidden}\nselect evil from secrets -- ';`, NEXT]);
    check([record("select 'x"), `${hidden}\nselect "it's" from secrets;`, NEXT, NEXT]);
  });

  const SENT = FAKE.replace(/(?<=Host: ).*/, '?').replace('shop', '?');

  test('and only numbers and flags of the header are sent', () => {
    const fake = FAKE.replace(
      'SET',
      '# SEKRET: a\n# SEKRET: 5\n# explain: SEKRET\n# Odd_key: SEKRET\nuse SEKRET;\nSET',
    );
    const text = `${OUTER}\nselect 'a;\n${fake}\nSEKRET-a', 'x', 'SEKRET-b', 5;\n${NEXT}`;
    const [, second] = readLog('slow-query-log', text);
    expect(second?.body).toBe(SENT.replace('SET', '?\n?\n?\n?\n?\nSET').concat('\n?'));
    expect(JSON.stringify(second?.attributes)).not.toContain('SEKRET');
    for (const key of ['user.name', 'client.address', 'db.namespace', 'db.query.text'])
      expect(attribute(second, key)).toBe('?');
    expect(attribute(second, own('query_time_s'))).toBe(2.000215);
    expect(attribute(second, 'thread.id')).toBe(75);
    expect(readLog('slow-query-log', text, { isRedacting: false })[1]?.body).toContain('SEKRET-b');
  });

  test('until one ends closed both as a record and as text of that statement', () => {
    const open = record("insert into t values ('x");
    const quoted = record("select 1 where a = 'b'");
    const closing = record("select 1 /* it's */");
    expect(marksOf([open, NEXT, quoted, NEXT].join('\n'))).toEqual([0, doubt, doubt, doubt]);
    expect(marksOf([open, NEXT, closing, NEXT].join('\n'))).toEqual([0, doubt, doubt, 0]);
    const comment = record('select 1 /* x');
    const end = record('select 1 /* */');
    expect(marksOf([comment, NEXT, end, NEXT].join('\n'))).toEqual([0, doubt, doubt, 0]);
    expect(marksOf([closing, quoted, NEXT].join('\n'))).toEqual([0, 0, 0]);
    const everyLine = Array.from({ length: 250 }, (_, number) => number);
    const text = [open, NEXT, closing, NEXT].join('\n');
    expect(marksOf(text, { resumedAt: everyLine })).toEqual(marksOf(text));
  });

  test('not after a statement over the limit that is closed beyond it', () => {
    const long = (end: string): string =>
      record(`insert into t values ${"('it', \n'x'),\n".repeat(80)}${end}`);
    const options = { recordBytesMax: 700 };
    expect(marksOf(`${long("('y')")}\n${NEXT}`, options)).toEqual([0, 0]);
    expect(marksOf(`${long("('y")}\n${NEXT}`, options)).toEqual([0, doubt]);
    const everyLine = Array.from({ length: 250 }, (_, number) => number);
    const resumed = { ...options, resumedAt: everyLine };
    expect(marksOf(`${long("('y")}\n${NEXT}`, resumed)).toEqual([0, doubt]);
  });

  test('and a banner there is not sent', () => {
    const banner = BANNER.replace('11.4.5-log', 'SEKRET');
    const sent = readLog('slow-query-log', `${OUTER}\nselect 'a\n${banner}\n${NEXT}`);
    expect(sent.map(({ body }) => body)).toEqual([`${OUTER}\nselect ?`, '?', expect.any(String)]);
  });

  test('also if the previous record was flushed', () => {
    const text = `${OUTER}\nselect 'a;\n${FAKE}\nSEKRET', 'x', 'b';\n${NEXT}`;
    const records = readLog('slow-query-log', text, { flushedAt: [6] });
    expect(records.map(({ marks }) => marks)).toEqual([0, doubt, doubt]);
    expect(records[1]?.body).toBe(`${SENT}\n?`);
    // Flushes within the header, before it is complete.
    for (const at of [7, 8, 9, 10, 11, 12]) {
      const parts = readLog('slow-query-log', text, { flushedAt: [at] });
      expect(parts.map(({ body }) => body).join('\n')).not.toContain('SEKRET');
    }
  });
});

const OPEN = record("select 'it");
test.each<[string, string[], number?]>([
  ['', [OPEN, NEXT, NEXT, NEXT]],
  [' before a time', [OPEN, `${TIME}\n${NEXT}`, NEXT]],
  [' as a comment', [record('select /* it'), NEXT, NEXT]],
  [' as a name', [record('select `it'), NEXT, NEXT]],
  [' if the log ends there', [OPEN]],
  [' if the log ends after the next', [OPEN, NEXT]],
  [' if the server started again', [OPEN, BANNER, NEXT, NEXT, BANNER]],
  [
    ' where a backslash does not escape',
    [record(String.raw`select 'C:\', 'x'`), NEXT, record(String.raw`select 'C:\', 'D:\'`), NEXT],
  ],
  [' at the limit of a record', [OPEN, record(`select '${'x'.repeat(300)}'`), NEXT], 700],
])(
  'a statement whose quote was never closed swallows no other record%s',
  (_, records, recordBytesMax = TEST_OPTIONS.recordBytesMax) => check(records, { recordBytesMax }),
);

test('a banner right after the statement that the server died in begins with its version', () => {
  const [first = '', ...rest] = BANNER.split('\n');
  const version = first.slice(first.indexOf(', Version'));
  const text = [`${header()}\nselect 'secre${first}`, ...rest, NEXT].join('\n');
  const records = readLog('slow-query-log', text);
  expect(records.map(({ raw, lineCount }) => [raw, lineCount])).toEqual([
    [`${header()}\nselect 'secre/usr/sbin/engined`, 6],
    [[version, ...rest].join('\n'), 2],
    [NEXT, 6],
  ]);
  expect(rejoin(records)).toBe(text);
  expect(records[0]?.body).toBe(`${header()}\nselect ?`);
});

test('a banner after the rest of a statement, or after unknown text, reveals nothing of it', () => {
  const text = `${header()}\nselect 'a\nsecret${BANNER}`;
  const rest = readLog('slow-query-log', text, { flushedAt: [6] });
  expect(rest.map(({ body }) => body).join('\n')).not.toContain('secret');
  const [orphan] = readLog('slow-query-log', `x secret', 5${BANNER}`);
  expect(orphan?.body).toBe('?');
});

describe('of a record it reads', () => {
  const read = (text: string, options: ReadingOptions = {}) =>
    readLog('slow-query-log', text, options)[0];

  test('time, severity, event and all fields of the header', () => {
    const slow = read(
      [
        TIME,
        '# User@Host: app[login] @ web-1 [10.0.0.9]',
        '# Thread_id: 75  Schema: shop  QC_hit: Yes',
        '# Query_time: 2.000215  Lock_time: 0.000031  Rows_sent: 1  Rows_examined: 90210',
        '# Rows_affected: 7  Bytes_sent: 65',
        '# Tmp_tables: 1  Tmp_disk_tables: 2  Tmp_table_sizes: 16384',
        '# Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No',
        '# Filesort: No  Filesort_on_disk: No  Merge_passes: 3  Priority_queue: No',
        '# Stored_routine: shop.p',
        '# Pages_accessed: 2  Pages_read_time: 0.0120  Engine_time: 0.0123',
        '#',
        '# explain: id\tselect_type\ttable',
        '#',
        `SET timestamp=${CLOCK};`,
        'SELECT * FROM orders',
        ' WHERE customer_id = 12345;',
      ].join('\n'),
    );
    expect(slow?.timeMs).toBe(CLOCK * 1000);
    expect(slow?.severityNumber).toBe(13);
    expect(slow?.eventName).toBe('prom2otlp.slow_query');
    expect(slow?.attributes).toEqual([
      ['user.name', 'login'],
      ['client.address', '10.0.0.9'],
      [own('client_host'), 'web-1'],
      ['thread.id', 75],
      ['db.namespace', 'shop'],
      [own('qc_hit'), true],
      [own('query_time_s'), 2.000215, 'double'],
      [own('lock_time_s'), 0.000031, 'double'],
      ['db.response.returned_rows', 1],
      [own('rows_examined'), 90210],
      [own('rows_affected'), 7],
      [own('bytes_sent'), 65],
      [own('tmp_tables'), 1],
      [own('tmp_disk_tables'), 2],
      [own('tmp_table_sizes'), 16384],
      [own('full_scan'), true],
      [own('full_join'), false],
      [own('tmp_table'), false],
      [own('tmp_table_on_disk'), false],
      [own('filesort'), false],
      [own('filesort_on_disk'), false],
      [own('merge_passes'), 3],
      [own('priority_queue'), false],
      [own('stored_routine'), 'shop.p'],
      [own('pages_accessed'), 2],
      [own('pages_read_time_ms'), 0.012, 'double'],
      [own('engine_time_ms'), 0.0123, 'double'],
      ['db.query.text', 'SELECT * FROM orders\n WHERE customer_id = ?'],
    ]);
  });

  const HOST = 'app[app] @ web-1 [10.0.0.9]';
  test.each([
    ['Schema: shop', 'Schema: ', 'db.namespace', undefined],
    ['Schema: shop', 'Schema: ', own('qc_hit'), false],
    [/shop([^]*)SET/, '$1use `a``b`;\nSET', 'db.namespace', 'a`b'],
    [/shop([^]*)SET/, '$1use plain;\nSET', 'db.namespace', 'plain'],
    [HOST, 'root[] @ localhost []', 'user.name', 'root'],
    [HOST, 'root[] @ localhost []', 'client.address', 'localhost'],
    [HOST, '[] @  []', 'user.name', undefined],
    [HOST, '[] @  []', 'client.address', undefined],
    ['Thread_id: 75', 'Thread_id: x', 'thread.id', 'x'],
    ['90210', '99999999999999999999', own('rows_examined'), '99999999999999999999'],
    ['2.000215', '1234567890.12345678', own('query_time_s'), Number('1234567890.12345678')],
  ])('%s as %j: %s is %s', (text, other, key, want) =>
    expect(attribute(read(record('select 1').replace(text, other)), key)).toBe(want),
  );

  test('a clock with ids before it, which are not sent, and one with a fraction', () => {
    const ids = record('insert into t values (1)').replace(
      'SET ',
      'SET last_insert_id=5,insert_id=7,',
    );
    expect(read(ids)?.timeMs).toBe(CLOCK * 1000);
    expect(read(ids)?.body).toContain(
      `\nSET last_insert_id=?,insert_id=?,timestamp=${CLOCK};\ninsert into t values (?);`,
    );
    const fine = record('select 1').replace(`=${CLOCK};`, `=${CLOCK}.123456789;`);
    expect(read(fine)?.timeMs).toBe(CLOCK * 1000 + 123);
    expect(read(fine)?.timeExtraNs).toBe(456_789);
  });

  test('the time of the header without a clock line', () => {
    const text = `${TIME}\n${record('select 1').replace(/SET .*\n/, '')}`;
    expect(read(text)?.timeMs).toBe(Date.UTC(2026, 2, 4, 9, 12, 7));
    expect(attribute(read(text), 'db.query.text')).toBe('select ?');
  });

  test('the time of the wrapper before any other', () => {
    const line = () => ({ timeMs: 5, timeExtraNs: 7, stream: 'stderr' });
    expect(read(record('select 1'), { line })).toMatchObject({
      timeMs: 5,
      timeExtraNs: 7,
      stream: 'stderr',
    });
  });

  test.each(["SEKRET'", "a\nSEKRET'", 'a\n# SEKRET: a', 'a\n# Foo: SEKRET', "a\nx'\nSEKRET"])(
    'warnings without the values that they quote: %j',
    value => {
      const warnings = `\n# Warnings\n# Warning 1292 Incorrect value: '${value}\nSET`;
      const text = record("insert into t values ('SEKRET', 5)").replace('\nSET', warnings);
      const lines = text.split('\n').length;
      for (const flushedAt of [[], [lines - 3]]) {
        const sent = readLog('slow-query-log', text, { flushedAt });
        const shown = sent.map(({ body, attributes }) => [body, attributes]);
        expect(JSON.stringify(shown)).not.toMatch('SEKRET');
      }
      expect(read(text)?.body).toContain('\n# Warnings\n# Warning 1292 ?\n');
      expect(read(text)).toMatchObject({ timeMs: CLOCK * 1000 });
      expect(attribute(read(text), 'db.query.text')).toBe('insert into t values (?, ?)');
    },
  );
});

describe('lines without a record', () => {
  test('are one record, marked, and redacted whole if their beginning is unknown', () => {
    const text = `end of a secret',\n 5);\n${NEXT}`;
    const [orphan, next] = readLog('slow-query-log', text);
    expect(orphan).toMatchObject({
      body: '?',
      raw: "end of a secret',\n 5);",
      marks: MARK.unparsed,
      severityNumber: 0,
      eventName: null,
    });
    expect(next?.raw).toBe(NEXT);
    const [plain] = readLog('slow-query-log', "and a = 'secret' or b = 5");
    expect(plain).toMatchObject({ body: '?', marks: MARK.unparsed });
  });

  test('are redacted whole after an incomplete header, too', () => {
    for (const line of [TIME, '# User@Host: a[a] @ b []', `${TIME}\n# User@Host: a[a] @ b []`]) {
      const [first] = readLog('slow-query-log', `${line}\nSEKRET-a', 'x', 'SEKRET-b';\n${NEXT}`);
      expect(first?.body).toBe(`${line}\n?`);
      expect(attribute(first, 'db.query.text')).toBe('?');
    }
  });

  test('after a flush are a continuation, of which nothing is sent', () => {
    const text = `${header()}\nselect 'a\nsecret', 5\n  from t;\n${NEXT}`;
    const records = readLog('slow-query-log', text, { flushedAt: [6] });
    expect(records.map(({ body, marks }) => [body, marks])).toEqual([
      [`${header()}\nselect ?`, 0],
      ['?', MARK.continuation],
      [record('select ?'), 0],
    ]);
    expect(records[1]).toMatchObject({ timeMs: CLOCK * 1000, eventName: null, severityNumber: 13 });
    expect(rejoin(records)).toBe(text);
    const resumed = readLog('slow-query-log', text, { flushedAt: [6], resumedAt: [6, 7] });
    expect(resumed).toEqual(records);
  });

  test('after a flush within the header are not sent either, up to the next header', () => {
    const records = readLog('slow-query-log', `${NEXT}\n${NEXT}`, { flushedAt: [2] });
    expect(records.map(({ body, marks }) => [body, marks])).toEqual([
      [header().split('\n').slice(0, 2).join('\n'), 0],
      ['?', MARK.continuation],
      [record('select ?'), 0],
    ]);
  });

  test('if the log ends within a line, its last token and the rest of the line are not sent', () => {
    const open = { line: (number: number) => (number === 5 ? { marks: MARK.lineOpen } : {}) };
    const text = `${header()}\nselect a, SEK\nRET, 'x';\n${NEXT}`;
    const records = readLog('slow-query-log', text, { ...open, flushedAt: [6] });
    expect(records.map(({ body }) => body)).toEqual([
      `${header()}\nselect a, ?`,
      '?',
      record('select ?'),
    ]);
    const resumed = { ...open, flushedAt: [6], resumedAt: [6, 7, 8] };
    expect(readLog('slow-query-log', text, resumed)).toEqual(records);
    // A line that only lacked its end, and a whole record.
    const whole = readLog('slow-query-log', `${NEXT}\n\n${NEXT}`, { ...open, flushedAt: [6] });
    expect(whole.map(({ body }) => body)).toEqual([record('select ?'), record('select ?')]);
  });

  test('a flush after a whole record makes no continuation of the next', () => {
    const lines = NEXT.split('\n').length;
    const records = readLog('slow-query-log', `${NEXT}\n${NEXT}`, { flushedAt: [lines] });
    expect(records.map(({ marks }) => marks)).toEqual([0, 0]);
  });
});

describe('a record over its limit', () => {
  const recordBytesMax = 600;

  test('is cut and marked, and the next one is found', () => {
    const long = record(`select '${'é'.repeat(400)}\n\n;\n', 1`);
    const [cut, next, ...more] = readLog('slow-query-log', `${long}\n${NEXT}`, { recordBytesMax });
    expect(Buffer.byteLength(cut?.raw ?? '')).toBeLessThanOrEqual(recordBytesMax);
    expect(long.startsWith(cut?.raw ?? 'x')).toBe(true);
    expect(cut).toMatchObject({ marks: MARK.recordCut, lineCount: 9 });
    expect(cut?.body).toBe(`${header()}\nselect ?`);
    expect(next?.raw).toBe(NEXT);
    expect(more).toEqual([]);
  });

  test('reveals nothing of the text after a line whose end is missing', () => {
    const text = `${header()}\nselect 'a\nSEKRET-a', 'x', 'SEKRET-b';\n${NEXT}`;
    const line = (number: number) => (number === 5 ? { marks: MARK.lineCut } : {});
    const [cut, next] = readLog('slow-query-log', text, { line });
    expect(cut?.body).toBe(`${header()}\nselect ?\n?`);
    expect(next).toMatchObject({ body: record('select ?'), marks: 0 });
    expect(readLog('slow-query-log', text, { line, resumedAt: [5, 6, 7] })).toEqual([cut, next]);
  });

  test('saves no more than the limit and a little', () => {
    const reader = createLineReader({ ...TEST_OPTIONS, type: 'slow-query-log', recordBytesMax });
    for (const line of record(`select '${'"\n;\n'.repeat(5000)}`).split('\n')) {
      reader.push(rawLine(line));
      expect(Buffer.byteLength(reader.save())).toBeLessThan(recordBytesMax + 2048);
    }
  });
});

// The time for any line and any log is linear in its size: everyone who writes SQL writes lines of these logs.

import { expect, test } from 'vitest';
import { EntryReader } from '../../../src/logs/entry-reader.ts';
import { createLineReader } from '../../../src/logs/formats/reader.ts';
import { redactMessage } from '../../../src/logs/formats/redact-message.ts';
import { redactSql } from '../../../src/logs/formats/redact.ts';
import { readLog, TEST_OPTIONS } from '../../support/log-reading.ts';

/** Linear code never takes this long for so little text, on any machine. */
const SLOW_MS = 2000;

function checkFast(run: () => void): void {
  const start = performance.now();
  run();
  expect(performance.now() - start).toBeLessThan(SLOW_MS);
}

const USER = '# User@Host: app[app] @ web-1 [10.0.0.9]';
const OPEN = `${USER}\n# Thread_id: 1\nSET timestamp=5;\nselect ';`;
const many = (text: string): string => text.repeat(300);
/** A record without an end, which uses the whole limit of a record. */
const LONG = `${OPEN}${'x'.repeat(300_000)}`;
const GLUED = '260304  9:05:33 server_audit: veiled.';
const SLOW = 'slow-query-log';

test.each([
  [SLOW, 'pairs of a doubtful header', `${OPEN}\n${USER}\n# Thread_id: 2\n#${'  a:'.repeat(28)}!`],
  [
    SLOW,
    'a user line without an end',
    `;\n# User@Host: ${['[', '] @ ', '['].map(many).join('')}\nx`,
  ],
  // A line costs nothing for the long text before it.
  [SLOW, 'the beginnings of headers', `${LONG}\n${';\n# User@Host: x\n'.repeat(20_000)}`],
  [SLOW, 'lines of a name', `${LONG}\n${`;\n# User@Host: ${'\nx'.repeat(9)}\n`.repeat(5000)}`],
  [SLOW, 'first lines of banners', `${LONG}\n${'x, Version:  started with:\n'.repeat(20_000)}`],
  ['error-log', 'records on one line', GLUED.repeat(60_000)],
])('%s: %s', (type, _, text) => checkFast(() => readLog(type, text)));

test('parts of lines do not cost the piece before them', () => {
  const part = (kind: 'P' | 'F'): string => `2026-03-04T09:05:33Z stderr ${kind} x\n`;
  const unwrap = { format: 'raw', pointers: { message: [], time: [], stream: [] } } as const;
  const entry = new EntryReader({
    progress: null,
    reader: createLineReader({ ...TEST_OPTIONS, type: 'error-log' }),
    unwrap: { ...unwrap, lineBytesMax: 1000 },
  });
  checkFast(() => {
    entry.feed(Buffer.from(`${part('P')}${part('F')}`.repeat(20_000)));
    while (entry.next());
  });
});

const ofLength = (pattern: string): string =>
  pattern.repeat(Math.ceil((64 * 1024) / pattern.length));

test.each("'|\"|''|\\'|'\\|`|/*|*/|--|-- |- |#\n|in (|(1,|1|a|0x|1e|a'b|x'|\\|/*!| ".split('|'))(
  'a statement of %j',
  pattern => {
    const sql = ofLength(pattern);
    checkFast(() => {
      redactSql(sql);
      redactSql(`select '${sql}`);
      redactSql(`select a in (1${sql}x 2`);
    });
  },
);

test.each([
  ', query id 1 ',
  'Query (0x1): ',
  "near '",
  "Duplicate entry '",
  "' for key ",
  'update x ',
  'insert a b ',
  'insert ',
  'select ',
  'Statement: ',
  '\nStatus: ',
  "Query: 'x\n*** ",
  '1: len 1; hex ',
  '1: len ',
  'set password ',
  'execute   immediate',
])('a message of %j', pattern => {
  const text = ofLength(pattern);
  checkFast(() => {
    redactMessage(text);
    redactMessage(`Query (0x1): select '${text}`);
  });
});

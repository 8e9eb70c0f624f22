// Where records of the proxy's log begin, and their fields.

import { expect, test } from 'vitest';
import { MARK } from '../../../src/logs/record.ts';
import { type ReadingOptions, readLog, rejoin } from '../../support/log-reading.ts';

const read = (text: string, options: ReadingOptions = {}) => readLog('proxy-log', text, options)[0];
const own = (key: string): string => `prom2otlp.proxy.${key}`;

test.each([
  [
    '2026-03-04 09:05:33   notice : [monitor] (Mon); Server [db-1] changed state: [down] -> [up]',
    { timeMs: Date.UTC(2026, 2, 4, 9, 5, 33), timeExtraNs: 0 },
    { severityNumber: 10, severityText: 'notice' },
    { module: 'monitor', object: 'Mon' },
  ],
  [
    '2026-03-04 09:05:34.123456   error  : (17) [router] (Read-Write); Lost connection to the primary',
    { timeMs: Date.UTC(2026, 2, 4, 9, 5, 34) + 123, timeExtraNs: 456_000 },
    { severityNumber: 17, severityText: 'error' },
    { session_id: 17, module: 'router', object: 'Read-Write' },
  ],
])('time, level and origin: %s', (line, time, severity, origin) => {
  const attributes = Object.entries(origin).map(([key, value]) => [own(key), value]);
  const fields = { ...time, ...severity, body: line, eventName: null, marks: 0, attributes };
  expect(read(line)).toMatchObject(fields);
});

test('each part of the origin may be absent, and a lookalike is message text', () => {
  const attributes = (message: string) =>
    read(`2026-03-04 09:05:34   info   : ${message}`)?.attributes;
  expect(attributes('started')).toEqual([]);
  expect(attributes('(17) started')).toEqual([[own('session_id'), 17]]);
  expect(attributes('(Mon); started')).toEqual([[own('object'), 'Mon']]);
  expect(attributes('started (17) [x] (y); z')).toEqual([]);
  expect(attributes('(not a session) started')).toEqual([]);
});

test('the severity of each level, padded to seven characters', () => {
  const severity = (level: string) =>
    read(`2026-03-04 09:05:34   ${level.padEnd(7)}: x`)?.severityNumber;
  const levels = ['debug', 'info', 'notice', 'warning', 'error', 'crit', 'alert', 'emerg', 'other'];
  expect(levels.map(severity)).toEqual([5, 9, 10, 13, 17, 18, 19, 21, 0]);
});

test('a line without a header belongs to the previous record, or is unparsed at the beginning', () => {
  const text = [
    'some proxy started',
    '------',
    '2026-03-04 09:05:34   alert  : fatal signal',
    '  /usr/bin/proxy(+0x12)',
    'not a level : x',
    '2026-03-04 09:05:35   notice : up',
  ].join('\n');
  const records = readLog('proxy-log', text);
  expect(records.map(({ lineCount, marks }) => [lineCount, marks])).toEqual([
    [2, MARK.unparsed],
    [3, 0],
    [1, 0],
  ]);
  expect(rejoin(records)).toBe(text);
});

test('statements lose their literals', () => {
  const line =
    "2026-03-04 09:05:34   info   : (17) [router] Autocommit: [disabled], stmt: update t set a='x' where b=5";
  expect(read(line)?.body).toBe(line.replace("'x'", '?').replace(/5$/, '?'));
  expect(read(line, { isRedacting: false })?.body).toBe(line);
  const object = "2026-03-04 09:05:34   info   : [router] (select 'x'); failed";
  expect(read(object)?.attributes).toContainEqual(['prom2otlp.proxy.object', 'select ?']);
});

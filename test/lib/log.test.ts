import { expect, test } from 'vitest';
import { createLogger, SECRET_FIELDS, type LoggerOptions } from '../../src/lib/log.ts';
import { FakeClock } from '../support/fake-clock.ts';

function capture(format: LoggerOptions['format'], level: LoggerOptions['level'] = 'info') {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { lines, logger: createLogger({ level, format, destination, clock: new FakeClock() }) };
}

test('json: one object per line, with the level as a word and the time from the clock', () => {
  const { lines, logger } = capture('json');
  logger.warn({ signal: 'metrics', points: 3 }, 'queue full');
  expect(lines).toEqual([
    '{"level":"warn","time":"2026-03-04T09:00:00.000Z","signal":"metrics","points":3,"msg":"queue full"}\n',
  ]);
});

test('text: time, level, message and the fields, quoted where they would be ambiguous', () => {
  const { lines, logger } = capture('text');
  logger.info({ id: 'db1', path: 'a b', list: [1, 2], empty: '' }, 'ready');
  logger.info({ reason: '\u001b[2Jx' }, 'terminal');
  logger.error({}, 'broken');
  expect(lines).toEqual([
    '2026-03-04T09:00:00.000Z info  ready id=db1 path="a b" list=[1,2] empty=""\n',
    '2026-03-04T09:00:00.000Z info  terminal reason="\\u001b[2Jx"\n',
    '2026-03-04T09:00:00.000Z error broken\n',
  ]);
});

test('auto: JSON where stderr is no terminal', () => {
  const [auto, json] = [capture('auto'), capture('json')];
  for (const { logger } of [auto, json]) logger.info({}, 'ready');
  expect(auto.lines).toEqual(json.lines);
});

test('a level below the configured one is not written', () => {
  const { lines, logger } = capture('json', 'warn');
  logger.debug({}, 'a');
  logger.info({}, 'b');
  logger.warn({}, 'c');
  logger.error({}, 'd');
  expect(lines.map(line => (JSON.parse(line) as { msg: string }).msg)).toEqual(['c', 'd']);
});

test('a field with the name of a secret never shows its value, in either format', () => {
  for (const format of ['json', 'text'] as const)
    for (const name of SECRET_FIELDS) {
      const { lines, logger } = capture(format);
      const secret = { [name]: 'hunter2' };
      logger.info({ ...secret, request: secret, deep: { request: secret } }, 'x');
      expect(lines.join(''), name).not.toContain('hunter2');
      expect(lines.join('').match(/\[secret\]/g), name).toHaveLength(3);
    }
});

test('user and password in a URL are removed, in fields and in the message', () => {
  const { lines, logger } = capture('json');
  logger.info({ proxy: 'http://joe:hunter2@proxy:3128/' }, 'via https://hunter2@host/x');
  expect(lines.join('')).not.toContain('hunter2');
  expect(lines.join('')).toContain('http://[secret]@proxy:3128/');
});

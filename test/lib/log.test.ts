import { spawnSync } from 'node:child_process';
import { existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger, SECRET_FIELDS, type LoggerOptions } from '../../src/lib/log.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

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

test('text: the levels that ask for attention are coloured for a terminal, and nowhere else', () => {
  const linesFor = (format: 'json' | 'text', environment: Record<string, string>): string => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    const options = { level: 'info', format, destination, clock: new FakeClock() } as const;
    const logger = createLogger({ ...options, environment });
    logger.info({}, 'a');
    logger.warn({}, 'b');
    logger.error({}, 'c');
    return lines.join('').replaceAll('2026-03-04T09:00:00.000Z ', '');
  };
  const plain = 'info  a\nwarn  b\nerror c\n';
  // FORCE_COLOR stands for a terminal.
  expect(linesFor('text', { FORCE_COLOR: '1' })).toBe(
    'info  a\n\u001b[33mwarn \u001b[39m b\n\u001b[31merror\u001b[39m c\n',
  );
  expect(linesFor('text', {})).toBe(plain);
  expect(linesFor('text', { NO_COLOR: '1' })).toBe(plain);
  expect(linesFor('json', { FORCE_COLOR: '1' })).toBe(linesFor('json', {}));
});

test('neither form has characters that control a terminal', () => {
  const [json, text] = [capture('json'), capture('text')];
  for (const { logger } of [json, text]) logger.info({ reason: 'a\u009B2J\u202Eb' }, 'x');
  expect(json.lines[0]).toContain(String.raw`"a\u009b2J\u202eb"`);
  expect(text.lines[0]).toContain(String.raw`reason="a\u009b2J\u202eb"`);
});

test('auto: JSON where stderr is no terminal', () => {
  const [auto, json] = [capture('auto'), capture('json')];
  for (const { logger } of [auto, json]) logger.info({}, 'ready');
  expect(auto.lines).toEqual(json.lines);
});

test('a level below the configured one is not written', () => {
  const { lines, logger } = capture('json', 'warn');
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
  logger.info({ proxy: 'http://joe:p@hunter2@proxy:3128/' }, 'via https://p@hunter2@host/x');
  expect(lines.join('')).not.toContain('hunter2');
  expect(lines.join('')).toContain('http://[secret]@proxy:3128/');
});

test.skipIf(!existsSync('/dev/full'))(
  'on a full disk lines wait up to a limit, and are written when there is room again',
  () => {
    const file = join(temporaryDirectory(), 'log');
    const script = `
      import { closeSync, openSync } from 'node:fs';
      import { createLogger } from ${JSON.stringify(join(import.meta.dirname, '../../src/lib/log.ts'))};
      const logger = createLogger({ level: 'info', format: 'json' });
      const log = i => logger.info({ i, text: 'x'.repeat(1000) }, 'event');
      for (let i = 0; i < 2000; i++) log(i);
      closeSync(2);
      openSync(${JSON.stringify(file)}, 'a');
      // Lost, but what waits is written.
      log(2000);
      log(2001);`;
    const child = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', openSync('/dev/full', 'w')],
    });
    expect(child.status).toBe(0);
    const texts = readFileSync(file, 'utf8').trimEnd().split('\n');
    const numbers = texts.map(text => (JSON.parse(text) as { i: number }).i);
    const waited = numbers.slice(0, -1);
    expect(waited).toEqual(waited.map((_, i) => i));
    expect(waited.length).toBeGreaterThan(900);
    expect(waited.length).toBeLessThan(1000);
    expect(numbers.at(-1)).toBe(2001);
  },
);

test('level and format may change', () => {
  const { lines, logger } = capture('json');
  logger.info({ a: 1 }, 'first');
  logger.use({ level: 'error', format: 'text' });
  logger.info({ a: 2 }, 'second');
  logger.error({ a: 3 }, 'third');
  expect(lines).toEqual([
    '{"level":"info","time":"2026-03-04T09:00:00.000Z","a":1,"msg":"first"}\n',
    '2026-03-04T09:00:00.000Z error third a=3\n',
  ]);
});

import { PassThrough, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createMeter, openOutput, paint, withProgress } from '../../src/cli/output.ts';
import type { Terminal } from '../../src/cli/verb.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** A stream that keeps what is written, or fails every write with a code. */
function memoryStream(failure?: NodeJS.ErrnoException): Terminal['screen'] & { text: string } {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      memory.text += failure === undefined ? chunk.toString() : '';
      done(failure);
    },
  });
  const memory = Object.assign(stream, { text: '' });
  return memory;
}

test('a full disk is reported once, on stderr, and is a failure', async () => {
  const error = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  const stderr = memoryStream();
  const output = openOutput(memoryStream(error), stderr);
  output.out.line('one');
  output.out.line('two');
  expect(await output.drain()).toBe(false);
  output.out.line('three');
  expect(await output.drain()).toBe(false);
  expect(stderr.text).toBe('cannot write to stdout: no space left on device\n');
});

test('a writer can wait until its lines are read, and learns when nobody reads more', async () => {
  let free = (): void => undefined;
  const slow = new Writable({ write: (_chunk, _encoding, done) => void (free = done) });
  const { out } = openOutput(slow, memoryStream());
  out.line('one');
  let isTaken = false;
  const taken = out.taken().then(more => {
    isTaken = true;
    return more;
  });
  await new Promise(resolve => setImmediate(resolve));
  expect(isTaken).toBe(false);
  free();
  await new Promise(resolve => setImmediate(resolve));
  free();
  expect(await taken).toBe(true);
  const gone = Object.assign(new Error('broken pipe'), { code: 'EPIPE' });
  const closed = openOutput(memoryStream(gone), memoryStream()).out;
  closed.line('one');
  expect(await closed.taken()).toBe(false);
});

test('foreign text cannot control the terminal', async () => {
  const [stdout, stderr] = [memoryStream(), memoryStream()];
  const output = openOutput(stdout, stderr);
  output.out.line('a\u001B]0;x\u0007\tb');
  output.err.line('\u009B2J');
  await output.drain();
  expect([stdout.text, stderr.text]).toEqual(['a?]0;x?\tb\n', '?2J\n']);
});

test('only a terminal has a width', () => {
  const pipe = openOutput(memoryStream(), memoryStream()).out;
  expect(pipe.columns).toBe(Infinity);
  const stream = Object.assign(memoryStream(), { isTTY: true, columns: 132 });
  const terminal = openOutput(stream, memoryStream()).out;
  expect(terminal.columns).toBe(132);
  // Some terminals say that they have no columns.
  Object.assign(stream, { columns: 0 });
  expect(terminal.columns).toBe(80);
});

test.each<[isTTY: boolean, environment: Readonly<Record<string, string>>, isPainted: boolean]>([
  [true, { TERM: 'xterm' }, true],
  [true, { TERM: 'dumb' }, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { FORCE_COLOR: '0' }, false],
  [false, {}, false],
  [false, { FORCE_COLOR: '1' }, true],
  [false, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
])('colour is for terminals that can, unless the user says otherwise: %j %j', (...row) => {
  const [isTTY, environment, isPainted] = row;
  const stream = Object.assign(memoryStream(), { isTTY });
  const { err } = openOutput(memoryStream(), stream, environment);
  expect(paint(err, 'red', 'x') !== 'x').toBe(isPainted);
});

function begin(screenOptions: object, what: string | (() => string) = 'asking') {
  const clock = new FakeClock();
  const screen = Object.assign(new PassThrough({ encoding: 'utf8' }), screenOptions);
  const terminal = { input: new PassThrough(), screen };
  const work = Promise.withResolvers<string>();
  const done = withProgress({ clock, terminal }, what, work.promise);
  return { clock, work, done, shown: () => String(screen.read() ?? '') };
}

test('a long step shows its seconds, and then disappears', async () => {
  const { clock, work, done, shown } = begin({ isTTY: true });
  await clock.advance(2500);
  expect(shown()).toBe('\r\u001B[Kasking: 1 s\r\u001B[Kasking: 2 s');
  work.resolve('answer');
  expect(await done).toBe('answer');
  expect(shown()).toBe('\r\u001B[K');
});

test('a quick step, or one that fails at once, shows nothing', async () => {
  const quick = begin({ isTTY: true });
  quick.work.resolve('answer');
  expect([await quick.done, quick.shown()]).toEqual(['answer', '']);
  const failed = begin({ isTTY: true });
  failed.work.reject(new Error('no'));
  await expect(failed.done).rejects.toThrow('no');
  expect(failed.shown()).toBe('');
});

test('nothing is shown without a terminal', async () => {
  const { clock, work, done, shown } = begin({});
  await clock.advance(5000);
  work.resolve('answer');
  expect([await done, shown()]).toEqual(['answer', '']);
});

test('a state in place of seconds never wraps', async () => {
  const screen = { isTTY: true, columns: 12 };
  const { clock, work, done, shown } = begin(screen, () => 'much\u001B longer than that');
  await clock.advance(1000);
  work.resolve('answer');
  await done;
  expect(shown()).toBe('\r\u001B[Kmuch? longe\r\u001B[K');
});

test('a meter shows the rate, and the rest where the total is known', async () => {
  const clock = new FakeClock();
  const format = (amount: number): string => `${amount} points`;
  const known = createMeter(clock, format);
  const unknown = createMeter(clock, format);
  expect(known(0, 1000)).toBe('0 points of 1000 points (0 %), 0 points/s');
  await clock.advance(2000);
  expect(known(200, 1000)).toBe('200 points of 1000 points (20 %), 100 points/s, 8.0 s left');
  expect(unknown(200)).toBe('200 points, 100 points/s');
});

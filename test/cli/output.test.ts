import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { openOutput, paint } from '../../src/cli/output.ts';
import type { Terminal } from '../../src/cli/verb.ts';

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

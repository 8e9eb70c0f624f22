import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { openOutput, paint } from '../../src/cli/output.ts';
import type { Terminal } from '../../src/cli/verb.ts';

const SOURCE = new URL('../../src/cli/output.ts', import.meta.url).href;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program that writes `lineCount` lines of 100 characters and ends as main does. */
async function run(lineCount: number, options: { readonly readBytes: number }): Promise<Ended> {
  const program = `
    const { openOutput } = await import(${JSON.stringify(SOURCE)});
    const output = openOutput(process.stdout, process.stderr);
    for (let i = 0; i < ${lineCount}; i++) output.out.line('x'.repeat(99));
    output.err.line('done');
    process.exit((await output.drain()) ? 0 : 1);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    if (stdout.length >= options.readBytes) child.stdout.destroy();
  });
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

describe('through a pipe', () => {
  test('a reader gets all output', async () => {
    const ended = await run(20_000, { readBytes: Infinity });
    expect({ ...ended, stdout: ended.stdout.length }).toEqual({
      code: 0,
      stdout: 2_000_000,
      stderr: 'done\n',
    });
  });

  test('a reader that closes the pipe ends the program quietly', async () => {
    const { code, stderr } = await run(20_000, { readBytes: 1 });
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'done\n' });
  });
});

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

describe('colour', () => {
  const painted = (isTTY: boolean, environment: Readonly<Record<string, string>>): boolean => {
    const stream = Object.assign(memoryStream(), { isTTY });
    const { err } = openOutput(memoryStream(), stream, environment);
    return paint(err, 'red', 'x') !== 'x';
  };

  test('is for terminals that can, unless the user says otherwise', () => {
    const check = (isTTY: boolean, environment: Readonly<Record<string, string>>, want: boolean) =>
      expect(painted(isTTY, environment), JSON.stringify([isTTY, environment])).toBe(want);
    check(true, { TERM: 'xterm' }, true);
    check(true, { TERM: 'dumb' }, false);
    check(true, { NO_COLOR: '1' }, false);
    check(true, { NO_COLOR: '' }, true);
    check(true, { FORCE_COLOR: '0' }, false);
    check(false, {}, false);
    check(false, { FORCE_COLOR: '1' }, true);
    check(false, { FORCE_COLOR: '1', NO_COLOR: '1' }, true);
  });
});

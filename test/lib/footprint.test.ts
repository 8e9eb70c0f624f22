import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const MODULE = JSON.stringify(new URL('../../src/lib/footprint.ts', import.meta.url).href);
const ROOT = new URL('../../', import.meta.url);
/** The flags of the image. */
const COMPILE_FLAGS = ['--no-opt', '--no-maglev'];

function evaluate(flags: readonly string[], script: string): string {
  const source = `const footprint = await import(${MODULE});\n${script}`;
  const args = [...flags, '--input-type=module', '--eval', source];
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim();
}

describe('the optimizing compilers', () => {
  /** Bits of V8's OptimizationStatus: optimized by any compiler. */
  const OPTIMIZED = 1 << 4;
  const HOT = `
    const hot = n => { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum; };
    const run = async () => {
      for (let i = 0; i < 20000; i++) hot(1000);
      await new Promise(resolve => setTimeout(resolve, 50));
      hot(1000);
    };
  `;

  function isOptimized(script: string): boolean {
    const flags = [...COMPILE_FLAGS, '--allow-natives-syntax'];
    const status = Number(
      evaluate(flags, `${HOT}\n${script}\nconsole.log(%GetOptimizationStatus(hot))`),
    );
    return (status & OPTIMIZED) !== 0;
  }

  /** Sets the clock of the process. */
  const at = (ms: number): string => `performance.now = () => ${ms}`;
  const read = (bytes: string): string => `footprint.compileForWork(${bytes})`;

  test.each([
    ['', false],
    [read('2 ** 20 - 1'), false],
    [read('2 ** 20'), true],
    [`${at(0)}; ${read('2 ** 19')}; ${at(9999)}; ${read('2 ** 19')}`, true],
    [`${at(0)}; ${read('2 ** 19')}; ${at(10_000)}; ${read('2 ** 19')}`, false],
    ['footprint.compileWell()', true],
  ])('%j: they run: %j', (call, isExpected) => {
    expect(isOptimized(`${call}; await run()`)).toBe(isExpected);
  });

  test('also take functions that were hot before they were allowed to run', () => {
    expect(isOptimized('await run()')).toBe(false);
    expect(isOptimized('await run(); footprint.compileWell(); await run()')).toBe(true);
  });

  test('the lesser one stays off', () => {
    const flags = [...COMPILE_FLAGS, '--allow-natives-syntax'];
    const script = 'footprint.compileWell(); console.log(%IsMaglevEnabled())';
    expect(evaluate(flags, script)).toBe('false');
  });

  test('are off in the command lines that are shipped', () => {
    for (const file of ['Dockerfile', 'deploy/systemd/prom2otlp.service']) {
      const text = readFileSync(new URL(file, ROOT), 'utf8');
      for (const flag of COMPILE_FLAGS) expect(text, file).toContain(flag);
      expect(text).not.toContain('optimized-bytecode');
    }
  });
});

describe('the garbage of the start', () => {
  /** The number of full collections of a process with these flags, whose clock does not wait. */
  function collections(flags: readonly string[], { before = '', isStopped = false } = {}): number {
    const script = `
      let count = 0;
      const collect = globalThis.gc;
      if (collect !== undefined) globalThis.gc = options => { count++; collect(options); };
      ${before};
      const stop = new AbortController();
      if (${String(isStopped)}) stop.abort();
      await footprint.collectStartGarbage({ sleep: async () => undefined }, stop.signal);
      console.log(count);
    `;
    return Number(evaluate(flags, script));
  }

  test('is collected once, if node allows it', () => {
    expect(collections(['--expose-gc'])).toBe(1);
    expect(collections([])).toBe(0);
  });

  test('is not collected if much was read, or after a stop', () => {
    expect(collections(['--expose-gc'], { before: 'footprint.compileForWork(2 ** 20)' })).toBe(0);
    expect(collections(['--expose-gc'], { isStopped: true })).toBe(0);
  });
});

test('the heap may grow by the room for reads: in steps of ten percent, between 30 and 200', () => {
  const flags = evaluate(
    [],
    `
      const { default: v8 } = await import('node:v8');
      const flags = [];
      v8.setFlagsFromString = flag => flags.push(flag);
      v8.getHeapStatistics = () => ({ used_heap_size: heapBytes });
      const { syncBuiltinESMExports } = await import('node:module');
      syncBuiltinESMExports();
      const MB = 2 ** 20;
      let heapBytes = 100 * MB;
      for (const megabytes of [0.5, 1, 2.6, 100]) footprint.makeRoomForReads(megabytes * MB);
      heapBytes = MB;
      footprint.makeRoomForReads(MB);
      console.log(flags.join(' '));
    `,
  );
  expect(flags).toBe(
    [30, 40, 50, 200].map(percent => `--heap-growing-percent=${percent}`).join(' '),
  );
});

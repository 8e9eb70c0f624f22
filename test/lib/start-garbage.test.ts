import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const LIB = new URL('../../src/lib/', import.meta.url).href;

/** How often a process that starts like this has collected everything by itself; its clock does not wait. */
function collections(flags: readonly string[], { before = '', isStopped = false } = {}): number {
  const script = `
    const { collectStartGarbage } = await import('${LIB}start-garbage.ts');
    const { compileForWork } = await import('${LIB}compile-effort.ts');
    let count = 0;
    const collect = globalThis.gc;
    if (collect !== undefined) globalThis.gc = options => { count++; collect(options); };
    ${before};
    const stop = new AbortController();
    if (${isStopped}) stop.abort();
    await collectStartGarbage({ sleep: async () => undefined }, stop.signal);
    console.log(count);
  `;
  const args = [...flags, '--input-type=module', '--eval', script];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('what starting leaves behind is collected once, where node was told to allow it', () => {
  expect(collections(['--expose-gc'])).toBe(1);
  expect(collections([])).toBe(0);
});

test('nothing is collected where much is read, or after a stop', () => {
  expect(collections(['--expose-gc'], { before: 'compileForWork(2 ** 20)' })).toBe(0);
  expect(collections(['--expose-gc'], { isStopped: true })).toBe(0);
});

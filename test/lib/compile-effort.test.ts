import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const MODULE = new URL('../../src/lib/compile-effort.ts', import.meta.url).href;

/** Whether a hot function is optimized in a process that starts as the image does. */
function isOptimized(call: string): boolean {
  const script = `
    const { compileForWork, compileWell } = await import(${JSON.stringify(MODULE)});
    ${call};
    const hot = n => { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum; };
    for (let i = 0; i < 20000; i++) hot(1000);
    await new Promise(resolve => setTimeout(resolve, 20));
    hot(1000);
    console.log(%GetOptimizationStatus(hot));
  `;
  const flags = ['--max-optimized-bytecode-size=0', '--allow-natives-syntax'];
  const args = [...flags, '--input-type=module', '--eval', script];
  const status = Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  return (status & OPTIMIZED) !== 0;
}
/** Bits of V8's OptimizationStatus: optimized, by whichever compiler. */
const OPTIMIZED = 1 << 4;

/** Sets the clock of the process. */
const at = (ms: number): string => `performance.now = () => ${ms}`;

test.each([
  ['', false],
  ['compileForWork(2 ** 20 - 1)', false],
  ['compileForWork(2 ** 20)', true],
  [`${at(0)}; compileForWork(2 ** 19); ${at(9999)}; compileForWork(2 ** 19)`, true],
  [`${at(0)}; compileForWork(2 ** 19); ${at(10_000)}; compileForWork(2 ** 19)`, false],
  ['compileWell(); compileForWork(1)', true],
])('%j: optimizing is %j', (call, isExpected) => {
  expect(isOptimized(call)).toBe(isExpected);
});

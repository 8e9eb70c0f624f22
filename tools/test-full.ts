// Runs the heavy suites at their full size, one after the other: `npm run test:full`. .ci/run runs the same suites at the
// sizes of its budget table. The sizes are environment variables; each test names the variable that it reads.

import { spawnSync } from 'node:child_process';

const FULL_SIZES = {
  FUZZ_RUNS: '10000',
  FUZZ_INPUTS: '100000',
  SENDER_SCRIPTS: '10000',
  ORDINARY_HOURS: '20000',
  KILLS: '200',
  POWER_CUTS: '200',
  ENTRY_MIB: '2048',
  SICK_SECONDS: '1200',
  TOKEN_SECONDS: '300',
  OUTAGE_POLLS: '1440',
  CONTRACT_SERVICES: '125',
  TRUTH_ROUNDS: '10',
};

let failedCount = 0;
for (const suite of ['unit', 'test:e2e', 'fuzz', 'test:faults', 'test:real']) {
  const startedMs = performance.now();
  const { status } = spawnSync('npm', ['run', '-s', suite], {
    stdio: 'inherit',
    env: { ...process.env, ...FULL_SIZES },
  });
  if (status !== 0) failedCount++;
  console.log(
    `== ${suite}: exit ${status}, ${Math.round((performance.now() - startedMs) / 1000)} s`,
  );
}
process.exitCode = failedCount === 0 ? 0 : 1;

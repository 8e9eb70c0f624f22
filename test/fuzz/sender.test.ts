// Runs the sender in simulation with SENDER_SCRIPTS random scripts (SENDER_SEED repeats a run). No point passes an older
// one of its series unless the older one was refused, nothing is lost, the account balances, and sending resumes soon
// afterwards. See test/support/sender-simulation.ts for the scripts and the checks.

import { expect, test } from 'vitest';
import {
  arbitraryOutage,
  arbitraryScript,
  fileBench,
  runScripts,
  slowResumes,
} from '../support/sender-scripts.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const SCRIPTS = Number(process.env['SENDER_SCRIPTS'] ?? 1000);
const SEED = Number(process.env['SENDER_SEED'] ?? Date.now() % 2 ** 31);

test(`${SCRIPTS} scripts: nothing is lost, and nothing is passed without cause`, async () => {
  const total = await runScripts(arbitraryScript, { numRuns: SCRIPTS, seed: SEED });
  console.log(`SENDER_SEED=${SEED}: ${JSON.stringify(total)}`);
  expect(total.scripts).toBe(SCRIPTS);
});

test('scripts over a file that each restart opens again', async () => {
  const directory = temporaryDirectory();
  let runs = 0;
  const open = () => fileBench(`${directory}/${String(runs++)}`);
  const numRuns = Math.ceil(SCRIPTS / 20);
  const total = await runScripts(
    arbitraryScript,
    { numRuns, seed: SEED, endOnFailure: true },
    { open },
  );
  console.log(`SENDER_SEED=${SEED}, with a file: ${JSON.stringify(total)}`);
  expect(total.scripts).toBe(numRuns);
});

test('after an outage of up to an hour the first row is sent within 35 s', async () => {
  const numRuns = Math.ceil(SCRIPTS / 5);
  const total = await runScripts(arbitraryOutage, { numRuns, seed: SEED }, { check: slowResumes });
  console.log(`SENDER_SEED=${SEED}, outages: ${JSON.stringify(total)}`);
  expect(total.scripts).toBe(numRuns);
});

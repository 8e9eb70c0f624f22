// Runs the program's verb `run` on a fast clock, instead of src/main.ts: only the clock differs.

import { openOutput } from '../../../src/cli/output.ts';
import { verb } from '../../../src/cli/run.ts';
import { runVerb } from '../../../src/cli/command.ts';
import { Bell } from '../../../src/lib/bell.ts';
import { fastClock, PACE_VARIABLE, type Pace } from './fast-clock.ts';

const pace = JSON.parse(process.env[PACE_VARIABLE] ?? '') as Pace;
const { out, err } = openOutput(process.stdout, process.stderr);
const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());

process.exitCode = await runVerb(verb, process.argv.slice(3), {
  environment: process.env,
  clock: fastClock(pace),
  out,
  err,
  terminal: { input: process.stdin, screen: process.stderr },
  hangUp: new Bell(),
  stop: stop.signal,
  stopNow: new AbortController().signal,
});

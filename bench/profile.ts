// `node bench/profile.ts SCENARIO [POLLS]`: where the time of ours goes. Runs the sources (their functions have names)
// under Node's sampling profiler; prints processor time and memory poll by poll, then the functions with the most self
// time in the second half.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bridge, type RunningBridge } from './contenders/bridge.ts';
import { cpuMsBetween, processUsage } from './measure/process-usage.ts';
import { table } from './report/tables.ts';
import { megabytes, percent } from './report/words.ts';
import { type PacedScenario, scenarios } from './scenarios.ts';
import { Stage } from './stage.ts';
import { sumPolls } from './verify.ts';

const POLLS = 12;
const FUNCTIONS_SHOWN = 25;

interface Profile {
  readonly startTime: number;
  readonly endTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
  }[];
}

async function main([name = 'fleet', polls = String(POLLS)]: readonly string[]): Promise<void> {
  const scenario = scenarios(false).find(scenario => scenario.name === name);
  if (scenario?.kind !== 'paced') throw new Error(`${name} is no paced scenario`);
  const contender = bridge({ isFromSources: true, nodeFlags: ['--cpu-prof'] });
  await using stage = await Stage.open(scenario, scenario.intervalMs);
  const running = await contender.start(stage.task);
  try {
    await watch(scenario, Number(polls), { stage, running });
  } finally {
    await running.stop();
  }
  const file = readdirSync(running.folder).find(entry => entry.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error(`there is no profile in ${running.folder}`);
  const path = join(running.folder, file);
  for (const line of [...selfTimes(path), '', path]) console.log(line);
}

async function watch(
  { intervalMs }: PacedScenario,
  polls: number,
  { stage, running }: { readonly stage: Stage; readonly running: RunningBridge },
): Promise<void> {
  let before = processUsage(running.pid);
  let samplesBefore = 0;
  for (let poll = 0; poll < polls; poll++) {
    await sleep(intervalMs);
    await stage.look();
    const after = processUsage(running.pid);
    const { samples } = sumPolls(stage.polls);
    const cpuMs = cpuMsBetween(before, after);
    const each = ((cpuMs * 1e6) / (samples - samplesBefore)).toFixed(0);
    console.log(
      `${samples - samplesBefore} samples, ${cpuMs.toFixed(0)} ms, ${each} ns/sample, ${megabytes(after.residentBytes)}`,
    );
    [before, samplesBefore] = [after, samples];
  }
}

function selfTimes(path: string): string[] {
  const { samples, timeDeltas, nodes, startTime, endTime } = JSON.parse(
    readFileSync(path, 'utf8'),
  ) as Profile;
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const times = new Map<string, number>();
  let [now, total] = [startTime, 0];
  for (const [index, id] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0;
    now += delta;
    const frame = frames.get(id);
    if (now < (startTime + endTime) / 2 || frame === undefined) continue;
    if (frame.functionName === '(idle)') continue;
    const place = frame.url.replace(/^.*\/(src|node_modules)\//, '$1/');
    const words = `${frame.functionName || '(anonymous)'} ${place}:${frame.lineNumber + 1}`;
    times.set(words, (times.get(words) ?? 0) + delta);
    total += delta;
  }
  const rows = [...times].sort(([, one], [, other]) => other - one).slice(0, FUNCTIONS_SHOWN);
  return table(
    ['self ms', 'share', 'function'],
    rows.map(([words, us]) => [(us / 1000).toFixed(0), percent((us / total) * 100, 1), words]),
  );
}

await main(process.argv.slice(2));

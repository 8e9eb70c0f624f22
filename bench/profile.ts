// `node bench/profile.ts SCENARIO [POLLS]`: where our program spends its time. Runs the sources (their functions have
// names) under Node's sampling profiler, and beside them the bundle without it: the profiler's own thread takes more
// time than a small target. Prints the bundle's processor time and memory poll by poll. Then prints, for the second
// half, each part of the main thread in nanoseconds a sample, and the functions with the most self time.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bridge, type RunningBridge } from './contenders/bridge.ts';
import { cpuMsBetween, processUsage } from './measure/process-usage.ts';
import { aligned } from './report/tables.ts';
import { megabytes, percent } from './report/words.ts';
import { type PacedScenario, pacedScenario } from './scenarios.ts';
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
    readonly children?: readonly number[];
  }[];
}

/** The parts of the program, by the place of a function. The first pattern that matches counts. */
const PARTS: readonly (readonly [part: string, place: RegExp])[] = [
  ['garbage collection', /^\(garbage collector\)/],
  ['V8 and libc', /^\(program\)/],
  ['state', /src\/pipeline\/derive\/state/],
  ['decode', /src\/pipeline\/decode\//],
  ['derive', /src\/(pipeline\/derive|catalog|model)\//],
  ['encode', /src\/pipeline\/encode\//],
  ['queue', /src\/pipeline\/queue\//],
  ['send', /src\/pipeline\/send\//],
  ['own telemetry', /src\/daemon\/own-telemetry|src\/lib\/counters|@opentelemetry/],
  ['logs', /src\/logs\//],
  ['HTTP client', /src\/(service|pipeline\/collect)\/|undici/],
];
const ELSEWHERE = 'timers, sockets and the rest';

async function main([name = 'fleet', polls = String(POLLS)]: readonly string[]): Promise<void> {
  const scenario = pacedScenario(name);
  await using stageOfProfiled = await Stage.open(scenario, scenario.intervalMs);
  await using stage = await Stage.open(scenario, scenario.intervalMs);
  const profiled = await bridge({ isFromSources: true, nodeFlags: ['--cpu-prof'] }).start(
    stageOfProfiled.task,
  );
  const running = await bridge().start(stage.task);
  let usage: Usage;
  try {
    usage = await measure(scenario, Number(polls), { stage, running });
  } finally {
    await Promise.all([profiled.stop(), running.stop()]);
  }
  const file = readdirSync(profiled.folder).find(entry => entry.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error(`there is no profile in ${profiled.folder}`);
  const path = join(profiled.folder, file);
  const profile = JSON.parse(readFileSync(path, 'utf8')) as Profile;
  for (const lines of [timesOfParts(profile, usage), selfTimes(profile), [path]])
    console.log(['', ...lines].join('\n'));
}

/** The samples, processor time and wall time of the second half of the polls. */
interface Usage {
  readonly samples: number;
  readonly cpuMs: number;
  readonly wallMs: number;
}

async function measure(
  { intervalMs }: PacedScenario,
  polls: number,
  { stage, running }: { readonly stage: Stage; readonly running: RunningBridge },
): Promise<Usage> {
  const usage = { samples: 0, cpuMs: 0, wallMs: 0 };
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
    if (poll >= polls / 2) {
      usage.samples += samples - samplesBefore;
      usage.cpuMs += cpuMs;
      usage.wallMs += intervalMs;
    }
    [before, samplesBefore] = [after, samples];
  }
  return usage;
}

/** Microseconds of the main thread in the second half, by the name that `wordsOf` gives a node; most first. */
function timesBy(
  { samples, timeDeltas, nodes, startTime, endTime }: Profile,
  wordsOf: (node: Profile['nodes'][number]) => string,
): { readonly times: readonly (readonly [words: string, us: number])[]; readonly wallUs: number } {
  const nodeOf = new Map(nodes.map(node => [node.id, node]));
  const times = new Map<string, number>();
  const middle = (startTime + endTime) / 2;
  let now = startTime;
  for (const [index, id] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0;
    now += delta;
    const node = nodeOf.get(id);
    if (now < middle || node === undefined || node.callFrame.functionName === '(idle)') continue;
    const words = wordsOf(node);
    times.set(words, (times.get(words) ?? 0) + delta);
  }
  const sorted = [...times].sort(([, one], [, other]) => other - one);
  return { times: sorted, wallUs: endTime - middle };
}

/** Time of a function outside all parts, such as a function of Node, counts for the part that called it. */
function timesOfParts(profile: Profile, usage: Usage): string[] {
  const { nodes } = profile;
  const callers = new Map(
    nodes.flatMap(node => (node.children ?? []).map(child => [child, node] as const)),
  );
  const partOf = (node: Profile['nodes'][number]): string => {
    for (let at: typeof node | undefined = node; at !== undefined; at = callers.get(at.id)) {
      const { functionName, url } = at.callFrame;
      const place = url === '' ? functionName : url;
      const found = PARTS.find(([, pattern]) => pattern.test(place));
      if (found !== undefined) return found[0];
    }
    return ELSEWHERE;
  };
  const { times, wallUs } = timesBy(profile, partOf);
  // Scales by time: the profile's second half also has the program's end, so it is longer than the polls' second half.
  const nsEach = (us: number): number =>
    (us * 1000 * (usage.wallMs * 1000)) / wallUs / usage.samples;
  const wholeNs = (usage.cpuMs * 1e6) / usage.samples;
  const mainNs = times.reduce((sum, [, us]) => sum + nsEach(us), 0);
  const rows: (readonly [string, number])[] = times.map(([part, us]) => [part, nsEach(us)]);
  rows.push(['main thread', mainNs]);
  return [
    ...aligned({
      head: ['ns/sample', 'share', 'part'],
      rows: rows.map(([part, ns]) => [ns.toFixed(0), percent((ns / mainNs) * 100, 0), part]),
    }),
    `${wholeNs.toFixed(0)} ns/sample: all threads, without the profiler`,
  ];
}

function selfTimes(profile: Profile): string[] {
  const { times } = timesBy(profile, ({ callFrame: { functionName, url, lineNumber } }) => {
    const place = url.replace(/^.*\/(src|node_modules)\//, '$1/');
    return `${functionName || '(anonymous)'} ${place}:${lineNumber + 1}`;
  });
  const total = times.reduce((sum, [, us]) => sum + us, 0);
  return aligned({
    head: ['self ms', 'share', 'function'],
    rows: times
      .slice(0, FUNCTIONS_SHOWN)
      .map(([words, us]) => [(us / 1000).toFixed(0), percent((us / total) * 100, 1), words]),
  });
}

await main(process.argv.slice(2));

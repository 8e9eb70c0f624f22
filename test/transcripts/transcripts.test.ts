// Runs the transcripts beside this file: what a user types and what the verbs print, in text files. `UPDATE=1` rewrites
// them; then `git diff` is the review. In a file, an indented line belongs to the shell, all else is prose:
//
//   # A title, for people and for the tables in docs
//     $ WHERE="--base-url $OTHER"
//     $ NAME=value prom2otlp verb --option $WHERE | head -3
//     | a line that is typed, or the content of a file
//     a line to stdout
//     ! a line to stderr
//     [1]                      the exit code, unless it is 0
//
// Each file has a directory, a simulated service ($SERVICE, also the address of verbs that are given none), another
// server ($OTHER) and a clock of its own; $RANDOM is the last random id that was printed. COMMANDS has what can be typed besides prom2otlp, FILTERS what can follow a
// pipe; COLUMNS makes stdout a terminal. A mistake (exit 2) must not have sent a request, and no output may hold a
// secret (support/service-shell.ts).

import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { Batch } from '../../src/model/batch.ts';
import { openQueue } from '../../src/pipeline/queue/queue.ts';
import { startSimulator } from '../../src/simulator/simulator.ts';
import { type RecordedRequest, startHttpServer } from '../support/http-server.ts';
import { logsBatch, metricsBatch } from '../support/otlp-requests.ts';
import {
  HASTY_CLOCK,
  ServiceShell,
  SHELL_ENVIRONMENT,
  SHELL_KEY,
} from '../support/service-shell.ts';
import type { Printed } from '../support/verb-context.ts';

const ROOT = join(import.meta.dirname, '../..');
const START_MS = Date.UTC(2026, 2, 4, 9);
const MINUTE_MS = 60_000;
/** A pod: there, a localhost in the configuration is no reason for a warning, on whatever machine the tests run. */
const ENVIRONMENT = { ...SHELL_ENVIRONMENT, KUBERNETES_SERVICE_HOST: '10.0.0.1' };
const ADDRESSES = ['SERVICE', 'OTHER', 'DIRECTORY', 'LOCALHOST', 'HOST'];

test.each(globSync('*/*.txt', { cwd: import.meta.dirname }).sort())('%s', async name => {
  const file = join(import.meta.dirname, name);
  const expected = readFileSync(file, 'utf8');
  const found = await play(expected);
  if (process.env['UPDATE'] === '1') writeFileSync(file, found);
  else expect(found).toBe(expected);
});

/** Stands still unless the transcript lets time pass; waits take as long as they do for the other tests of verbs. */
class StageClock implements Clock {
  #nowMs = START_MS;

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return HASTY_CLOCK.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return HASTY_CLOCK.sleep(ms, signal);
  }

  after(ms: number, run: () => void): () => void {
    return HASTY_CLOCK.after(ms, run);
  }

  forward(ms: number): void {
    this.#nowMs += ms;
  }
}

/** The world of one transcript. */
interface Stage {
  readonly shell: ServiceShell;
  readonly clock: StageClock;
  /** What stands for `$NAME`, before a line is split into words: addresses, and what the transcript has set. */
  readonly variables: Map<string, string>;
  /** What $OTHER answers next; the last answer is repeated. A verb forgets those before it. */
  readonly answers: { readonly status: number; readonly body: string }[];
  /** The requests to $OTHER. */
  readonly received: RecordedRequest[];
  /** How many requests to the simulator `requests` has shown. */
  shown: number;
}

/** The text with the output of its commands as it is now. */
async function play(text: string): Promise<string> {
  const clock = new StageClock();
  const simulator = await startSimulator({ clock, key: SHELL_KEY });
  using shell = new ServiceShell(simulator);
  const answers: Stage['answers'] = [];
  await using other = await startHttpServer((_, response) => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    response.writeHead(answer?.status ?? 200).end(answer?.body ?? '');
  });
  const variables = new Map([
    ['SERVICE', simulator.url],
    ['OTHER', other.origin],
    ['DIRECTORY', shell.files.path],
    ['LOCALHOST', simulator.url.replace('127.0.0.1', 'localhost')],
    ['HOST', new URL(simulator.url).host],
  ]);
  const stage: Stage = { shell, clock, variables, answers, received: other.requests, shown: 0 };
  const home = process.cwd();
  process.chdir(shell.files.path);
  try {
    return await playLines(stage, text.split('\n'));
  } finally {
    process.chdir(home);
    await simulator.close();
  }
}

async function playLines(stage: Stage, lines: readonly string[]): Promise<string> {
  const played: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    if (line.startsWith('  $ ')) {
      const input: string[] = [];
      while (lines[i + 1]?.startsWith('  |') === true) input.push(lines[++i] ?? '');
      const typed = input.map(one => `${one.slice(4)}\n`).join('');
      const printed = await run(stage, expand(stage, line.slice(4)), expand(stage, typed));
      played.push(line, ...input, ...linesOf(printed).map(one => settle(stage, one)));
    } else if (!line.startsWith('  ')) played.push(line);
  }
  return played.join('\n');
}

/** What is printed, as lines of a transcript. */
function linesOf({ out = '', err = '', code = 0 }: Partial<Printed>): readonly string[] {
  const split = (text: string): string[] =>
    text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const exit = code === 0 ? [] : [`  [${code}]`];
  return [...split(out).map(one => `  ${one}`), ...split(err).map(one => `  ! ${one}`), ...exit];
}

/** Replaces variables, and `\x1B`, which stands for a character that an editor does not show. */
function expand({ variables }: Stage, text: string): string {
  return text
    .replaceAll(/\$([A-Z]+)\b/g, (name, key: string) => variables.get(key) ?? name)
    .replaceAll(/\\x(?:\{([0-9A-F]+)\}|([0-9A-F]{2}))/g, (_, long?: string, short = '') =>
      String.fromCodePoint(Number.parseInt(long ?? short, 16)),
    );
}

/** Replaces what is different in each run. */
function settle({ variables }: Stage, line: string): string {
  return ADDRESSES.reduce(
    (text, name) => text.replaceAll(variables.get(name) ?? '', `$${name}`),
    line,
  )
    .replaceAll(ROOT, '$ROOT')
    .replaceAll(/\b[0-9a-f]{32}\b/g, id => {
      variables.set('RANDOM', id);
      return '$RANDOM';
    })
    .replace(/prom2otlp \S+ \(node v[^)]*\)/, 'prom2otlp <version>')
    .replace(/[\d.]+ \w+(?= on disk)|(?<="diskBytes": )\d+/, '<size>')
    .replace(/(?<=\.zip: )\d+ B$/, '<size>')
    .replaceAll(/(?<= in )\d[\d.]* m?s\b/g, '<time>')
    .replaceAll(/\p{C}/gu, one => `\\x{${(one.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`);
}

async function run(stage: Stage, line: string, input: string): Promise<Partial<Printed>> {
  const [, variable, value = ''] = /^([A-Z]+)="(.*)"$/.exec(line) ?? [];
  if (variable !== undefined) {
    stage.variables.set(variable, value);
    return {};
  }
  const [, words = '', filter = '', argument = ''] = PIPE.exec(line) ?? [];
  const [, name = '', rest = ''] = /^(\S+) ?(.*)$/s.exec(words) ?? [];
  const command = COMMANDS[name];
  const printed = await (command === undefined
    ? runVerb(stage, words, input)
    : command(stage, rest, input));
  const { out = '' } = printed;
  return { ...printed, out: FILTERS[filter]?.(out, argument) ?? out };
}

async function runVerb(stage: Stage, line: string, input: string): Promise<Printed> {
  const { shell, clock, answers } = stage;
  const [, variables = '', words = ''] =
    /^((?:\w+=\S* )*)prom2otlp ?(.*)$/s.exec(line) ?? expect.fail(`no command: ${line}`);
  const given = [...variables.matchAll(/(\w+)=(\S*)/g)].map(([, name = '', value]) => [
    name,
    value,
  ]);
  const { COLUMNS: columns, ...environment } = {
    ...ENVIRONMENT,
    ...Object.fromEntries(given),
  };
  const before = shell.simulator.requests.count;
  const printed = await shell.type(words, {
    environment,
    clock,
    typed: input,
    ...(columns !== undefined && { columns: Number(columns) }),
  });
  answers.length = 0;
  if (printed.code === 2) expect(shell.simulator.requests.count, line).toBe(before);
  return printed;
}

const PIPE = /^(.*?)(?: \| (head|grep|wc) (.*))?$/s;

async function fillQueue(clock: Clock, batch: Batch): Promise<void> {
  const config = loadConfig({ file: 'queue.yaml', environment: {} });
  const queue = openQueue(config, { clock, counters: new Counters(), logger: silentLogger });
  const stored = await queue.commit({ batches: [batch], state: [], reads: [] });
  await queue.close();
  expect(stored.kind).toBe('stored');
}

const FILTERS: Readonly<Record<string, (text: string, argument: string) => string>> = {
  head: (text, count) => text.split('\n').slice(0, -Number(count)).join('\n'),
  grep: (text, word) =>
    text
      .split('\n')
      .filter(line => line.includes(word))
      .join('\n'),
  wc: text => String(text.split('\n').length - 1),
};

type Command = (
  stage: Stage,
  rest: string,
  input: string,
) => Partial<Printed> | Promise<Partial<Printed>>;

const COMMANDS: Readonly<Record<string, Command>> = {
  /** Writes a file. */
  write: ({ shell }, name, input) => {
    shell.files.write(name, input);
    return {};
  },
  cat: (_, name) => ({ out: readFileSync(name, 'utf8') }),
  /** Shows who may read a file. */
  mode: (_, name) => ({ out: (statSync(name).mode & 0o777).toString(8) }),
  /** Sets the faults of the simulated service, in place of those before. */
  faults: ({ shell }, json) => {
    shell.simulator.resetFaults();
    shell.simulator.setFaults(JSON.parse(json));
    return {};
  },
  /** `answer STATUS BODY`: a further answer of $OTHER to the next verb; a long body follows, as in a file. */
  answer: ({ answers }, rest, input) => {
    const [, status = '', body = ''] = /^(\d+) ?(.*)$/.exec(rest) ?? [];
    answers.push({ status: Number(status), body: body + input });
    return {};
  },
  /** Shows the kinds of requests to $OTHER since the last time: several may be under way at once. */
  received: ({ received }) => {
    const lines = received.splice(0).map(({ method, path, headers }) => {
      const key = headers['x-key'] === undefined ? '' : ' with x-key';
      return `${method} ${path}${key}`;
    });
    return { out: [...new Set(lines)].sort().join('\n') };
  },
  /** Changes the key that the simulated service accepts. */
  key: ({ shell }, key) => {
    shell.simulator.key = key === '' ? SHELL_KEY : key;
    return {};
  },
  /** `fill SERVICE=POINTS,… MINUTES`: puts a request, made so long ago, into the queue of queue.yaml. */
  fill: async ({ clock }, rest) => {
    const [parts = '', minutes] = rest.split(' ');
    const points = [...parts.matchAll(/(\w+)=(\d+)/g)].map(([, id, n]) => [id, Number(n)]);
    const madeAtMs = clock.nowMs() - Number(minutes) * MINUTE_MS;
    await fillQueue(clock, metricsBatch(Object.fromEntries(points), madeAtMs));
    return {};
  },
  /** `fill-logs SERVICE RECORDS MINUTES`: the same with log records. */
  'fill-logs': async ({ clock }, rest) => {
    const [service = '', records, minutes] = rest.split(' ');
    const bodies = Array.from({ length: Number(records) }, (_, i) => `record ${i}`);
    const madeAtMs = clock.nowMs() - Number(minutes) * MINUTE_MS;
    await fillQueue(clock, logsBatch(service, bodies, madeAtMs));
    return {};
  },
  /** Changes the file of the queue as another program would. */
  sql: (_, statement) => {
    const database = new DatabaseSync('queue/queue.sqlite');
    database.exec(statement);
    database.close();
    return {};
  },
  /** Lets minutes pass. */
  wait: ({ clock }, minutes) => {
    clock.forward(Number(minutes) * MINUTE_MS);
    return {};
  },
  /** Shows the requests to the simulated service since the last time. */
  requests: stage => {
    const { latest, count } = stage.shell.simulator.requests;
    const recent = latest.slice(latest.length - (count - stage.shown));
    stage.shown = count;
    return { out: recent.map(({ method, url }) => `${method} ${url}`).join('\n') };
  },
};

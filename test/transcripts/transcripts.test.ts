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
// server ($OTHER), a free address for a daemon ($DAEMON) and a clock of its own; $RANDOM is the last random id that was
// printed. Besides prom2otlp one can type COMMANDS (support/transcript-stage.ts), and FILTERS after a pipe; COLUMNS makes
// stdout a terminal. A mistake (exit 2) must not have sent a request, and no output may hold a secret
// (support/service-shell.ts).

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFaultySimulator } from '../support/faulty-simulator.ts';
import { findClosedPort, startHttpServer } from '../support/http-server.ts';
import { ServiceShell, SHELL_ENVIRONMENT, SHELL_KEY } from '../support/service-shell.ts';
import { COMMANDS, type Stage, StageClock } from '../support/transcript-stage.ts';
import type { Printed } from '../support/verb-context.ts';

const ROOT = join(import.meta.dirname, '../..');
/** A pod: there, a localhost in the configuration is no reason for a warning, on whatever machine the tests run. */
const ENVIRONMENT = { ...SHELL_ENVIRONMENT, KUBERNETES_SERVICE_HOST: '10.0.0.1' };
const ADDRESSES = ['SERVICE', 'OTHER', 'DIRECTORY', 'LOCALHOST', 'HOST', 'DAEMON'];

test.each(globSync('*/*.txt', { cwd: import.meta.dirname }).sort())('%s', async name => {
  const file = join(import.meta.dirname, name);
  const expected = readFileSync(file, 'utf8');
  expect(expected, 'no command: each begins with two blanks and a dollar').toMatch(/^ {2}\$ /m);
  const found = await play(expected);
  if (process.env['UPDATE'] === '1') writeFileSync(file, found);
  else expect(found).toBe(expected);
});

/** The text with the output of its commands as it is now. */
async function play(text: string): Promise<string> {
  const clock = new StageClock();
  const simulator = await startFaultySimulator({ clock, key: SHELL_KEY });
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
    ['DAEMON', `127.0.0.1:${await findClosedPort()}`],
  ]);
  const nothing = { shown: 0, daemon: null, ends: [] };
  const stage: Stage = { shell, clock, variables, answers, received: other.requests, ...nothing };
  const home = process.cwd();
  process.chdir(shell.files.path);
  try {
    return await playLines(stage, text.split('\n'));
  } finally {
    process.chdir(home);
    for (const end of stage.ends) await end();
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
    .replace(/(?<=prom2otlp )\d\S*(?=,)|(?<="version": ")[^"]+/, '<version>')
    .replace(/(?<=- system: ).*/, '<system>')
    .replace(/saves .* KiB(?= \()/, 'saves <size>')
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

const FILTERS: Readonly<Record<string, (text: string, argument: string) => string>> = {
  head: (text, count) => text.split('\n').slice(0, -Number(count)).join('\n'),
  grep: (text, word) =>
    text
      .split('\n')
      .filter(line => line.includes(word))
      .join('\n'),
  wc: text => String(text.split('\n').length - 1),
};

// Runs the scripts of the rules: test/rules/*.txt. A script is a list of cases; a case is a target,
// the pages that it gives, and everything that is sent for them. README.md has the language.
//
// A case runs in cumulative and in delta, unless it says `in`; each time once as in ordinary life,
// where a page that repeats its layout is only compared with the one before, and once with every
// page read and written in full: both must send the same. After an intended change, `UPDATE=1`
// writes what is sent now; read the difference.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import type { Refused } from '../../src/model/page.ts';
import type { OtlpPoint } from '../support/otlp-points.ts';
import {
  at,
  type Clocks,
  type Seen,
  shownPoint,
  successorOf,
  survivorOf,
  Target,
  type TargetOptions,
} from '../support/target.ts';
import { WireSanity } from '../support/wire-sanity.ts';

const MODES = ['cumulative', 'delta'] as const;
type Mode = (typeof MODES)[number];
type Path = 'full' | 'repeating';

interface Step {
  /** The number of its line in the script. */
  readonly line: number;
  readonly verb: string;
  readonly words: readonly string[];
  readonly page: string[];
  readonly wanted: string[];
}

interface Case {
  readonly title: string;
  readonly steps: Step[];
  /** Blocks of the configuration that differ from the defaults. */
  readonly config: Record<string, unknown>;
  /** Metrics whose points the script does not list. */
  readonly hidden: readonly string[];
  services: readonly string[];
  modes: readonly Mode[];
  mayGoBack: boolean;
}

const EXPECTED = /^(?:(?:cumulative|delta) )?(?:->|told) /;
const VERBS = new Set(['page', 'fail', 'restart', 'kill', 'new']);

function readScript(file: string, text: string): readonly Case[] {
  const cases: Case[] = [];
  const hidden: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const wrong = (cause: string): Error =>
      new Error(
        `cannot read ${file}:${index + 1}: ${cause}; test/rules/README.md has the language`,
      );
    if (/^(#.*|\s*)$/.test(line)) continue;
    const [verb = '', ...words] = line.split(' ');
    const rest = words.join(' ');
    const current = cases.at(-1);
    const step = current?.steps.at(-1);
    if (verb === '==') {
      const start = { title: rest, steps: [], config: {}, hidden, services: ['local'] };
      cases.push({ ...start, modes: MODES, mayGoBack: false });
    } else if (verb === 'hide' && current === undefined) hidden.push(rest);
    else if (current === undefined) throw wrong('a case begins with `== title`');
    else if (VERBS.has(verb)) {
      current.steps.push({ line: index + 1, verb, words, page: [], wanted: [] });
    } else if (step !== undefined && line.startsWith('  ')) step.page.push(line.slice(2));
    else if (step !== undefined && EXPECTED.test(line)) step.wanted.push(line);
    else if (step !== undefined) throw wrong('no page line (two blanks), `->`, `told`, or step');
    else if (verb === 'with') Object.assign(current.config, parse(rest));
    else if (verb === 'services') current.services = words;
    else if (verb === 'in') current.modes = MODES.filter(mode => words.includes(mode));
    else if (line === 'clock corrected') current.mayGoBack = true;
    else throw wrong(`unknown setting \`${verb}\``);
  }
  return cases;
}

function optionsOf(script: Case, temporality: Mode): TargetOptions {
  const services = script.services.map(id => ({ id }));
  const api = { base_url: 'http://localhost', key: 'none' };
  const text = stringify({ api, services, ...script.config });
  const config = parseConfig(text, { file: 'script', environment: {} });
  const { metrics, unconfiguredServices: unconfigured } = config;
  const sanity = new WireSanity({ mayGoBack: script.mayGoBack });
  return { services: script.services, metrics, temporality, unconfigured, sanity };
}

/** `60 server=55`: when a scrape began, and the clocks that differ from this time. */
function timesOf({ words }: Step): readonly [seconds: number, clocks: Clocks] {
  const clocks = words.slice(1).filter(word => /^(wall|server|monotonic)=/.test(word));
  const entries = clocks.map(clock => clock.split('='));
  const times = entries.map(([name = '', time]) => [name, Number(time)]);
  return [Number(words[0]), Object.fromEntries(times)];
}

/** `T-5` is five seconds before T0, in seconds since 1970. */
function pageText(lines: readonly string[]): string {
  const text = lines.map(line =>
    line.replace(/ T([+-]?[\d.]*)$/, (_, seconds: string) => ` ${at(Number(seconds)) / 1000}`),
  );
  return text.map(line => `${line}\n`).join('');
}

/** Runs a case. Returns, for each step, the lines for everything that was sent or told. */
function run(script: Case, mode: Mode, path: Path): { told: string[][]; replays: number } {
  let options = optionsOf(script, mode);
  let target = new Target(options);
  let replays = 0;
  const told = script.steps.map(step => {
    if (step.verb === 'new') target = new Target((options = optionsOf(script, mode)));
    else if (step.verb === 'restart') target = successorOf(target, options);
    else if (step.verb === 'kill') target = survivorOf(target, options);
    else {
      const { table } = target.translation;
      if (path === 'full') Object.assign(table, { layout: null, template: null }).line.fill(0);
      const [seconds, clocks] = timesOf(step);
      const seen =
        step.verb === 'page'
          ? target.page(seconds, pageText(step.page), clocks)
          : target.fail(seconds, 'timeout', clocks);
      if (seen.translated.path === 'repeating') replays++;
      return tell(seen, script);
    }
    return [];
  });
  return { told, replays };
}

function tell(seen: Seen, { services, hidden }: Case): string[] {
  const { derived } = seen.translated;
  const areMany = services.length > 1;
  const listed = seen.points.filter(({ metric }) => !hidden.includes(metric));
  const lines = listed.map(
    point => `-> ${areMany ? `${point.serviceId}: ` : ''}${shownWhole(point)}`,
  );
  const reads = Object.entries(seen.reads).map(([outcome, count]) => `${outcome} ${count}`);
  // That all samples are used is the ordinary case.
  if (reads.some(read => !/^(used|metadata) /.test(read)))
    lines.push(`told ${reads.sort().join(', ')}`);
  for (const { id, isUp, reason, isSourceStale, lostUptimes } of derived.services) {
    if (!isUp) lines.push(`told ${id} is down: ${reason}`);
    if (isSourceStale) lines.push(`told ${id} does not move`);
    if (lostUptimes > 0) lines.push(`told ${id} lost ${lostUptimes} uptime`);
  }
  const { refused, earlyTimes, nameLabels, takenLabels } = derived;
  if (refused !== null) lines.push(`told refused by ${listOf(refused)}`);
  if (earlyTimes > 0) lines.push(`told ${earlyTimes} times before 2000`);
  if (nameLabels > 0) lines.push(`told ${nameLabels} labels __name__`);
  if (takenLabels > 0) lines.push(`told ${takenLabels} labels taken`);
  return lines;
}

/** `series: threads 3; a 2, b 1`: the limits, and what was refused by family and by namespace. */
function listOf({ limits, byFamily, byNamespace }: Refused): string {
  const lists = [byFamily, byNamespace].map(counts =>
    [...counts].flatMap(([name, count]) => (name === '' ? [] : [`${name} ${count}`])).join(', '),
  );
  return `${[...limits].sort().join(', ')}: ${lists.filter(Boolean).join('; ')}`;
}

/** A point as a text; the marker of a histogram or summary also shows its bounds or quantiles. */
function shownWhole(point: OtlpPoint): string {
  const { flags, distribution } = point;
  const isMarker = flags === 1 && distribution !== '';
  return isMarker
    ? shownPoint(point).replace('} stale ', `} stale (${distribution}) `)
    : shownPoint(point);
}

/** What a step wants in a mode: lines without a mode, and those of this one. */
function wantedIn(step: Step, mode: Mode): string[] {
  const lines = step.wanted.filter(line => /^(->|told)/.test(line) || line.startsWith(`${mode} `));
  return lines.map(line => line.replace(/^(cumulative|delta) /, ''));
}

/** Lines of both modes as one list: those that both have stand once, without a mode. */
function merged(told: readonly (readonly string[])[], modes: readonly Mode[]): string[] {
  const [first = [], second = []] = told;
  if (modes.length === 1) return [...first];
  const lines: string[] = [];
  let next = 0;
  for (const line of first) {
    const found = second.indexOf(line, next);
    if (found < 0) lines.push(`cumulative ${line}`);
    else {
      lines.push(...second.slice(next, found).map(one => `delta ${one}`), line);
      next = found + 1;
    }
  }
  return [...lines, ...second.slice(next).map(one => `delta ${one}`)];
}

/** The text of a script with what is sent now. */
function updated(file: string, text: string): string {
  const lines = text.split('\n').map(line => (EXPECTED.test(line) ? null : line));
  const added = new Map<number, readonly string[]>();
  for (const script of readScript(file, text)) {
    const told = script.modes.map(mode => run(script, mode, 'repeating').told);
    for (const [i, { line, page }] of script.steps.entries())
      added.set(
        line + page.length,
        merged(
          told.map(one => one[i] ?? []),
          script.modes,
        ),
      );
  }
  return lines
    .flatMap((line, i) => [...(line === null ? [] : [line]), ...(added.get(i + 1) ?? [])])
    .join('\n');
}

const files = readdirSync(import.meta.dirname).filter(name => name.endsWith('.txt'));
let replayedPages = 0;

describe.each(files)('%s', file => {
  const name = join(import.meta.dirname, file);
  let text = readFileSync(name, 'utf8');
  if (process.env['UPDATE'] === '1') writeFileSync(name, (text = updated(file, text)));
  test.each(readScript(file, text))('$title', script => {
    expect([script.steps.length, script.modes.length]).not.toContain(0);
    for (const mode of script.modes)
      for (const path of ['repeating', 'full'] as const) {
        const { told, replays } = run(script, mode, path);
        for (const [i, step] of script.steps.entries())
          expect(told[i], `test/rules/${file}:${step.line} (${mode}, ${path} path)`).toEqual(
            wantedIn(step, mode),
          );
        if (path === 'repeating') replayedPages += replays;
        else expect(replays).toBe(0);
      }
  });
});

test('the scripts have pages that repeat their layout', () => {
  expect(replayedPages).toBeGreaterThan(50);
});

test('a mistake in a script is reported with its line', () => {
  expect(() => readScript('x.txt', '== a\npage 0\nx 1')).toThrow(
    'cannot read x.txt:3: no page line',
  );
});

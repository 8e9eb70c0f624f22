// A mutation test: which small faults in src do the unit tests find? In: a seed, a count, a part of src. It draws that many
// faults, makes one at a time in a scratch copy of the last commit (`.mutants/tree`), and runs the unit test files that reach
// the fault, the nearest by imports first, until a test fails. Out: a Markdown table; exit code 1 when a fault survived.
// `.mutants/results.jsonl` keeps the outcomes. A second start continues; on a later commit, only survivors and the faults of
// changed files run again.
//   node tools/mutants.ts --seed 7 --count 120 [--under src/pipeline] [--deadline 60]
// A first run without faults shows which test files reach which block of code. It does not see child processes. A fault that
// the compiler refuses does not count, and another one is drawn. A run is stopped after the deadline plus twice the time that
// its test files take without a fault; such a fault counts as killed.

import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/sync';

/** One fault: `text` instead of the characters from `start` to `end` of a file. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The position just after the opening brace of the block around the fault; null outside of all blocks. */
  readonly probe: number | null;
  /** The change in words, as the table shows it. */
  readonly change: string;
}

interface Outcome {
  readonly mutant: Mutant;
  /** The digest of the file without the fault. */
  readonly sha: string;
  readonly commit: string;
  readonly outcome: 'killed' | 'survived';
  /** The test that failed, or why there is none. */
  readonly by: string;
  readonly seconds: number;
}

/** Data and texts: a wrong entry is a wrong fact, and no test knows the right one. */
const EXCLUDED = /^src\/(catalog\/(?!drift|lookup|table)|status\/page-assets|index\.ts|.*\.d\.ts$)/;
/** Larger numbers are sizes and durations, where one more or less has no meaning. */
const LARGEST_COUNT = 64;

const SWAPS: Partial<Record<SyntaxKind, string>> = {
  [SyntaxKind.LessThanToken]: '<=',
  [SyntaxKind.LessThanEqualsToken]: '<',
  [SyntaxKind.GreaterThanToken]: '>=',
  [SyntaxKind.GreaterThanEqualsToken]: '>',
  [SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [SyntaxKind.PlusToken]: '-',
  [SyntaxKind.MinusToken]: '+',
  [SyntaxKind.AsteriskToken]: '/',
  [SyntaxKind.SlashToken]: '*',
  [SyntaxKind.PercentToken]: '/',
  [SyntaxKind.AmpersandToken]: '|',
  [SyntaxKind.BarToken]: '&',
  [SyntaxKind.LessThanLessThanToken]: '>>',
  [SyntaxKind.GreaterThanGreaterThanToken]: '<<',
  [SyntaxKind.GreaterThanGreaterThanGreaterThanToken]: '<<',
  [SyntaxKind.PlusEqualsToken]: '-=',
  [SyntaxKind.MinusEqualsToken]: '+=',
  [SyntaxKind.AmpersandAmpersandToken]: '||',
  [SyntaxKind.BarBarToken]: '&&',
};

/** Every fault that can be made in a file. Types and imports have none. */
function mutantsOf(file: string, source: SourceFile): readonly Mutant[] {
  const found: Mutant[] = [];
  let probe: number | null = null;
  const visit = (node: Node): void => {
    if (is.isTypeNode(node) || is.isImportDeclaration(node)) return;
    if (is.isInterfaceDeclaration(node) || is.isTypeAliasDeclaration(node)) return;
    for (const [at, text, change] of faultsAt(node, source)) {
      const start = at.getStart(source);
      const line = lineOf(source, start);
      found.push({ file, line, start, end: at.getEnd(), text, probe, change });
    }
    const outer = probe;
    if (is.isBlock(node)) probe = node.getStart(source) + 1;
    node.forEachChild(visit);
    probe = outer;
  };
  source.forEachChild(visit);
  return found;
}

type Fault = readonly [at: Node, text: string, change: string];

function faultsAt(node: Node, source: SourceFile): readonly Fault[] {
  const textOf = (part: Node): string => part.getText(source);
  const replaced = (at: Node, text: string): Fault => [
    at,
    text,
    `${short(textOf(at))} → ${short(text)}`,
  ];
  if (is.isBinaryExpression(node)) {
    const { left, operatorToken, right } = node;
    const other = SWAPS[operatorToken.kind];
    if (other === undefined) return [];
    const change = `${short(textOf(left))} ${textOf(operatorToken)} ${short(textOf(right))} → ${other}`;
    return [[operatorToken, other, change]];
  }
  if (is.isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken)
    return [replaced(node, textOf(node.operand))];
  if (is.isPrefixUnaryExpression(node) || is.isPostfixUnaryExpression(node)) {
    const text = textOf(node);
    if (text.includes('++')) return [replaced(node, text.replace('++', '--'))];
    return text.includes('--') ? [replaced(node, text.replace('--', '++'))] : [];
  }
  if (node.kind === SyntaxKind.TrueKeyword) return [replaced(node, 'false')];
  if (node.kind === SyntaxKind.FalseKeyword) return [replaced(node, 'true')];
  if (is.isNumericLiteral(node)) {
    const value = Number(textOf(node).replaceAll('_', ''));
    return Number.isInteger(value) && value <= LARGEST_COUNT
      ? [[node, String(value + 1), `${short(textOf(node.parent))}: ${value} → ${value + 1}`]]
      : [];
  }
  if (is.isExpressionStatement(node)) return [[node, ';', `removed: ${short(textOf(node))}`]];
  return branchFaults(node, textOf);
}

/** Conditions that never hold, swapped branches, and functions that return at once. */
function branchFaults(node: Node, textOf: (part: Node) => string): readonly Fault[] {
  if (is.isConditionalExpression(node)) {
    const { condition, whenTrue, whenFalse } = node;
    const text = `${textOf(condition)} ? ${textOf(whenFalse)} : ${textOf(whenTrue)}`;
    return [[node, text, `swapped: ${short(textOf(node))}`]];
  }
  if (is.isIfStatement(node)) {
    const { expression, elseStatement } = node;
    const condition = textOf(expression);
    return elseStatement === undefined
      ? [[expression, 'false', `if (${short(condition)}) → if (false)`]]
      : [[expression, `!(${condition})`, `if (${short(condition)}) … else: swapped`]];
  }
  if (is.isBlock(node) && isFunction(node.parent)) {
    const [first] = node.statements;
    return first === undefined
      ? []
      : [[first, `return; ${textOf(first)}`, `returns before: ${short(textOf(first))}`]];
  }
  return [];
}

function isFunction(node: Node): boolean {
  const isNamed = is.isFunctionDeclaration(node) || is.isMethodDeclaration(node);
  return isNamed || is.isArrowFunction(node);
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 50 ? `${line.slice(0, 49)}…` : line;
}

function lineOf(source: SourceFile, position: number): number {
  return source.getLineStarts().findLastIndex(start => start <= position) + 1;
}

/** The same order for the same seed: mulberry32 and a Fisher-Yates shuffle. */
export function shuffled<T>(items: readonly T[], seed: number): readonly T[] {
  const result = [...items];
  let state = seed;
  for (let i = result.length - 1; i > 0; i--) {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    const j = ((bits ^ (bits >>> 14)) >>> 0) % (i + 1);
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

/** The compiler over the files of a folder, where one file at a time may have another text. */
class Compiler {
  readonly #root: string;
  readonly #api: API;
  #changed: { readonly path: string; readonly text: string } | null = null;

  constructor(root: string) {
    this.#root = root;
    const readFile = (path: string): string | undefined =>
      path === this.#changed?.path ? this.#changed.text : undefined;
    this.#api = new API({ cwd: root, fs: { readFile } });
    this.#api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] });
  }

  sourceOf(file: string): SourceFile {
    const source = this.#program().getSourceFile(join(this.#root, file));
    if (source === undefined) throw new Error(`cannot parse ${file}: tsconfig.json leaves it out`);
    return source;
  }

  /** Checks only the mutated file: exported names have explicit types, so an error shows in the file itself. */
  accepts(mutant: Mutant): boolean {
    const path = join(this.#root, mutant.file);
    this.#changed = { path, text: mutated(readFileSync(path, 'utf8'), mutant) };
    const program = this.#program(path);
    const isAccepted =
      program.getSyntacticDiagnostics(path).length === 0 &&
      program.getSemanticDiagnostics(path).length === 0;
    this.#changed = null;
    this.#program(path);
    return isAccepted;
  }

  #program(changed?: string) {
    const snapshot = this.#api.updateSnapshot(
      changed === undefined ? {} : { fileChanges: { changed: [changed] } },
    );
    const [project] = snapshot.getProjects();
    if (project === undefined) throw new Error('BUG: no project is open');
    return project.program;
  }

  close(): void {
    this.#api.close();
  }
}

function mutated(text: string, { start, end, text: fault }: Mutant): string {
  return text.slice(0, start) + fault + text.slice(end);
}

/** `count` faults below `under` that compile, at most one in a line. */
export function drawn(root: string, under: string, seed: number, count: number): readonly Mutant[] {
  const compiler = new Compiler(root);
  const files = globSync('src/**/*.ts', { cwd: root })
    .filter(file => file.startsWith(under) && !EXCLUDED.test(file))
    .sort();
  const all = files.flatMap(file => mutantsOf(file, compiler.sourceOf(file)));
  const result: Mutant[] = [];
  const lines = new Set<string>();
  for (const mutant of shuffled(all, seed)) {
    if (result.length === count) break;
    const line = `${mutant.file}:${mutant.line}`;
    if (lines.has(line) || !compiler.accepts(mutant)) continue;
    lines.add(line);
    result.push(mutant);
  }
  compiler.close();
  return result;
}

/** Matches imports, dynamic imports and `new URL` of modules: all of them are relative paths in quotes. */
const RELATIVE_MODULE = /'(\.{1,2}\/[^'\n]+\.ts)'/g;

/** For each file, the unit test files that reach it, with the number of imports between them. */
export function testsByFile(root: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const files = globSync('{src,test,tools,bench}/**/*.ts', { cwd: root });
  const imports = new Map(
    files.map(file => {
      const text = readFileSync(join(root, file), 'utf8');
      const paths = [...text.matchAll(RELATIVE_MODULE)].map(([, path = '']) => path);
      return [file, paths.map(path => join(dirname(file), path))];
    }),
  );
  const result = new Map<string, Map<string, number>>();
  const isUnitTest = /^test\/(?!e2e|real|deploy|faults|fuzz).*\.test\.ts$/;
  for (const test of files.filter(file => isUnitTest.test(file))) {
    const distances = new Map([[test, 0]]);
    for (const [file, distance] of distances)
      for (const next of imports.get(file) ?? [])
        if (!distances.has(next)) distances.set(next, distance + 1);
    for (const [file, distance] of distances) {
      const tests = result.get(file) ?? new Map<string, number>();
      result.set(file, tests.set(test, distance));
    }
  }
  return result;
}

/**
 * The configuration runs the nearest test files first. In the survey, each test file loads its own modules, so that it also
 * reaches code that runs while they load, and the setup notes which places it reaches.
 */
const CONFIG_FILE = 'mutants.config.ts';
const SETUP_FILE = 'mutants.setup.ts';
const CONFIG = `import config from './vitest.config.ts';
const order = (process.env['MUTANT_TESTS'] ?? '').split(' ');
const place = ({ moduleId }) => order.findIndex(file => moduleId.endsWith('/' + file));
class Nearest {
  sort(files) { return [...files].sort((a, b) => place(a) - place(b)); }
  shard(files) { return files; }
}
const survey = process.env['MUTANT_REACHED'] ? { setupFiles: ['${SETUP_FILE}'], isolate: true } : {};
const projects = config.test.projects.map(({ test }) => ({ test: { ...test, ...survey } }));
export default { test: { ...config.test, projects, sequence: { sequencer: Nearest } } };
`;
const SETUP = `import { appendFileSync } from 'node:fs';
import { afterAll, expect } from 'vitest';
const reached = new Set();
globalThis.mutantReached = place => reached.add(place);
afterAll(() => {
  const line = JSON.stringify({ test: expect.getState().testPath, reached: [...reached] });
  appendFileSync(process.env['MUTANT_REACHED'], line + '\\n');
});
`;

/** Test files that pass without a fault: their seconds, and the places (as `reachedId`) that they reach. */
interface Survey {
  readonly seconds: Readonly<Record<string, number>>;
  readonly reached: Readonly<Record<string, readonly string[]>>;
}

/** A scratch copy of a commit, with the dependencies of the checkout. */
class Scratch {
  readonly #root: string;
  readonly #tests: ReadonlyMap<string, ReadonlyMap<string, number>>;
  #survey: Survey = { seconds: {}, reached: {} };

  constructor(root: string, commit: string) {
    if (!existsSync(root)) {
      mkdirSync(dirname(root), { recursive: true });
      execFileSync('git', ['worktree', 'prune']);
      execFileSync('git', ['worktree', 'add', '--detach', root, commit], { stdio: 'ignore' });
      execFileSync('cp', ['-al', 'node_modules', root]);
    }
    execFileSync('git', ['-C', root, 'checkout', '--quiet', '--force', '--detach', commit]);
    writeFileSync(join(root, CONFIG_FILE), CONFIG);
    writeFileSync(join(root, SETUP_FILE), SETUP);
    this.#root = root;
    this.#tests = testsByFile(root);
  }

  /** Runs the tests without a fault, to learn which of them reach the places of `mutants`, and how long they take. */
  async survey(mutants: readonly Mutant[]): Promise<void> {
    if (mutants.length === 0) return;
    const files = [...new Set(mutants.map(({ file }) => file))];
    const tests = new Set(files.flatMap(file => [...(this.#tests.get(file)?.keys() ?? [])]));
    const report = `${this.#root}-report.json`;
    const reached = `${this.#root}-reached.jsonl`;
    const kept = `${this.#root}-survey-${digest(JSON.stringify([mutants, [...tests]]))}.json`;
    if (!existsSync(kept)) {
      rmSync(reached, { force: true });
      const originals = files.map(file => [file, readFileSync(join(this.#root, file), 'utf8')]);
      for (const [file = '', text = ''] of originals) {
        const probed = withProbes(
          text,
          mutants.filter(mutant => mutant.file === file),
        );
        writeFileSync(join(this.#root, file), probed);
      }
      const args = ['--reporter=json', `--outputFile=${report}`, ...tests];
      await vitest(this.#root, args, { MUTANT_REACHED: reached }, 3600);
      for (const [file = '', text = ''] of originals) writeFileSync(join(this.#root, file), text);
      writeFileSync(kept, JSON.stringify(readSurvey(this.#root, report, reached)));
    }
    this.#survey = JSON.parse(readFileSync(kept, 'utf8')) as Survey;
  }

  /** Runs the tests that reach the fault. `by` is the first test that fails. */
  async run(
    mutant: Mutant,
    deadline: number,
  ): Promise<Pick<Outcome, 'outcome' | 'by' | 'seconds'>> {
    const tests = this.#testsOf(mutant);
    if (tests.length === 0)
      return { outcome: 'survived', by: 'no unit test reaches it', seconds: 0 };
    const usual = tests.reduce((sum, test) => sum + (this.#survey.seconds[test] ?? 0), 0);
    const path = join(this.#root, mutant.file);
    const text = readFileSync(path, 'utf8');
    const startedMs = performance.now();
    try {
      writeFileSync(path, mutated(text, mutant));
      const { code, output } = await vitest(
        this.#root,
        ['--bail=1', ...tests],
        { MUTANT_TESTS: tests.join(' ') },
        deadline + 2 * usual,
      );
      const seconds = Math.round((performance.now() - startedMs) / 1000);
      if (code === 0) return { outcome: 'survived', by: `${tests.length} files passed`, seconds };
      const failed = /^ *FAIL +(?:\|?unit\|?)? *(.*)$/m.exec(output);
      const by = code === null ? 'deadline' : (failed?.[1] ?? `exit ${code}`);
      return { outcome: 'killed', by, seconds };
    } finally {
      writeFileSync(path, text);
    }
  }

  /** The test files that reach the fault, the nearest first, and of equally near ones the fastest first. */
  #testsOf(mutant: Mutant): readonly string[] {
    const { seconds, reached } = this.#survey;
    const id = reachedId(mutant);
    const distances = this.#tests.get(mutant.file) ?? new Map<string, number>();
    const rank = (test: string): number => (distances.get(test) ?? 0) * 1000 + (seconds[test] ?? 0);
    return [...distances.keys()]
      .filter(test => test in seconds && (mutant.probe === null || reached[test]?.includes(id)))
      .sort((a, b) => rank(a) - rank(b));
  }
}

function reachedId({ file, probe }: Mutant): string {
  return `${file}:${probe}`;
}

/** Adds a call to each block around a fault that notes when the block is reached. */
function withProbes(text: string, mutants: readonly Mutant[]): string {
  const places = new Map(mutants.map(mutant => [mutant.probe ?? -1, reachedId(mutant)]));
  let result = text;
  for (const [at, id] of [...places].sort(([a], [b]) => b - a))
    if (at >= 0)
      result = `${result.slice(0, at)} globalThis.mutantReached?.('${id}'); ${result.slice(at)}`;
  return result;
}

function readSurvey(root: string, report: string, reachedFile: string): Survey {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { name: string; status: string; startTime: number; endTime: number }[];
  };
  const nameOf = (path: string): string => path.slice(root.length + 1);
  const seconds: Record<string, number> = {};
  for (const { name, status, startTime, endTime } of testResults)
    if (status === 'passed') seconds[nameOf(name)] = (endTime - startTime) / 1000;
    else console.error(`not used, for it fails without a fault: ${nameOf(name)}`);
  const lines = readFileSync(reachedFile, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { test: string; reached: string[] });
  return {
    seconds,
    reached: Object.fromEntries(lines.map(({ test, reached }) => [nameOf(test), reached])),
  };
}

/** Runs unit tests with one worker. The code is null when the deadline ended them. */
async function vitest(
  root: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  deadline: number,
): Promise<{ code: number | null; output: string }> {
  const bin = join(root, 'node_modules/.bin');
  const all = ['run', `--config=${CONFIG_FILE}`, '--project=unit', '--maxWorkers=1', ...args];
  const child = spawn(join(bin, 'vitest'), all, {
    cwd: root,
    env: {
      ...process.env,
      ...env,
      PATH: `${bin}:${process.env['PATH']}`,
      CI: 'true',
      NO_COLOR: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Makes a new process group, so that the deadline ends the workers, too.
    detached: true,
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr.on('data', (data: Buffer) => (output += data.toString()));
  const timer = setTimeout(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, deadline * 1000);
  const { promise, resolve: end } = Promise.withResolvers<number | null>();
  child.on('close', end);
  const code = await promise;
  clearTimeout(timer);
  return { code, output };
}

/** The outcomes that still hold at `commit`: kills in files that have not changed, and all outcomes at `commit`. */
function known(results: string, root: string, commit: string): ReadonlyMap<string, Outcome> {
  const lines = existsSync(results) ? readFileSync(results, 'utf8').trim().split('\n') : [];
  const outcomes = lines
    .map(line => JSON.parse(line) as Outcome)
    .filter(
      outcome =>
        outcome.commit === commit ||
        (outcome.outcome === 'killed' && outcome.sha === shaOf(root, outcome.mutant.file)),
    );
  return new Map(outcomes.map(outcome => [JSON.stringify(outcome.mutant), outcome]));
}

function shaOf(root: string, file: string): string {
  const path = join(root, file);
  return existsSync(path) ? digest(readFileSync(path, 'utf8')) : '';
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function row({ mutant, outcome, by, seconds }: Outcome): string {
  const cells = [`${mutant.file}:${mutant.line}`, mutant.change, outcome, by, `${seconds}`];
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '7' },
      count: { type: 'string', default: '120' },
      under: { type: 'string', default: 'src' },
      deadline: { type: 'string', default: '60' },
    },
  });
  const root = resolve('.mutants/tree');
  const results = '.mutants/results.jsonl';
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  const scratch = new Scratch(root, commit);
  const done = known(results, root, commit);
  const mutants = drawn(root, values.under, Number(values.seed), Number(values.count));
  await scratch.survey(mutants.filter(mutant => !done.has(JSON.stringify(mutant))));
  const outcomes: Outcome[] = [];
  console.log('| place | change | outcome | by | seconds |\n|---|---|---|---|---|');
  for (const mutant of mutants) {
    let outcome = done.get(JSON.stringify(mutant));
    if (outcome === undefined) {
      const sha = shaOf(root, mutant.file);
      const end = await scratch.run(mutant, Number(values.deadline));
      outcome = { mutant, sha, commit, ...end };
      appendFileSync(results, `${JSON.stringify(outcome)}\n`);
    }
    outcomes.push(outcome);
    console.log(row(outcome));
  }
  const survived = outcomes.filter(({ outcome }) => outcome === 'survived').length;
  console.log(
    `\n${outcomes.length} faults: ${outcomes.length - survived} killed, ${survived} survived`,
  );
  if (survived > 0) process.exitCode = 1;
}

if (import.meta.main) await main();

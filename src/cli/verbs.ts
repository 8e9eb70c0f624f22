// The verbs of the program. Reads the arguments of the command line: they name a verb to run or a text to print. The
// file of a verb is loaded when it is needed, so that the other verbs cost no memory.

import { bug } from '../errors.ts';
import { programCommit, programVersion } from '../lib/version.ts';
import { COMPLETE, readCommand, type Request } from './command.ts';
import type { HelpStyle } from './help.ts';
import { format } from './options.ts';
import { action, type Verb, type VerbContext } from './verb.ts';

const VERBS: Readonly<Record<string, () => Promise<{ verb: Verb }>>> = {
  init: () => import('./init.ts'),
  run: () => import('./run.ts'),
  check: () => import('./check.ts'),
  once: () => import('./once.ts'),
  show: () => import('./show.ts'),
  services: () => import('./services.ts'),
  cost: () => import('./cost.ts'),
  backfill: () => import('./backfill.ts'),
  logs: () => import('./logs.ts'),
  backups: () => import('./backups.ts'),
  restores: () => import('./restores.ts'),
  agent: () => import('./agent.ts'),
  queue: () => import('./queue.ts'),
  demo: () => import('./demo.ts'),
  simulate: () => import('./simulate.ts'),
  status: () => import('./status.ts'),
  report: () => import('./report.ts'),
  health: () => import('./health.ts'),
  schema: () => import('./schema.ts'),
  completion: () => Promise.resolve({ verb: completion }),
  version: () => Promise.resolve({ verb: version }),
};

export function loadVerbs(names: readonly string[] = Object.keys(VERBS)): Promise<readonly Verb[]> {
  return Promise.all(names.map(async name => (await VERBS[name]?.())?.verb ?? bug(name)));
}

/** Loads the verb that the arguments name. Throws an OperatorError for a mistake in them. */
export async function readRequest(argv: readonly string[], style: HelpStyle): Promise<Request> {
  if (argv[0] === COMPLETE) return completing(argv.slice(1));
  const end = argv.indexOf('--');
  const options = end < 0 ? argv : argv.slice(0, end);
  if (options.some(word => word === '--version' || word === '-V'))
    return { kind: 'text', text: versionText() };
  const names = Object.keys(VERBS);
  // An option before the verb may have the name of a verb as its value: then both are loaded.
  const named = names.filter(name => argv.includes(name));
  if (named.length === 0) return readCommand(await loadVerbs(), argv, style);
  const others = names.filter(name => !named.includes(name));
  return readCommand(await loadVerbs(named), argv, style, others);
}

// The verbs about the program itself.

function versionText(): string {
  const commit = programCommit();
  const origin = commit === '' ? 'commit unknown' : `commit ${commit.slice(0, 12)}`;
  return `prom2otlp ${programVersion()} (node ${process.version}, ${origin})`;
}

const VERSION_OPTIONS = { format: format('one line, or a JSON object') };

const version: Verb = {
  name: 'version',
  summary: 'version, Node.js, commit',
  actions: [
    action({
      options: VERSION_OPTIONS,
      run: ({ values }, { out }) => {
        const [version, node, commit] = [programVersion(), process.version, programCommit()];
        const isJson = values.format === 'json';
        out.line(isJson ? JSON.stringify({ version, node, commit }) : versionText());
        return 0;
      },
    }),
  ],
  exits: { 0: 'always' },
  examples: [],
};

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const completion: Verb = {
  name: 'completion',
  summary: 'prints the completion script for a shell',
  about: `The script completes verbs, actions, options and their values: files, words, and the services of the
    configuration. Its first line says how to install it.`,
  actions: [
    action({
      words: { value: SHELLS.join('|'), about: 'the shell', count: 'one', offers: SHELLS },
      options: {},
      run: async ({ words }, { out }) => {
        const shell = SHELLS.find(one => one === words[0]) ?? bug('the shell was checked');
        const { SCRIPTS } = await import('./completion.ts');
        out.line(SCRIPTS[shell]);
        return 0;
      },
    }),
  ],
  exits: { 0: 'printed', 2: 'a mistake on the command line' },
  examples: ['source <(prom2otlp completion bash)'],
};

/** Prints the words that may come next. */
function completing(words: readonly string[]): Request {
  const start = async ({ out, environment }: VerbContext): Promise<number> => {
    const { candidates } = await import('./completion.ts');
    const names = Object.keys(VERBS).filter(name => words.includes(name));
    const verbs = await loadVerbs(names.length === 0 ? undefined : names);
    for (const line of candidates(words, verbs, environment)) out.line(line);
    return 0;
  };
  return { kind: 'run', verb: completion, start };
}

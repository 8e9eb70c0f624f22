// The verbs of the program. Reads the arguments of the command line: they name a verb to run or a text to print. The
// file of a verb is loaded when it is needed, so that the other verbs cost no memory.

import { bug, OperatorError } from '../errors.ts';
import { programCommit, programVersion } from '../lib/version.ts';
import { actionHelp, type HelpStyle, programHelp, verbHelp } from './help.ts';
import { action, findAction, suggestion, type Verb } from './verb.ts';

const VERBS: Readonly<Record<string, () => Promise<{ verb: Verb }>>> = {
  init: () => import('./init.ts'),
  run: () => import('./run.ts'),
  check: () => import('./check.ts'),
  once: () => import('./once.ts'),
  show: () => import('./show.ts'),
  services: () => import('./services.ts'),
  logs: () => import('./logs.ts'),
  backups: () => import('./backups.ts'),
  restores: () => import('./restores.ts'),
  agent: () => import('./agent.ts'),
  queue: () => import('./queue.ts'),
  demo: () => import('./demo.ts'),
  simulate: () => import('./simulate.ts'),
  health: () => import('./health.ts'),
  schema: () => import('./schema.ts'),
  completion: () => Promise.resolve({ verb: completion }),
  version: () => Promise.resolve({ verb: version }),
};

export function loadVerbs(): Promise<readonly Verb[]> {
  return Promise.all(Object.values(VERBS).map(async load => (await load()).verb));
}

export type Request =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'run'; readonly verb: Verb; readonly args: readonly string[] };

/** Throws an OperatorError for a verb that does not exist. */
export async function readRequest(argv: readonly string[], style: HelpStyle): Promise<Request> {
  const end = argv.indexOf('--');
  const options = end < 0 ? argv : argv.slice(0, end);
  if (options.some(word => word === '--version' || word === '-V'))
    return { kind: 'text', text: versionText() };
  const isHelp = argv[0] === 'help' || options.some(word => word === '--help' || word === '-h');
  const [name, ...args] = argv.filter(
    (word, index) => !(isHelp && (word.startsWith('-') || (index === 0 && word === 'help'))),
  );
  if (name === undefined) return { kind: 'text', text: programHelp(await loadVerbs(), style) };
  const load = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (load === undefined) throw unknownVerb(name);
  const { verb } = await load();
  if (!isHelp) return { kind: 'run', verb, args };
  const found = findAction(verb, args);
  const text = found === undefined ? verbHelp(verb, style) : actionHelp(verb, found.action, style);
  return { kind: 'text', text };
}

function unknownVerb(name: string): OperatorError {
  const names = Object.keys(VERBS);
  const meant = suggestion(name, names);
  const hint = meant === undefined ? `the verbs are ${names.join(', ')}` : `did you mean ${meant}?`;
  const message = `there is no verb ${JSON.stringify(name)}`;
  return new OperatorError([
    { message, hint: `${hint}; see prom2otlp --help`.replace('?;', '? Or') },
  ]);
}

// The verbs about the program itself.

function versionText(): string {
  const commit = programCommit();
  const origin = commit === '' ? 'commit unknown' : `commit ${commit.slice(0, 12)}`;
  return `prom2otlp ${programVersion()} (node ${process.version}, ${origin})`;
}

const version: Verb = {
  name: 'version',
  summary: 'version, Node.js, commit',
  actions: [
    action({
      options: {},
      run: (_, { out }) => {
        out.line(versionText());
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
  about: `The script completes verbs, actions, options and their values. Its first line says how to install it.`,
  actions: [
    action({
      words: { value: SHELLS.join('|'), about: 'the shell', count: 'one', choices: SHELLS },
      options: {},
      run: async ({ words }, { out }) => {
        const shell = SHELLS.find(one => one === words[0]) ?? bug('the shell was checked');
        const { completionScript } = await import('./completion.ts');
        out.line(completionScript(shell, await loadVerbs()));
        return 0;
      },
    }),
  ],
  exits: { 0: 'printed', 2: 'a mistake on the command line' },
  examples: ['source <(prom2otlp completion bash)'],
};

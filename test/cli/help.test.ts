// The texts that follow from the declarations of the verbs: the help of every verb and action, docs/use/cli.md, the man
// page and the completion. Bash completes here as for a user; the other shells, if installed, only parse their script.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { completionScript } from '../../src/cli/completion.ts';
import { actionHelp, programHelp, verbHelp } from '../../src/cli/help.ts';
import { findAction, runVerb, type VerbContext } from '../../src/cli/verb.ts';
import { loadVerbs } from '../../src/cli/verbs.ts';
import { OperatorError } from '../../src/errors.ts';
import { cliDocuments } from '../../tools/cli-docs.ts';
import { shellWords } from '../support/service-shell.ts';

const style = { width: 100, isColoured: false };
const verbs = await loadVerbs();
const actions = verbs.flatMap(verb => verb.actions.map(action => ({ verb, action })));

test.each(Object.entries(await cliDocuments()))(
  '%s is current (`node tools/cli-docs.ts` writes it)',
  (file, text) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(text);
  },
);

describe('help', () => {
  test('of the program has every verb and action', () => {
    const lines = programHelp(verbs, style).replaceAll(/\s+/g, ' ');
    for (const { verb, action } of actions) {
      expect(lines).toContain(` ${verb.name} `);
      expect(lines).toContain(action.name);
    }
  });

  test.each(actions)('of $verb.name $action.name has every option', ({ verb, action }) => {
    const help = actionHelp(verb, action, style);
    for (const name of Object.keys(action.options)) expect(help).toMatch(`--${name}`);
    const [texts = ''] = help.split('\nExamples:');
    const long = texts.split('\n').filter(line => line.length > style.width);
    expect(long).toEqual([]);
  });

  test('has bold titles where colour is wanted', () => {
    const verb = verbs[0] ?? expect.fail('no verb');
    expect(verbHelp(verb, { ...style, isColoured: true })).toContain('\u001B[1mUsage:');
    expect(verbHelp(verb, style)).not.toContain('\u001B');
  });
});

/** The words of a shell command for prom2otlp, without pipes, redirections and other programs. */
function wordsOf(verb: string, example: string): readonly string[] {
  const joined = example.replaceAll(/\\\n\s*/g, '');
  const own = RegExp(`prom2otlp (${verb}\\b.*?)(?: [|&>].*|\\)|$)`, 's').exec(joined)?.[1];
  return shellWords(own ?? '');
}

const examples = verbs.flatMap(verb =>
  verb.examples
    .filter(example => example.includes('prom2otlp '))
    .map(example => [example, verb] as const),
);

test.each(examples)('the example is legal: %s', async (example, verb) => {
  const [name, ...args] = wordsOf(verb.name, example);
  expect(name).toBe(verb.name);
  expect(findAction(verb, args)).toBeDefined();
  // An action that uses its context has accepted its arguments.
  const isReached = new Error('reached');
  const context = new Proxy(
    {},
    {
      get: () => {
        throw isReached;
      },
    },
  ) as VerbContext;
  const error = await runVerb(verb, args, context).catch((error: unknown) => error);
  const isFileMissing = error instanceof OperatorError && error.message.startsWith('cannot read ');
  if (!isFileMissing) expect(error).toBe(isReached);
});

describe('completion', () => {
  const script = completionScript('bash', verbs);

  /** The completions that bash offers after these words; the last word is being typed. */
  function completed(...words: string[]): readonly string[] {
    const call = [
      `COMP_WORDS=(prom2otlp ${words.map(word => `'${word}'`).join(' ')})`,
      `COMP_CWORD=${words.length}`,
      '_prom2otlp; printf "%s\\n" "${COMPREPLY[@]}"',
    ];
    const input = [script, ...call].join('\n');
    const text = execFileSync('bash', ['--norc'], { input, encoding: 'utf8', cwd: 'config' });
    return text.split('\n').filter(line => line !== '');
  }

  test('in bash: verbs, actions, options, their values and files', () => {
    expect(completed('')).toEqual([...verbs.map(({ name }) => name), '--help']);
    expect(completed('ru')).toEqual(['run']);
    expect(completed('queue', 'd')).toEqual(['drain']);
    expect(completed('backups', 'schedules', 'c')).toEqual(['create']);
    expect(completed('queue', 'drain', '--e')).toEqual(['--endpoint']);
    expect(completed('logs', 'download', '--format', '')).toEqual(['raw', 'json']);
    expect(completed('check', '-c', 'min')).toEqual(['minimal.yaml']);
    expect(completed('check', '--config', '=', 'min')).toEqual(['minimal.yaml']);
    expect(completed('logs', 'download', '--format', '=')).toEqual(['raw', 'json']);
    expect(completed('show', 'decode', 'schema')).toEqual(['schema.json']);
    expect(completed('show', 'decode', '--jso')).toEqual(['--jsonl']);
    expect(completed('queue', 'drain', '--endpoint', 'r')).toEqual([]);
    expect(completed('completion', 'z')).toEqual(['zsh']);
  });

  test.each(['zsh', 'fish'] as const)('in %s: the shell can read the script', shell => {
    const text = completionScript(shell, verbs);
    for (const { action } of actions)
      for (const name of Object.keys(action.options)) expect(text).toMatch(name);
    try {
      execFileSync(shell, ['-n'], { input: text });
    } catch (error) {
      // If the shell is not installed, only the text is checked.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  });
});

// The texts that follow from the declarations of the verbs: the help of every verb and action, docs/use/cli.md, the man
// page and the completion. Bash completes here as for a user; the other shells, if installed, only parse their script.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readCommand } from '../../src/cli/command.ts';
import { candidates, SCRIPTS } from '../../src/cli/completion.ts';
import { shownOptions } from '../../src/cli/help.ts';
import type { VerbContext } from '../../src/cli/verb.ts';
import { loadVerbs } from '../../src/cli/verbs.ts';
import { OperatorError } from '../../src/errors.ts';
import { cliDocuments } from '../../tools/cli-docs.ts';
import { tempDirectory } from '../support/program.ts';
import { shellWords } from '../support/service-shell.ts';

const PROGRAM = new URL('../../bin/prom2otlp.js', import.meta.url).pathname;

const style = { width: 100, isColoured: false };
const verbs = await loadVerbs();
const actions = verbs.flatMap(verb => verb.actions.map(action => ({ verb, action })));

test.each(Object.entries(await cliDocuments()))(
  '%s is current (`node tools/cli-docs.ts` writes it)',
  (file, text) => {
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(text);
  },
);

/** The help that these words ask for. */
function helpOf(words: readonly string[], isColoured = false): string {
  const request = readCommand(verbs, [...words, '--help'], { ...style, isColoured });
  return request.kind === 'text' ? request.text : expect.fail('no help');
}

const commandOf = (verb: string, action: string): string[] =>
  [verb, ...action.split(' ')].filter(word => word !== '');

describe('help', () => {
  test('of the program has every verb and action', () => {
    const lines = helpOf([]).replaceAll(/\s+/g, ' ');
    for (const { verb, action } of actions) {
      expect(lines).toContain(` ${verb.name} `);
      expect(lines).toContain(action.name);
    }
  });

  test.each(actions)('of $verb.name $action.name has every option', ({ verb, action }) => {
    const help = helpOf(commandOf(verb.name, action.name));
    for (const [name] of shownOptions(action.options)) expect(help).toMatch(`--${name}`);
    const [texts = ''] = help.split('\nExamples:');
    const long = texts.split('\n').filter(line => line.length > style.width);
    expect(long).toEqual([]);
  });

  test('has bold titles where colour is wanted', () => {
    for (const title of ['Usage:', 'Options:', 'Exit codes:', 'Examples:'])
      expect(helpOf(['run'], true)).toContain(`\u001B[1m${title}`);
    expect(helpOf(['run'])).not.toContain('\u001B');
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
  const request = readCommand(verbs, wordsOf(verb.name, example), style);
  if (request.kind !== 'run') expect.fail('it is no command');
  expect(request.verb).toBe(verb);
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
  const run = async (): Promise<number> => request.start(context);
  const error = await run().catch((error: unknown) => error);
  const isFileMissing = error instanceof OperatorError && error.message.startsWith('cannot read ');
  if (!isFileMissing) expect(error).toBe(isReached);
});

describe('completion', () => {
  const config = 'any.yaml';

  /** The words that are offered after these words; the last one is being typed. */
  function offered(...words: string[]): readonly string[] {
    return candidates(words, verbs, {}).map(line => line.split('\t')[0] ?? '');
  }

  test('offers verbs, actions, options and their values', () => {
    const names = verbs.map(({ name }) => name);
    expect(offered('')).toEqual([...names, '-c', '--config', '--format', '--help']);
    expect(offered('ru')).toEqual(['run']);
    expect(candidates(['ru'], verbs, {})).toEqual(['run\truns the daemon']);
    expect(offered('queue', 'd')).toEqual(['drain']);
    expect(offered('-c', config, 'queue', 'd')).toEqual(['drain']);
    expect(offered('backups', 'schedules', 'c')).toEqual(['create']);
    expect(offered('queue', 'drain', '--e')).toEqual(['--endpoint']);
    expect(offered('logs', 'download', '--format', '')).toEqual(['raw', 'json']);
    expect(offered('logs', 'list', '--type', 's')).toEqual(['slow-query-log']);
    expect(offered('show', 'decode', '--f')).toEqual(['--format']);
    expect(offered('queue', 'drain', '--endpoint', 'r')).toEqual([]);
    expect(offered('completion', 'z')).toEqual(['zsh']);
  });

  test('leaves files to the shell', () => {
    expect(offered('check', '-c', 'min')).toEqual([':files']);
    expect(offered('-c', '')).toEqual([':files']);
    expect(offered('show', 'decode', 'schema')).toEqual([':files']);
    expect(offered('show', 'decode', '--in')).toEqual(['--input']);
  });

  test('reads --name=value as one word, and as the three of bash', () => {
    expect(offered('show', 'decode', '--format=j')).toEqual(['--format=json']);
    expect(offered('show', 'decode', '--format', '=')).toEqual(['table', 'json']);
    expect(offered('show', 'decode', '--format', '=', 'j')).toEqual(['json']);
  });

  test('offers the services of the configuration', () => {
    const ids = ['dbpgf12345678', 'dbpgf87654321'];
    using files = tempDirectory();
    const services = [{ id: ids[0], name: 'orders' }, { id: ids[1] }];
    const text = { api: { base_url: 'https://api.example.com', key: 'k' }, services };
    const file = files.write('config.yaml', JSON.stringify(text));
    expect(offered('services', '-c', file, '--service-id', '')).toEqual(ids);
    expect(offered('-c', file, 'services', '--service-id', 'dbpgf8')).toEqual([ids[1]]);
    const line = `${ids[0]}\torders`;
    const words = ['restores', 'list', '--service-id', 'dbpgf1'];
    expect(candidates(words, verbs, { PROM2OTLP_CONFIG: file })).toEqual([line]);
    expect(candidates(words, verbs, { PROM2OTLP_CONFIG: `${file}.gone` })).toEqual([]);
  });

  test('in bash: the script asks the program, and completes files', () => {
    const ask = (...words: string[]): readonly string[] => {
      const input = [
        SCRIPTS.bash,
        `prom2otlp() { '${process.execPath}' '${PROGRAM}' "$@"; }`,
        `COMP_WORDS=(prom2otlp ${words.map(word => `'${word}'`).join(' ')})`,
        `COMP_CWORD=${words.length}`,
        '_prom2otlp prom2otlp; printf "%s\\n" "${COMPREPLY[@]}"',
      ].join('\n');
      const text = execFileSync('bash', ['--norc'], { input, encoding: 'utf8', cwd: 'config' });
      return text.split('\n').filter(line => line !== '');
    };
    expect(ask('completion', '')).toEqual(['bash', 'zsh', 'fish', '--help']);
    expect(ask('check', '--config', '=', 'min')).toEqual(['minimal.yaml']);
  });

  test.each(['zsh', 'fish'] as const)('in %s: the shell can read the script', shell => {
    expect(SCRIPTS[shell]).toContain('__complete');
    try {
      execFileSync(shell, ['-n'], { input: SCRIPTS[shell] });
    } catch (error) {
      // If the shell is not installed, only the text is checked.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  });
});

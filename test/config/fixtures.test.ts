// The corpus: each *.bad.yaml holds one mistake, and its first line says the mistake's place and the words
// that the message must have. Each *.good.yaml loads.

import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { formatMistake, type Mistake } from '../../src/errors.ts';
import { judgeFile, loadConfig, warningMistakes } from '../../src/config/load.ts';
import { mistakesOf } from '../support/mistakes.ts';

const directory = new URL('../fixtures/config/', import.meta.url);
const files = readdirSync(directory);
const environment = {
  EMPTY: '',
  HOST: 'api.example.com',
  NO: 'false',
  NUMBER: '007',
  PARSECS: '10 parsecs',
  SECONDS: '7',
  SHARE: '0.25',
};

const pathOf = (name: string): string => new URL(name, directory).pathname;
const mistakesIn = (name: string): readonly Mistake[] =>
  mistakesOf(() => loadConfig({ file: pathOf(name), environment }));

/** Expects one mistake, with the place and the words of the file's first line. Returns its text. */
function expectOne(mistakes: readonly Mistake[], name: string): string {
  const [first = ''] = readFileSync(pathOf(name), 'utf8').split('\n');
  const [, place, words] = /^# expect: (\d+:\d+) (.+)$/.exec(first) ?? [];
  expect(words, 'the first line says what is expected').toBeDefined();
  const shown = mistakes.map(formatMistake).join('\n');
  expect(shown).toContain(words);
  expect(mistakes, shown).toHaveLength(1);
  expect(`${mistakes[0]?.line}:${mistakes[0]?.column}`, shown).toBe(place);
  return shown;
}

describe('a file with one mistake', () => {
  const bad = files.filter(name => name.endsWith('.bad.yaml'));

  test('exists for each kind of mistake', () => {
    expect(bad.length).toBeGreaterThan(100);
  });

  test.each(bad)('%s', name => {
    const shown = expectOne(mistakesIn(name), name);
    expect(shown).not.toMatch(/Invalid|zod|undefined|\n\s+at /);
  });
});

describe('a likely mistake in a valid file', () => {
  const warned = files.filter(name => name.endsWith('.warn.yaml'));
  const warningsIn = (name: string, isContainer: boolean): readonly Mistake[] =>
    warningMistakes(judgeFile({ file: pathOf(name), environment }), isContainer);

  test.each(warned)('%s', name => {
    const warnings = warningsIn(name, name.startsWith('container'));
    expect(expectOne(warnings, name)).not.toContain('canary');
  });

  test('is not found in good files, nor localhost outside of a container', () => {
    const quiet = [
      'references.good.yaml',
      'metrics-interval-long.good.yaml',
      'container-localhost.warn.yaml',
    ];
    expect(quiet.flatMap(name => warningsIn(name, false)).map(formatMistake)).toEqual([]);
  });

  test('that is a mistake gets no suggestion that is one, too', () => {
    const one = ['key-of-one-letter.bad.yaml', 'key-of-one-letter-in-api.bad.yaml'];
    for (const name of ['metrics-limit-size-negative.bad.yaml', ...one])
      expect(mistakesIn(name).map(formatMistake).join()).not.toContain('did you mean');
  });

  test('of a variable names the variable', () => {
    const file = pathOf('otlp-grpc.good.yaml');
    const text = 'api: {base_url: https://a, key: "${env:NUMBER}"}\nservices: [{id: x}]\n';
    const readFile = (): { text: string } => ({ text });
    const variables = { NUMBER: '1', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://b:4317' };
    const judgement = judgeFile({ file, environment: variables, readFile });
    expect(warningMistakes(judgement, true).map(formatMistake)).toEqual([
      expect.stringMatching(
        /^OTEL_EXPORTER_OTLP_ENDPOINT: port 4317 is usually for OTLP over gRPC/,
      ),
    ]);
  });
});

describe('a good file', () => {
  test.each(files.filter(name => name.endsWith('.good.yaml')))('%s loads', name => {
    expect(mistakesIn(name).map(formatMistake)).toEqual([]);
  });
});

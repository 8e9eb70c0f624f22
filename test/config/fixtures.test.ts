// The corpus: each *.bad.yaml holds one mistake, each *.warn.yaml one that is likely. test/golden/wordings.txt has what is
// said of each, with its place; `UPDATE=1` rewrites it. Each *.good.yaml loads.

import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { formatMistake, type Mistake } from '../../src/errors.ts';
import { judgeFile, loadConfig, warningMistakes } from '../../src/config/load.ts';
import { mistakesOf } from '../support/mistakes.ts';
import { expectWordings } from '../support/wordings.ts';

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

const bad = files.filter(name => name.endsWith('.bad.yaml'));
const warned = files.filter(name => name.endsWith('.warn.yaml'));
const warningsIn = (name: string, isContainer: boolean): readonly Mistake[] =>
  warningMistakes(judgeFile({ file: pathOf(name), environment }), isContainer);

/** What is said of a file, without its name. */
function wordsOf(name: string): string {
  const mistakes = name.endsWith('.bad.yaml')
    ? mistakesIn(name)
    : warningsIn(name, name.startsWith('container'));
  expect(mistakes, mistakes.map(formatMistake).join('\n')).toHaveLength(1);
  return mistakes
    .map(formatMistake)
    .join()
    .replaceAll(directory.pathname, '')
    .replace(`${name}:`, '');
}

describe('a file with one mistake', () => {
  test('exists for each kind of mistake', () => {
    expect(bad.length).toBeGreaterThan(100);
  });

  test.each(bad)('%s', name => {
    const words = wordsOf(name);
    expectWordings(`config: ${name}`, [words]);
    expect(words).toMatch(/^\d+:\d+: /);
    expect(words).not.toMatch(/Invalid|zod|undefined|\n\s+at /);
  });
});

describe('a likely mistake in a valid file', () => {
  test.each(warned)('%s', name => {
    const words = wordsOf(name);
    expectWordings(`config: ${name}`, [words]);
    expect(words).not.toContain('canary');
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

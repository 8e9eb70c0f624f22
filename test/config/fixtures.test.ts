// The corpus: each *.bad.yaml holds one mistake, and its first line says its place and which words the
// message must have. Each *.good.yaml loads.

import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { OperatorError, formatMistake, type Mistake } from '../../src/errors.ts';
import { judgeFile, loadConfig, warningMistakes } from '../../src/config/load.ts';

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

function mistakesOf(name: string): readonly Mistake[] {
  try {
    loadConfig({ file: new URL(name, directory).pathname, environment });
    return [];
  } catch (error) {
    if (error instanceof OperatorError) return error.mistakes;
    throw error;
  }
}

describe('a file with one mistake', () => {
  const bad = files.filter(name => name.endsWith('.bad.yaml'));

  test('exists for each kind of mistake', () => {
    expect(bad.length).toBeGreaterThan(100);
  });

  test.each(bad)('%s', name => {
    const [first = ''] = readFileSync(new URL(name, directory), 'utf8').split('\n');
    const expected = /^# expect: (\d+):(\d+) (.+)$/.exec(first);
    expect(expected, 'the first line says what is expected').not.toBeNull();
    const mistakes = mistakesOf(name);
    const shown = mistakes.map(formatMistake).join('\n');
    expect(shown).toContain(expected?.[3]);
    expect(mistakes, shown).toHaveLength(1);
    expect(`${String(mistakes[0]?.line)}:${String(mistakes[0]?.column)}`, shown).toBe(
      `${String(expected?.[1])}:${String(expected?.[2])}`,
    );
    expect(shown).not.toMatch(/Invalid|zod|undefined|\n\s+at /);
  });
});

describe('a likely mistake in a valid file', () => {
  const warned = files.filter(name => name.endsWith('.warn.yaml'));
  const warningsIn = (name: string, isContainer: boolean): readonly Mistake[] =>
    warningMistakes(
      judgeFile({ file: new URL(name, directory).pathname, environment }),
      isContainer,
    );

  test.each(warned)('%s', name => {
    const [first = ''] = readFileSync(new URL(name, directory), 'utf8').split('\n');
    const [, place, words] = /^# expect: (\d+:\d+) (.+)$/.exec(first) ?? [];
    const warnings = warningsIn(name, name.startsWith('container'));
    const shown = warnings.map(formatMistake).join('\n');
    expect(shown).toContain(words);
    expect(warnings, shown).toHaveLength(1);
    expect(`${warnings[0]?.line}:${warnings[0]?.column}`, shown).toBe(place);
    expect(shown).not.toContain('canary');
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
      expect(mistakesOf(name).map(formatMistake).join()).not.toContain('did you mean');
  });

  test('of a variable names the variable', () => {
    const file = new URL('otlp-grpc.good.yaml', directory).pathname;
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
    expect(mistakesOf(name).map(formatMistake)).toEqual([]);
  });
});

import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

// The names are read off the sources, since no single run registers them all. Names, help texts and label names
// therefore have to stand there as they are, not as the result of a computation.

const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));
const CALL = /counters\s*\.(counter|gauge)\(/g;
const TEXT = String.raw`'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"`;
const LITERAL_CALL = new RegExp(
  String.raw`counters\s*\.(counter|gauge)\(\s*'([^']+)',\s*(?:${TEXT})(?:,\s*\[([^\]]*)\])?,?\s*\)`,
  'g',
);

interface Registration {
  readonly file: string;
  readonly kind: 'counter' | 'gauge';
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

const files = globSync('**/*.ts', { cwd: SOURCES }).map(file => ({
  file,
  source: readFileSync(`${SOURCES}${file}`, 'utf8').replaceAll(/^\s*\/\/.*$/gm, ''),
}));

const registrations: readonly Registration[] = files.flatMap(({ file, source }) =>
  [...source.matchAll(LITERAL_CALL)].map(([, kind, name = '', single, double, labels = '']) => ({
    file,
    kind: kind as 'counter' | 'gauge',
    name,
    help: single ?? double ?? '',
    labels: labels.split(',').flatMap(label => label.trim().replaceAll("'", '') || []),
  })),
);

/** A gauge ends in its unit or in a plural of what is counted; these few say enough in the singular. */
const GAUGE_ENDINGS = /(?:s|_info|_up|_ratio|_state)$/;
const SCALED_UNIT =
  /(?:^|_)(?:ms|millis|milliseconds|micros|nanos|minutes|hours|days|kb|mb|gb|kib|mib|gib|percent)(?:_|$)/;

test('this test can read the registration of every counter', () => {
  for (const { file, source } of files) {
    const read = registrations.filter(registration => registration.file === file);
    expect(read.length, file).toBe([...source.matchAll(CALL)].length);
  }
  expect(registrations.length).toBeGreaterThan(20);
});

test('names have our prefix, base units, and _total where they only grow', () => {
  for (const { kind, name, help } of registrations) {
    expect(name).toMatch(/^prom2otlp(?:_[a-z][a-z0-9]*)+$/);
    expect(name).not.toMatch(SCALED_UNIT);
    expect(name.endsWith('_total'), name).toBe(kind === 'counter');
    if (kind === 'gauge') expect(name).toMatch(GAUGE_ENDINGS);
    if (/^(?:Bytes|Memory)\b/.test(help)) expect(name).toContain('_bytes');
    if (/^(?:Time|Processor time|When|Age)\b/.test(help)) expect(name).toContain('_seconds');
  }
});

test('help texts are sentences, labels are plain names', () => {
  for (const { name, help, labels } of registrations) {
    expect(help, name).toMatch(/^[A-Z0-9].*\.$/);
    expect(help.length, name).toBeLessThan(140);
    for (const label of labels) expect(label, name).toMatch(/^[a-z][a-z0-9_]*$/);
    // Those belong to whoever scrapes.
    expect(labels, name).not.toContain('instance');
    expect(labels, name).not.toContain('job');
    expect(new Set(labels).size, name).toBe(labels.length);
  }
});

test('one name has one meaning everywhere', () => {
  const known = new Map<string, string>();
  for (const { kind, name, help, labels } of registrations) {
    const meaning = JSON.stringify([kind, help, labels]);
    expect(known.get(name) ?? meaning, name).toBe(meaning);
    known.set(name, meaning);
  }
});

// What docs/operate/versions.md promises: nothing of the last release is gone or another without a line in the changelog.

import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import {
  brokenPromises,
  type Promises,
  promises,
  promisesText,
  untold,
} from '../../tools/promises.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const parts = (version: string): number[] => version.split('.').map(Number);

const versions = globSync('test/fixtures/promises/*.json', { cwd: root })
  .map(file => basename(file, '.json'))
  .sort((one, other) => {
    const [[a = 0, b = 0, c = 0], [d = 0, e = 0, f = 0]] = [parts(one), parts(other)];
    return a - d || b - e || c - f;
  });
const last = versions.at(-1) ?? '';
const lastPromises = JSON.parse(read(`test/fixtures/promises/${last}.json`)) as Promises;

test('the present keeps the promises of the last release, or the changelog names what it does not keep', async () => {
  const broken = brokenPromises(lastPromises, await promises());
  // Before its release, `node tools/promises.ts` writes what a version promises.
  expect(untold(broken, read('CHANGELOG.md'), last)).toEqual([]);
});

test('each verb with --format json has a transcript of its JSON', async () => {
  const { verbs = {}, json = {} } = await promises();
  const withJson = Object.entries(verbs).filter(([, facts]) =>
    JSON.stringify(facts).includes('"--json"'),
  );
  expect(withJson.length).toBeGreaterThan(15);
  // They differ from machine to machine.
  const bare = withJson.map(([name]) => name).filter(name => !(name in json));
  expect(bare).toEqual(['report', 'version']);
});

const before: Promises = {
  keys: {
    'metrics.foo': { accepts: ['gzip', 'none'], default: 'gzip' },
    shard: { accepts: ['x'] },
  },
  verbs: {
    check: {
      options: { '--fix': { value: [''], default: null }, '-c': '--config' },
      words: [],
      exits: ['0', '2'],
    },
  },
  json: { status: { 'verdict.title': ['string'], queued: ['null', 'number'] } },
  metrics: { prom2otlp_x_total: { type: 'counter', unit: '', labels: ['service'] } },
  formats: { queue: 1 },
};

/** The promises with one of them changed. */
function but(change: (all: Record<string, Record<string, unknown>>) => void): Promises {
  const copy = structuredClone(before) as unknown as Record<string, Record<string, unknown>>;
  change(copy);
  return copy as unknown as Promises;
}

test.each<[string, Promises, readonly string[]]>([
  ['nothing', before, []],
  ['a key is gone', but(({ keys }) => delete keys?.['metrics.foo']), ['metrics.foo']],
  ['a whole kind is gone', but(all => delete all['keys']), ['metrics.foo', 'shard']],
  [
    'another default',
    but(
      all =>
        (all['keys'] = {
          ...all['keys'],
          'metrics.foo': { accepts: ['gzip', 'none'], default: 'none' },
        }),
    ),
    ['metrics.foo'],
  ],
  [
    'a choice is gone',
    but(
      all =>
        (all['keys'] = { ...all['keys'], 'metrics.foo': { accepts: ['gzip'], default: 'gzip' } }),
    ),
    ['metrics.foo'],
  ],
  [
    'a new choice and a new key',
    but(
      all =>
        (all['keys'] = {
          ...all['keys'],
          a: {},
          'metrics.foo': { accepts: ['zstd', 'none', 'gzip'], default: 'gzip' },
        }),
    ),
    [],
  ],
  [
    'an option is gone',
    but(
      ({ verbs = {} }) =>
        (verbs['check'] = { options: { '-c': '--config' }, words: [], exits: ['0', '2'] }),
    ),
    ['check --fix'],
  ],
  [
    'another exit code',
    but(
      ({ verbs = {} }) => (verbs['check'] = { ...(verbs['check'] as object), exits: ['0', '3'] }),
    ),
    ['check'],
  ],
  ['a verb is gone', but(({ verbs = {} }) => delete verbs['check']), ['check']],
  [
    'a member of the JSON has another type',
    but(
      ({ json = {} }) =>
        (json['status'] = {
          'verdict.title': ['number'],
          queued: ['null', 'number'],
          more: ['string'],
        }),
    ),
    ['status: verdict.title'],
  ],
  [
    'a label is gone',
    but(
      ({ metrics = {} }) =>
        (metrics['prom2otlp_x_total'] = { type: 'counter', unit: '', labels: [] }),
    ),
    ['prom2otlp_x_total'],
  ],
  ['another format', but(({ formats = {} }) => (formats['queue'] = 2)), ['queue']],
])('finds what is broken: %s', (_, now, broken) => {
  expect(brokenPromises(before, now)).toEqual(broken);
});

test('takes a line of the changelog above the last release, and none below', () => {
  const line = '- [CHANGE] Removed: `metrics.foo`; use `metrics.bar`.\n';
  const [new_, old] = ['\n## 0.2.0 (not released)\n\n', '\n## 0.1.0 (2026-03-04)\n\n'];
  const broken = ['metrics.foo', 'check --fix'];
  expect(untold(broken, new_ + line + old, '0.1.0')).toEqual(['check --fix']);
  expect(untold(broken, new_ + old + line, '0.1.0')).toEqual(broken);
  expect(untold(['metrics'], new_ + line + old, '0.1.0')).toEqual(['metrics']);
});

test('writes one promise a line', () => {
  const text = promisesText(before);
  expect(JSON.parse(text)).toEqual(before);
  expect(text.split('\n')).toContain('    "queue": 1');
});

// Every declared key of the configuration, one after the other: after a reload with another value, the running daemon
// has it, or names it as one that needs a restart. A new key is in this loop by itself.

import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { isSame } from '../../src/config/changes.ts';
import { type Block, isBlock, type Key, readAlone } from '../../src/config/declare.ts';
import { CONFIG } from '../../src/config/keys.ts';
import { loadConfig } from '../../src/config/load.ts';
import { Supervisor } from '../../src/daemon/reload.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { tempDirectory } from '../support/program.ts';

/** A configuration as it is written. */
interface Tree {
  readonly [name: string]: unknown;
}

const CA = readFileSync(new URL('../support/tls/ca.pem', import.meta.url), 'utf8');
const [CERTIFICATE, PRIVATE_KEY] = ['client.pem', 'client.key'].map(name =>
  readFileSync(new URL(`../support/tls/${name}`, import.meta.url), 'utf8'),
);
const API = { base_url: 'http://127.0.0.1:1', key: 'k' };
const SERVICE = { id: 'a' };
const OTLP = { endpoint: 'http://127.0.0.1:1' };

const BASE: Tree = {
  api: API,
  services: [SERVICE],
  otlp: OTLP,
  queue: { directory: null },
  log: { level: 'error' },
};

const OAUTH2 = { token_url: 'http://127.0.0.1:1', client_id: 'a', client_secret: 'b' };
const ACCOUNT = {
  client_email: 'a@example.com',
  private_key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }),
  token_uri: 'http://127.0.0.1:1/token',
};
const GOOGLE = { credentials_file: JSON.stringify(ACCOUNT, null, 2) };
const withAuth = (auth: Tree): Tree => ({ otlp: { ...OTLP, auth } });

/** Changes of keys that depend on others, or whose values no general one fits. */
const CHANGES: Readonly<Record<string, Tree>> = {
  'api.timeout': { api: { ...API, timeout: '7s' } },
  'api.ca': { api: { ...API, ca: CA } },
  'api.proxy': { api: { ...API, base_url: 'https://127.0.0.1:1', proxy: 'http://127.0.0.1:2' } },
  services: { services: [SERVICE, { id: 'b' }] },
  'metrics.interval': { metrics: { interval: '1h' } },
  'metrics.prefixes.multimaster': { metrics: { prefixes: { multimaster: ['other_'] } } },
  'metrics.overrides': { metrics: { overrides: [{ match: 'x', type: 'gauge' }] } },
  'metrics.rename': { metrics: { rename: [{ match: 'x', name: 'y' }] } },
  'logs.formats': { logs: { enabled: true, formats: { other: 'lines' } } },
  'otlp.tls.ca': { otlp: { ...OTLP, endpoint: 'https://127.0.0.1:1', tls: { ca: CA } } },
  'otlp.tls.cert': { otlp: { ...OTLP, tls: { cert: CERTIFICATE, key: PRIVATE_KEY } } },
  'otlp.tls.key': { otlp: { ...OTLP, tls: { cert: CERTIFICATE, key: PRIVATE_KEY } } },
  'otlp.auth.basic.user': withAuth({ basic: { user: 'a', password: 'b' } }),
  'otlp.auth.basic.password': withAuth({ basic: { user: 'a', password: 'c' } }),
  'otlp.auth.oauth2.token_url': withAuth({ oauth2: OAUTH2 }),
  'otlp.auth.oauth2.client_id': withAuth({ oauth2: { ...OAUTH2, client_id: 'c' } }),
  'otlp.auth.oauth2.client_secret': withAuth({ oauth2: { ...OAUTH2, client_secret: 'c' } }),
  'otlp.auth.oauth2.scopes': withAuth({ oauth2: { ...OAUTH2, scopes: ['a'] } }),
  'otlp.auth.google.credentials_file': withAuth({ google: GOOGLE }),
  'otlp.auth.google.scopes': withAuth({ google: { ...GOOGLE, scopes: ['a'] } }),
  'inventory.attributes': { inventory: { attributes: ['tier'] } },
  'queue.directory': { queue: { directory: '/nowhere/prom2otlp' } },
  'shard.index': { shard: { index: 1, count: 2 } },
};

const VALUES: readonly unknown[] = [
  ...'7m 7MiB 7KiB http://127.0.0.1:2 127.0.0.1:2 /other Europe/Berlin'.split(' '),
  2,
  500,
  0.25,
  'other',
  ['other'],
  { other: 'x' },
  '2026-01-01T00:00:00Z',
];

/** The leaves of the declaration, with the path as the user writes it. */
function leavesOf(keys: Block<unknown>['keys'], path: readonly string[] = []): Leaf[] {
  return Object.values<Key<unknown>>(keys).flatMap(key => {
    const here = [...path, key.name];
    return isBlock(key.kind) ? leavesOf(key.kind.keys, here) : [{ path: here, key }];
  });
}

interface Leaf {
  readonly path: readonly string[];
  readonly key: Key<unknown>;
}

/** The sections to write for another value of a key. */
function changeOf({ path, key }: Leaf): Tree {
  const name = path.join('.');
  const own = CHANGES[name];
  if (own !== undefined) return own;
  const words = [...JSON.stringify(key.kind.json()).matchAll(/"([a-z/]+)"/g)].map(
    ([, word]) => word,
  );
  const usual = readAlone(key, undefined);
  const isOther = (value: unknown): boolean => {
    const read = readAlone(key, value);
    return read !== undefined && !isSame(read, usual);
  };
  const value = [...words, true, false, ...VALUES].find(isOther);
  if (value === undefined) throw new Error(`no value fits ${name}: add a change to CHANGES`);
  const [section = '', ...rest] = path;
  return { [section]: set(BASE[section], rest, value) };
}

function set(tree: unknown, [first, ...rest]: readonly string[], value: unknown): unknown {
  if (first === undefined) return value;
  const own = (tree ?? {}) as Tree;
  return { ...own, [first]: set(own[first], rest, value) };
}

test('each key is in use after a reload, or is named as one that needs a restart', async () => {
  const directory = tempDirectory();
  onTestFinished(() => directory[Symbol.dispose]());
  const write = (change: Tree): string =>
    directory.write('c.json', JSON.stringify({ ...BASE, ...change }));
  const file = write({});
  const supervisor = await Supervisor.open({ file, environment: {}, clock });
  onTestFinished(async () => void (await supervisor.daemon.stop(AbortSignal.abort())));
  const { daemon } = supervisor;
  const before = daemon.config;
  const leaves = leavesOf(CONFIG.keys);
  expect(leaves.length).toBeGreaterThan(80);
  for (const leaf of leaves) {
    const name = leaf.path.join('.');
    write(changeOf(leaf));
    const wanted = loadConfig({ file, environment: {} });
    expect(isSame(wanted, before), `${name} has another value`).toBe(false);
    await supervisor.reload();
    const { isFixed } = leaf.key;
    const restart = isFixed ? [name] : [];
    expect(supervisor.lastReload, name).toMatchObject({ mistakes: [], restart });
    const inUse = isFixed ? { ...wanted, queue: before.queue, status: before.status } : wanted;
    expect(isSame(daemon.config, inUse), `${name} is in use`).toBe(true);
    const { metrics, logs } = daemon.config.queue;
    for (const [signal, { maxBytes }] of Object.entries({ metrics, logs }))
      expect(daemon.queue.size(signal as 'metrics' | 'logs').maxBytes, name).toBe(maxBytes);
  }
});

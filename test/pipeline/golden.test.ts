// One folder per rule on names, units, Resources and scopes: pages, and all that is sent for them, in words that a reader
// can check. The rules on sequences of pages are scripts (test/rules); F5-restart is here for `show encode`.
// The pages of a folder are successive scrapes of one target; `pageN.failed` is a failed scrape, and holds the reason.
// case.yaml says what the pages show, and holds the configuration that differs from the defaults. After an intended
// change: `UPDATE=1 npx vitest run --project unit test/pipeline/golden.test.ts`, then read the difference.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { parseDuration } from '../../src/config/units.ts';
import { otlpJson } from '../../src/pipeline/encode/otlp-json.ts';
import { T0, Target } from '../support/target.ts';
import { tellPage } from '../support/tell-page.ts';

interface Case {
  readonly about: string;
  readonly interval?: string;
  readonly [block: string]: unknown;
}

const GOLDEN = join(import.meta.dirname, '../golden');
const cases = readdirSync(GOLDEN, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name);

/** Runs the pages of a folder. Returns the result of each page, with the name of its file. */
function run(name: string): { about: string; pages: ReturnType<typeof runPages> } {
  const folder = join(GOLDEN, name);
  const {
    about,
    interval = '60s',
    ...config
  } = parse(readFileSync(join(folder, 'case.yaml'), 'utf8')) as Case;
  return { about, pages: runPages(folder, config, parseDuration(interval) ?? 60_000) };
}

function runPages(
  folder: string,
  blocks: Readonly<Record<string, unknown>>,
  intervalMs: number,
): { title: string; seen: ReturnType<Target['page']>; payload: Buffer }[] {
  const defaults = {
    api: { base_url: 'http://localhost', key: 'none' },
    services: [{ id: 'local' }],
  };
  const text = stringify({ ...defaults, ...blocks });
  const config = parseConfig(text, { file: 'case.yaml', environment: {} });
  const target = new Target({
    services: config.services.map(({ id }) => id),
    metrics: config.metrics,
    temporality: config.otlp.temporality,
    unconfigured: config.unconfiguredServices,
  });
  const files = readdirSync(folder).filter(file => file.startsWith('page'));
  return files.sort().map((file, index) => {
    const seconds = (index * intervalMs) / 1000;
    const page = readFileSync(join(folder, file));
    const isFailed = file.endsWith('.failed');
    const seen = isFailed
      ? target.fail(seconds, page.toString().trim())
      : target.page(seconds, page);
    const title = `${file} at ${new Date(T0 + seconds * 1000).toISOString().slice(11, 19)}`;
    return { title, seen, payload: Buffer.from(seen.translated.batch.payload) };
  });
}

describe('golden files', () => {
  test.each(cases)('%s', name => {
    const { about, pages } = run(name);
    const told = pages.map(({ title, seen }) => tellPage(title, seen));
    const text = `${about.trim()}\n\n${told.join('\n')}`;
    const file = join(GOLDEN, name, 'expected.txt');
    if (process.env['UPDATE'] === '1') writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  test('`show encode` makes them', () => {
    const name = 'F5-restart';
    const folder = join(GOLDEN, name);
    const files = readdirSync(folder).filter(file => file.startsWith('page'));
    const args = ['show', 'encode', '--at', new Date(T0).toISOString(), '--interval', '60s'];
    const { stdout } = spawnSync(
      process.execPath,
      ['bin/prom2otlp.js', ...args, ...files.sort().map(file => join(folder, file))],
      { encoding: 'utf8', cwd: join(import.meta.dirname, '../..') },
    );
    const durationsAside = (json: string): string =>
      json.replaceAll(/"scrape_duration_seconds".*?"asDouble":[\d.]+/g, 'scrape_duration_seconds');
    const { pages } = run(name);
    expect(stdout.trimEnd().split('\n').map(durationsAside)).toEqual(
      pages.map(({ payload }) => durationsAside(otlpJson('metrics', payload))),
    );
  });
});

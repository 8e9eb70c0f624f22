// The repeating functions (replay, patch) and the full ones give the same bytes, whatever the sequence of pages.

import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCatalogLookup } from '../../src/catalog/lookup.ts';
import { defaultConfig } from '../../src/cli/page-files.ts';
import { finish } from '../../src/lib/deflate/crc.ts';
import { type PackedPart, SeriesTable } from '../../src/model.ts';
import { deriveOptions } from '../../src/pipeline/derive/options.ts';
import type { Packing } from '../../src/pipeline/encode/packed-template.ts';
import { Packer } from '../../src/pipeline/encode/packer.ts';
import { WireWriter } from '../../src/pipeline/encode/wire.ts';
import { payloadOf } from '../../src/pipeline/queue/packed-rows.ts';
import { translate, type Translated, type Translation } from '../../src/pipeline.ts';

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 200);
const NAMES = [
  'engine_up',
  'engine_global_status_questions',
  'engine_global_status_uptime',
  'x_plain',
];
const SERVICES = ['a', 'b'];
const SERVERS = ['s1', 's2'];
/** Pages as small as these are larger packed than by zlib. */
const packing: Packing = { packer: new Packer(), partBytesMax: 1e6, ratioMax: Infinity };
const KINDS = ['gone', 'swap', 'bad', 'twice', 'retype', 'frozen', 'cut', 'fail'] as const;

/** One series of the generated world, and how its line is written on a page. */
interface Line {
  readonly name: string;
  readonly service: string;
  readonly server: string;
}

const lines: readonly Line[] = NAMES.flatMap(name =>
  SERVICES.flatMap(service => SERVERS.map(server => ({ name, service, server }))),
);

interface PageChange {
  readonly kind: 'none' | (typeof KINDS)[number];
  readonly at: number;
  readonly values: readonly number[];
}

const anyValue = fc.oneof(
  { weight: 6, arbitrary: fc.nat(1_000_000) },
  { weight: 3, arbitrary: fc.double() },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, -0, 1e300) },
);
const change: fc.Arbitrary<PageChange> = fc.record({
  kind: fc.oneof(
    { weight: 8, arbitrary: fc.constant('none' as const) },
    { weight: 4, arbitrary: fc.constantFrom(...KINDS) },
  ),
  at: fc.nat(lines.length - 1),
  values: fc.array(anyValue, { minLength: lines.length, maxLength: lines.length }),
});

function pageText(page: PageChange, timeMs: number, previous: string, isTimed: boolean): string {
  if (page.kind === 'frozen' && previous !== '') return previous;
  const shown = lines.map((line, i) => ({ line, value: page.values[i] ?? 0 }));
  if (page.kind === 'gone') shown.splice(page.at, 1);
  if (page.kind === 'swap') shown.push(...shown.splice(page.at, 1));
  const text: string[] = [`# TYPE engine_up ${page.kind === 'retype' ? 'counter' : 'gauge'}`];
  for (const [i, { line, value }] of shown.entries()) {
    const stamp = isTimed ? ` ${timeMs - (line.server === 's2' ? 500 : 0)}` : '';
    const labels = `{namespace="${line.service}",server_name="${line.server}"}`;
    text.push(`${line.name}${labels} ${valueText(value)}${stamp}`);
    if (page.kind === 'bad' && i === page.at) text.push('not a { line');
    if (page.kind === 'twice' && i === page.at) text.push(text.at(-1) ?? '');
  }
  const isLarge = Math.abs(page.values[0] ?? 0) > 500_000;
  text.push(
    '# TYPE h histogram',
    ...['0.1', '1', '+Inf'].map(
      (le, i) => `h_bucket{namespace="a",le="${le}"} ${isLarge ? i + 1 : i}`,
    ),
    'h_sum{namespace="a"} 1.5',
    `h_count{namespace="a"} ${isLarge ? 3 : 2}`,
    '# TYPE q summary',
    `q{namespace="a",quantile="0.5"} ${valueText(page.values[1] ?? 0)}`,
    'q_sum{namespace="a"} 3',
    'q_count{namespace="a"} 4',
    '',
  );
  const whole = text.join('\n');
  return page.kind === 'cut' ? whole.slice(0, whole.length - 20) : whole;
}

function valueText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value);
}

function newTranslation(packing: Packing | null): Translation {
  const config = defaultConfig();
  const configured = new Map([
    ['a', 0],
    ['b', 1],
  ]);
  return {
    table: new SeriesTable(),
    isKept: false,
    limits: config.metrics.limits,
    derive: deriveOptions(config, createCatalogLookup(config.metrics.prefixes), configured),
    encode: {
      isDelta: false,
      namespace: 'resource',
      dropLabels: new Set(),
      resourceOf: service => ({
        name: `n${service}`,
        id: `i${service}`,
        attributes: {},
        server: null,
      }),
    },
    packing,
  };
}

function expectChecksum(part: PackedPart, payload: Buffer): void {
  const bytes = payload.subarray(part.offset, part.offset + part.length);
  expect(finish(part.register, part.length)).toBe(crc32(bytes));
}

function translateNow(
  translation: Translation,
  text: string | null,
  ...[startedAtMs, writer]: [number, WireWriter]
): Translated {
  const clocks = { monotonicMs: startedAtMs, serverAtMs: Number.NaN };
  const time = { startedAtMs, durationMs: 1, ...clocks };
  const scraped =
    text === null
      ? ({ kind: 'failure', reason: 'timeout', ...time } as const)
      : ({
          kind: 'page',
          page: {
            bytes: Buffer.from(text),
            format: 'text',
            wireBytes: 0,
            ...time,
          },
        } as const);
  const steps = translate(translation, scraped, writer);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

test('a repeated page gives the bytes that the full functions give', () => {
  let patchedCount = 0;
  let replayedCount = 0;
  let packedCount = 0;
  const pages = fc.array(change, { minLength: 3, maxLength: 12 });
  fc.assert(
    fc.property(pages, fc.boolean(), fc.boolean(), (changes, isTimed, isPacking) => {
      const full = newTranslation(null);
      const repeating = newTranslation(isPacking ? packing : null);
      const writers = [new WireWriter(), new WireWriter()] as const;
      let text = '';
      for (const [index, page] of changes.entries()) {
        const atMs = 1_760_000_000_000 + index * 60_000;
        text = pageText(page, atMs - 1000, text, isTimed);
        full.table.layout = null;
        full.table.template = null;
        const sent = page.kind === 'fail' ? null : text;
        const { template, packed, layout } = repeating.table;
        const expected = translateNow(full, sent, atMs, writers[0]);
        const actual = translateNow(repeating, sent, atMs, writers[1]);
        const payload = payloadOf(expected.batch);
        expect(payloadOf(actual.batch).equals(payload)).toBe(true);
        expect(actual.batch.parts).toMatchObject(expected.batch.parts);
        if ('packed' in actual.batch)
          for (const part of actual.batch.parts) expectChecksum(part, payload);
        if (packed !== null && repeating.table.packed === packed) packedCount++;
        expect(actual.derived).toEqual(expected.derived);
        expect(actual.page).toEqual(expected.page);
        if (template !== null && repeating.table.template === template) patchedCount++;
        if (layout !== null && repeating.table.layout === layout) replayedCount++;
      }
    }),
    { numRuns: RUNS },
  );
  // A property over paths that were never taken would say nothing.
  expect(patchedCount).toBeGreaterThan(RUNS / 10);
  expect(replayedCount).toBeGreaterThan(RUNS / 10);
  expect(packedCount).toBeGreaterThan(RUNS / 10);
});

// The memory of the process lowers the limits that the YAML leaves out, and keeps those that the YAML sets.

import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import {
  memoryBytesOf,
  memoryNotes,
  type MemoryReadings,
  memoryWarnings,
} from '../../src/config/memory-limits.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** The limit that Node.js reports if a control group of version 1 sets none. */
const NO_LIMIT = 18_446_744_073_709_552_000;

function configOf(memory: MemoryReadings | null, limits = ''): Config {
  const text = `api: {base_url: 'https://api.example.com', key: a-key}
services: [{id: db1}]
metrics: {limits: {${limits}}}
`;
  return parseConfig(text, { file: 'x.yaml', environment: {}, memory });
}

function container(bytes: number): MemoryReadings {
  return { constrainedBytes: bytes, machineBytes: 64 * GIB };
}

const USUAL = configOf(null).metrics.limits;

describe('the memory that the process has', () => {
  test.each([
    ['a container', container(256 * MIB), 256 * MIB],
    ['a machine without a limit', { constrainedBytes: NO_LIMIT, machineBytes: 2 * GIB }, 2 * GIB],
    ['a limit above the machine', { constrainedBytes: 8 * GIB, machineBytes: 2 * GIB }, 2 * GIB],
    ['no limit known', { constrainedBytes: 0, machineBytes: 2 * GIB }, 2 * GIB],
    ['nothing known of the machine', { constrainedBytes: GIB, machineBytes: 0 }, GIB],
    ['nothing known', { constrainedBytes: 0, machineBytes: 0 }, null],
    ['no numbers', { constrainedBytes: Number.NaN, machineBytes: Infinity }, null],
    ['less than any process needs', { constrainedBytes: 4096, machineBytes: -1 }, null],
  ])('%s', (_, readings, bytes) => {
    expect(memoryBytesOf(readings)).toBe(bytes);
  });
});

describe('limits that the YAML leaves out', () => {
  test('are lowered to the memory, and said so, with the reason', () => {
    const { metrics, memory } = configOf(container(256 * MIB));
    const { limits } = metrics;
    expect(limits).toMatchObject({
      memoryBytes: 128 * MIB,
      bodyBytes: 64 * MIB,
      series: 262_144,
      samples: 2_000_000,
      serviceSamples: 50_000,
      labels: 64,
      nameBytes: 1024,
    });
    const [note, ...more] = memoryNotes(memory);
    expect(more).toEqual([]);
    expect(note).toContain('the process has 256 MiB of memory: ');
    expect(note).toMatch(/metrics\.limits\.body is [\d.]+ MiB instead of 512 MiB/);
    expect(note).toMatch(/metrics\.limits\.series is [\d,]+ instead of 3,000,000/);
    expect(memoryWarnings(memory)).toEqual([]);
  });

  test('grow with it, up to their defaults, and never above', () => {
    const all = [64, 128, 256, 512, 1024, 2048, 4096, 65_536].map(
      mib => configOf(container(mib * MIB)).metrics.limits,
    );
    for (const [i, limits] of all.entries())
      for (const key of ['bodyBytes', 'samples', 'series'] as const) {
        expect(limits[key]).toBeLessThanOrEqual(USUAL[key]);
        expect(limits[key]).toBeGreaterThanOrEqual(all[i - 1]?.[key] ?? 1);
      }
    expect({ ...all.at(-1), memoryBytes: Infinity }).toEqual(USUAL);
    // There is no note if no limit is lowered.
    expect(memoryNotes(configOf(container(4 * GIB)).memory)).toEqual([]);
  });

  test('are the defaults where nobody knows the memory', () => {
    const { metrics, memory } = configOf({ constrainedBytes: 0, machineBytes: 0 });
    expect(metrics.limits).toEqual(USUAL);
    expect(memory).toEqual({ memoryBytes: null, lowered: [], kept: [] });
    expect(memoryNotes(memory)).toEqual([]);
  });
});

describe('limits that the YAML sets', () => {
  test('are kept, with a warning where they are too high', () => {
    const { metrics, memory } = configOf(container(256 * MIB), 'body: 512MiB, series: 1000');
    expect(metrics.limits).toMatchObject({ bodyBytes: 512 * MIB, series: 1000 });
    expect(memoryWarnings(memory)).toEqual([
      expect.stringMatching(
        /^metrics\.limits\.body is 512 MiB, as the configuration says, and [\d.]+ MiB would fit: the process has 256 MiB of memory$/,
      ),
    ]);
  });

  test('of the memory itself, too: no other follows from it', () => {
    const { metrics, memory } = configOf(container(256 * MIB), 'memory: 1GiB');
    expect(metrics.limits).toMatchObject({ memoryBytes: GIB, bodyBytes: 64 * MIB });
    expect(memoryWarnings(memory)).toHaveLength(1);
  });
});

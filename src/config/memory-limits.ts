// Lowers the limits that the YAML leaves out to a share of the memory that the process has; never raises one. In: the
// memory as the system reports it, and the limits that a person has set. Out: a layer of values (layers.ts), and which
// limits it lowers or leaves.

import { totalmem } from 'node:os';
import { formatBytes, formatCount } from '../lib/format.ts';
import type { MemoryConfig } from './config.ts';
import { type Layer, readAt, type Setting } from './declare.ts';
import { pageLimits } from './keys.ts';
import { isSet, type YamlMap } from './paths.ts';
import { formatQuantity, SIZE } from './units.ts';

/** What the system reports, in bytes. memoryBytesOf() ignores values that cannot be true: 0, or a limit beyond any memory. */
export interface MemoryReadings {
  readonly constrainedBytes: number;
  readonly machineBytes: number;
}

const MIB = 2 ** 20;

/** This program does not run in less, and no machine has more: any other reading is ignored. */
const MEMORY_BYTES_MIN = 64 * MIB;
const MEMORY_BYTES_MAX = 2 ** 47;
export function readMemory(): MemoryReadings {
  return { constrainedBytes: process.constrainedMemory(), machineBytes: totalmem() };
}

/** The memory that the process has, in bytes: the smaller of the plausible readings; null if there is none. */
export function memoryBytesOf(readings: MemoryReadings): number | null {
  const meant = [readings.constrainedBytes, readings.machineBytes].filter(
    bytes => bytes >= MEMORY_BYTES_MIN && bytes <= MEMORY_BYTES_MAX,
  );
  return meant.length === 0 ? null : Math.min(...meant);
}

/** The keys below metrics.limits that follow from the memory, with what fits into so many bytes of it. */
const KEYS = [
  { key: pageLimits.keys.memoryBytes, fits: (bytes: number) => bytes / 2, isSize: true },
  { key: pageLimits.keys.bodyBytes, fits: (bytes: number) => bytes / 4, isSize: true },
  { key: pageLimits.keys.series, fits: (bytes: number) => bytes / 1024, isSize: false },
];

/** The limits that are lower than the defaults, as the YAML would have them. `given` shows which limits a person has set. */
export function memoryLimits(
  given: YamlMap,
  readings: MemoryReadings | null,
): { readonly layer: Layer; readonly memory: MemoryConfig } {
  const memoryBytes = readings === null ? null : memoryBytesOf(readings);
  const layer = new Map<string, Setting>();
  const lowered: MemoryConfig['lowered'][number][] = [];
  const kept: MemoryConfig['kept'][number][] = [];
  for (const { key, fits: fitsInto, isSize } of KEYS) {
    const path = ['metrics', 'limits', key.name];
    const fits = Math.floor(fitsInto(memoryBytes ?? Infinity));
    const limit = readAt(given, path, key);
    if (limit === undefined || limit <= fits) continue;
    const name = path.join('.');
    if (isSet(given, path)) kept.push({ key: name, value: limit, fits });
    else {
      lowered.push({ key: name, value: fits, default: limit });
      layer.set(name, { value: isSize ? formatQuantity(fits, SIZE) : fits });
    }
  }
  return { layer, memory: { memoryBytes, lowered, kept } };
}

/** The lowered limits, in a sentence without a full stop; [] if no limit but `memory` itself was lowered. */
export function memoryNotes({ memoryBytes, lowered }: MemoryConfig): readonly string[] {
  if (lowered.every(({ key }) => key === MEMORY_KEY)) return [];
  const words = lowered.map(({ key, value, default: usual }) =>
    Number.isFinite(usual)
      ? `${key} is ${amountOf(key, value)} instead of ${amountOf(key, usual)}`
      : `${key} is ${amountOf(key, value)}`,
  );
  return [`the process has ${formatBytes(memoryBytes ?? 0)} of memory: ${words.join(', ')}`];
}

/** The limits that the YAML sets higher than the memory allows, one sentence for each. */
export function memoryWarnings({ memoryBytes, kept }: MemoryConfig): readonly string[] {
  const reason = `the process has ${formatBytes(memoryBytes ?? 0)} of memory`;
  return kept.map(
    ({ key, value, fits }) =>
      `${key} is ${amountOf(key, value)}, as the configuration says, and ${amountOf(key, fits)} would fit: ${reason}`,
  );
}

const MEMORY_KEY = 'metrics.limits.memory';

function amountOf(key: string, amount: number): string {
  return /\.(?:memory|body)$/.test(key) ? formatBytes(amount) : formatCount(amount);
}

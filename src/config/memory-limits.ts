// Lowers the limits that the YAML leaves out to a share of the memory that the process has; never raises one. In: the
// memory as the system reports it, and the limits as read. Out: the limits in effect, and which of them differ from the
// YAML or the defaults.

import { totalmem } from 'node:os';
import { formatBytes, formatCount } from '../lib/format.ts';
import type { MemoryConfig, PageLimits } from './config.ts';
import { isSet } from './paths.ts';

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
const KEYS = {
  memory: { name: 'memoryBytes', fits: (bytes: number) => bytes / 2 },
  body: { name: 'bodyBytes', fits: (bytes: number) => bytes / 4 },
  series: { name: 'series', fits: (bytes: number) => bytes / 1024 },
} as const;

/** The limits in effect. `root` is the YAML, which shows the missing limits; `limits` has defaults in their places. */
export function limitsOfMemory(
  limits: PageLimits,
  root: unknown,
  readings: MemoryReadings | null,
): { readonly limits: PageLimits; readonly memory: MemoryConfig } {
  const isGiven = (key: string): boolean => isSet(root, ['metrics', 'limits', key]);
  const memoryBytes = readings === null ? null : memoryBytesOf(readings);
  const lowered: MemoryConfig['lowered'][number][] = [];
  const kept: MemoryConfig['kept'][number][] = [];
  const held: { -readonly [Key in keyof PageLimits]: PageLimits[Key] } = { ...limits };
  for (const [key, { name, fits: fitsInto }] of Object.entries(KEYS)) {
    const path = `metrics.limits.${key}`;
    const fits = Math.floor(fitsInto(memoryBytes ?? Infinity));
    if (limits[name] <= fits) continue;
    if (isGiven(key)) kept.push({ key: path, value: limits[name], fits });
    else {
      lowered.push({ key: path, value: fits, default: limits[name] });
      held[name] = fits;
    }
  }
  return { limits: held, memory: { memoryBytes, lowered, kept } };
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

// Lowers the limits that the YAML leaves out to what the memory of the process allows; never raises one. In: the memory
// as the system reports it, and the limits as read. Out: the limits in effect, and which of them differ from the YAML or
// the defaults. COST in model/series-table.ts has the measured costs.

import { totalmem } from 'node:os';
import { formatBytes, formatCount } from '../lib/format.ts';
import { COST } from '../model/series-table.ts';
import type { MemoryConfig, PageLimits } from './config.ts';
import { isSet } from './places.ts';

/** What the system reports, in bytes. memoryBytesOf() ignores values that cannot be true: 0, or a limit beyond any memory. */
export interface MemoryReadings {
  readonly constrainedBytes: number;
  readonly machineBytes: number;
}

const MIB = 2 ** 20;

/** An idle process, and memory that does not depend on pages: for V8, SQLite and running requests. */
const PROCESS_BYTES = 100 * MIB;
/** The share of the memory that may be used: garbage that is not collected yet needs the rest. */
const SHARE = 0.9;
/** Always allowed, even if the memory may be too small for it. */
const ALLOWED_BYTES_MIN = 16 * MIB;
/** This program does not run in less, and no machine has more: any other reading is ignored. */
const MEMORY_BYTES_MIN = 64 * MIB;
const MEMORY_BYTES_MAX = 2 ** 47;
/** The memory of a series on the current page with a text of 100 bytes, and of a sample. */
const SERIES_BYTES = 600;
const SAMPLE_BYTES = 320;
/** Services that no entry names take at most a tenth. */
const SERVICES_SHARE = 0.1;

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

/** The keys below metrics.limits that follow from the memory. */
const KEYS = {
  memory: 'memoryBytes',
  body: 'bodyBytes',
  samples: 'samples',
  series: 'series',
  services: 'services',
} as const satisfies Readonly<Record<string, keyof PageLimits>>;

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
  const spareBytes = Math.floor((memoryBytes ?? Infinity) * SHARE) - PROCESS_BYTES;
  const foundBytes = Math.max(spareBytes, ALLOWED_BYTES_MIN);
  // A user who sets `memory` knows more about it than the system reports.
  const allowed = isGiven('memory') ? limits.memoryBytes : foundBytes;
  const fitting = {
    memory: foundBytes,
    body: Math.floor(allowed / COST.body),
    samples: Math.floor(allowed / SAMPLE_BYTES),
    series: Math.floor(allowed / SERIES_BYTES),
    services: Math.floor((allowed * SERVICES_SHARE) / COST.service),
  };
  const held = { ...limits };
  for (const [key, name] of Object.entries(KEYS) as [keyof typeof KEYS, keyof PageLimits][]) {
    const path = `metrics.limits.${key}`;
    const fits = fitting[key];
    if (limits[name] <= fits) continue;
    if (isGiven(key)) kept.push({ key: path, value: limits[name], fits });
    else {
      lowered.push({ key: path, value: fits, default: limits[name] });
      held[name] = fits;
    }
  }
  return { limits: held, memory: { memoryBytes, lowered, kept } };
}

/** The lowered limits, in sentences without a full stop; [] if no limit but `memory` itself was lowered. */
export function memoryNotes({ memoryBytes, lowered }: MemoryConfig): readonly string[] {
  if (lowered.every(({ key }) => key === MEMORY_KEY)) return [];
  const words = lowered.map(({ key, value, default: usual }) =>
    Number.isFinite(usual)
      ? `${key} is ${amountOf(key, value)} instead of ${amountOf(key, usual)}`
      : `${key} is ${amountOf(key, value)}`,
  );
  return [`${reasonOf(memoryBytes)}: ${words.join(', ')}`];
}

/** The limits that the YAML sets higher than the memory allows, one sentence for each. */
export function memoryWarnings({ memoryBytes, kept }: MemoryConfig): readonly string[] {
  return kept.map(
    ({ key, value, fits }) =>
      `${key} is ${amountOf(key, value)}, as the configuration says, and ${amountOf(key, fits)} would fit: ${reasonOf(memoryBytes)}`,
  );
}

const MEMORY_KEY = 'metrics.limits.memory';

function reasonOf(memoryBytes: number | null): string {
  if (memoryBytes === null) return 'metrics.limits.memory is set';
  return `the process has ${formatBytes(memoryBytes)} of memory`;
}

function amountOf(key: string, amount: number): string {
  return /\.(?:memory|body)$/.test(key) ? formatBytes(amount) : formatCount(amount);
}

// The machine that a result is of.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, release, totalmem } from 'node:os';

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  readonly architecture: string;
  readonly node: string;
}

export function describeMachine(): Machine {
  return {
    processor: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: release(),
    architecture: arch(),
    node: process.version,
  };
}

/** Load of the last minute: how much else ran. */
export function load(): number {
  return loadavg()[0] ?? 0;
}

/** Of both cores together since the start of the machine: what was busy, and all. */
export function machineCpuMs(): { readonly busyMs: number; readonly allMs: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  const allMs = ticks.reduce((sum, tick) => sum + tick, 0) * 10;
  const idleMs = ((ticks[3] ?? 0) + (ticks[4] ?? 0)) * 10;
  return { busyMs: allMs - idleMs, allMs };
}

export function commit(): string {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
}

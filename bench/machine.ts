// The machine and the commit that a result was measured with.

import { execFileSync } from 'node:child_process';
import { arch, cpus, release, totalmem } from 'node:os';

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

/** The commit that was measured; with `+` when the sources differ from it. */
export function describeCommit(): string {
  const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', 'src', 'bin', 'tools', 'package-lock.json');
  return `${git('rev-parse', '--short=12', 'HEAD')}${changed === '' ? '' : '+'}`;
}

// Uses strace to make system calls of a running process on some files fail or take long, and detaches again.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../../support/program.ts';
import { WAIT_MS } from './bridge.ts';

export interface InterferenceOptions {
  readonly pid: number;
  /** Only calls on these files are affected. */
  readonly paths: readonly string[];
  readonly calls: string;
  /** In strace's notation: `error=EIO`, `delay_enter=200000` (in microseconds). */
  readonly fault: string;
}

export class Interference {
  readonly #strace: ChildProcess;

  private constructor(strace: ChildProcess) {
    this.#strace = strace;
  }

  /** The reason why strace cannot be used; null if it can. */
  static async reasonToSkip(): Promise<string | null> {
    const child = spawn('sleep', ['300'], { stdio: 'ignore' });
    try {
      const fault = { paths: ['/dev/null'], calls: 'fsync', fault: 'error=EIO' };
      const interference = await Interference.begin({ pid: child.pid ?? 0, ...fault });
      await interference.end();
      return null;
    } catch {
      return 'strace is not there, or may not attach to processes';
    } finally {
      child.kill();
    }
  }

  /** Resolves once the calls of the process fail, or take long. */
  static async begin({ pid, paths, calls, fault }: InterferenceOptions): Promise<Interference> {
    const files = paths.flatMap(path => ['-P', path]);
    const inject = ['-e', `trace=${calls}`, '-e', `inject=${calls}:${fault}`];
    const args = ['-f', '-p', String(pid), ...files, ...inject, '-o', '/dev/null'];
    const strace = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let told = '';
    let isOver = false;
    strace.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
    strace.on('error', () => (isOver = true));
    strace.on('exit', () => (isOver = true));
    const isAttached = await until('strace', () => isOver || told.includes('attached'), WAIT_MS);
    if (!isAttached || isOver) throw new Error(`strace cannot attach: ${told}`);
    return new Interference(strace);
  }

  /** Detaches strace: the process continues undisturbed. */
  async end(): Promise<void> {
    if (this.#strace.exitCode !== null) return;
    this.#strace.kill('SIGINT');
    await once(this.#strace, 'exit');
  }
}

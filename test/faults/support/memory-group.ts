// A control group with limited memory: the kernel kills a process in it that takes more, as in a container.

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/** The file names of one of the two versions of control groups. */
interface Dialect {
  readonly limit: string;
  readonly peak: string;
  readonly kills: string;
}

const V1: Dialect = {
  limit: 'memory.limit_in_bytes',
  peak: 'memory.max_usage_in_bytes',
  kills: 'memory.oom_control',
};
const V2: Dialect = { limit: 'memory.max', peak: 'memory.peak', kills: 'memory.events' };

let groupCount = 0;

export class MemoryGroup {
  readonly path: string;
  readonly #dialect: Dialect;

  private constructor(path: string, dialect: Dialect) {
    this.path = path;
    this.#dialect = dialect;
  }

  /** The reason why this machine cannot have such a group; null if it can. */
  static reasonToSkip(): string | null {
    if (process.platform !== 'linux') return 'only Linux has control groups';
    try {
      MemoryGroup.create(2 ** 26)[Symbol.dispose]();
      return null;
    } catch (error) {
      return `the memory of a process cannot be limited here: ${String(error)}`;
    }
  }

  /** A group below this process's own. */
  static create(bytes: number): MemoryGroup & Disposable {
    const { parent, dialect } = ownGroup();
    const path = join(parent, `prom2otlp-test-${process.pid}-${++groupCount}`);
    mkdirSync(path);
    const group = new MemoryGroup(path, dialect);
    try {
      writeFileSync(join(path, dialect.limit), String(bytes));
      return group;
    } catch (error) {
      group[Symbol.dispose]();
      throw error;
    }
  }

  /** The words to put before a command to run it in the group. */
  get wrapper(): readonly string[] {
    return ['sh', '-c', 'echo $$ > "$0" && exec "$@"', join(this.path, 'cgroup.procs')];
  }

  /** The peak of the group's memory, in bytes, including the kernel's file cache for the group. */
  get peakBytes(): number {
    return Number(this.#read(this.#dialect.peak));
  }

  /** How many processes the kernel has killed for their memory. */
  get killCount(): number {
    return Number(/^oom_kill (\d+)$/m.exec(this.#read(this.#dialect.kills))?.[1] ?? 0);
  }

  /** Removes the group, in which no process may be left. */
  [Symbol.dispose](): void {
    rmdirSync(this.path);
  }

  #read(name: string): string {
    const file = join(this.path, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }
}

function ownGroup(): { readonly parent: string; readonly dialect: Dialect } {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  const pathOf = (controller: string): string | undefined =>
    lines
      .map(line => line.split(':'))
      .find(([, names]) => names?.split(',').includes(controller))?.[2];
  const memory = pathOf('memory');
  if (memory !== undefined) return { parent: join(ROOT, 'memory', memory), dialect: V1 };
  const unified = join(ROOT, pathOf('') ?? '/');
  // Enables the memory controller for child groups. The kernel allows that only in a group without processes.
  writeFileSync(join(unified, 'cgroup.subtree_control'), '+memory');
  return { parent: unified, dialect: V2 };
}

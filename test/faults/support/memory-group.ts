// A control group whose memory the kernel limits: what runs in it is killed when it takes more, as in a container.

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

/** What the two versions of control groups call the same things. */
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

  /** Why there can be none; null where there can. */
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

  /** The words before a command that let it run in the group. */
  get wrapper(): readonly string[] {
    return ['sh', '-c', 'echo $$ > "$0" && exec "$@"', join(this.path, 'cgroup.procs')];
  }

  /** The most that was in use at one time, in bytes: with what the kernel keeps of files for the group. */
  get peakBytes(): number {
    return Number(this.#read(this.#dialect.peak));
  }

  /** How many processes the kernel has killed for their memory. */
  get killCount(): number {
    return Number(/^oom_kill (\d+)$/m.exec(this.#read(this.#dialect.kills))?.[1] ?? 0);
  }

  /** No process may be left in it. */
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
  // A group hands memory to those below it only where it is asked to, and holds no process itself.
  writeFileSync(join(unified, 'cgroup.subtree_control'), '+memory');
  return { parent: unified, dialect: V2 };
}

// The states of a queue, in memory, for tests that store no batches.

import type { StateKind } from '../../src/pipeline/queue/commit.ts';
import type { Queue } from '../../src/pipeline/queue/queue.ts';

export class States {
  readonly blobs: Map<string, Buffer> = new Map();

  readState(kind: string, key: string): Promise<Buffer | null> {
    return Promise.resolve(this.blobs.get(`${kind} ${key}`) ?? null);
  }

  async restoreState<T>({ kind, read }: StateKind<T>, key: string): Promise<T | null> {
    const blob = await this.readState(kind, key);
    return blob === null ? null : read(blob);
  }

  stateKeys(kind: string): readonly string[] {
    const names = [...this.blobs.keys()].filter(name => name.startsWith(`${kind} `));
    return names.map(name => name.slice(kind.length + 1));
  }

  commit({ state }: Parameters<Queue['commit']>[0]): Promise<{ kind: 'stored' }> {
    for (const { kind, key, blob } of state) {
      if (blob === null) this.blobs.delete(`${kind} ${key}`);
      else this.blobs.set(`${kind} ${key}`, blob);
    }
    return Promise.resolve({ kind: 'stored' });
  }
}

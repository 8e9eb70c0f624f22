// The interface of every real part: it can be prepared (downloaded or built once, then cached) and started.
// If this machine cannot have a part, the part returns the reason: on a laptop its tests are skipped with
// that reason, and with CI=true they fail with it.

import { exclusively } from './folder.ts';

/** A part, or something that a part needs. */
export type Preparable = Pick<Part<never, Running>, 'name' | 'prepare'>;

export interface Ready {
  readonly version: string;
  /** The program, or the folder, that was prepared. */
  readonly path: string;
  /** How long the download and the build took; 0 if the machine already had the part. */
  readonly seconds: number;
}

export interface Absent {
  readonly absent: string;
}

export type Prepared = Ready | Absent;

export interface Running {
  /** Ends the part and waits for it; a second call does nothing. */
  stop(): Promise<void>;
}

/** Keeps started parts, and stops them in reverse order, even if a later start failed. */
export class Parts implements Running {
  readonly #started: Running[] = [];

  keep<T extends Running>(part: T): T {
    this.#started.push(part);
    return part;
  }

  async stop(): Promise<void> {
    for (const part of this.#started.splice(0).reverse()) await part.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

export interface Part<Options, Started extends Running> {
  readonly name: string;
  /** Downloads or builds the part if it is missing. The first call must be inside `exclusively`; later ones are cheap. */
  prepare(): Promise<Prepared>;
  /** Resolves once the part answers. Throws when it is absent or does not come up, with the end of its log. */
  start(options: Options): Promise<Started>;
}

/** Prepares a part for its start(); throws if the part is absent. */
export async function need(part: Preparable): Promise<Ready> {
  const prepared = await part.prepare();
  if ('absent' in prepared) throw new Error(`cannot start ${part.name}: ${prepared.absent}`);
  return prepared;
}

/**
 * Prepares the parts of a test file, one after the other. Returns null if all are there. Otherwise prints
 * and returns the reason to skip, or throws it with CI=true.
 */
export async function reasonToSkip(parts: readonly Preparable[]): Promise<string | null> {
  const reasons: string[] = [];
  await exclusively(async () => {
    for (const part of parts) {
      const prepared = await part.prepare();
      if ('absent' in prepared) reasons.push(`${part.name}: ${prepared.absent}`);
    }
  });
  if (reasons.length === 0) return null;
  const reason = `real parts are absent: ${reasons.join('; ')}`;
  if (process.env['CI'] === 'true') throw new Error(reason);
  console.warn(`skipped, ${reason}`);
  return reason;
}

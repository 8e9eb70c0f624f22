// What every real part has in common: it can be prepared (downloaded or built once, then cached) and
// started. A part that this machine cannot have says why instead: on a laptop its tests are skipped with
// that reason, and where the environment says CI=true they fail with it.

import { exclusively } from './folder.ts';

/** A part, or something that a part needs. */
export type Preparable = Pick<Part<never, Running>, 'name' | 'prepare'>;

export interface Ready {
  readonly version: string;
  /** The program, or the folder, that was prepared. */
  readonly path: string;
  /** How long download and build took when they were done; 0 for what the machine already had. */
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

/** What was started, and is ended last first: even where a start failed half-way. */
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
  /** Downloads or builds what is missing. Cheap from the second call on; the first goes inside `exclusively`. */
  prepare(): Promise<Prepared>;
  /** Resolves once the part answers. Throws when it is absent or does not come up, with the end of its log. */
  start(options: Options): Promise<Started>;
}

/** What a part's start() stands on; throws where the part is absent. */
export async function need(part: Preparable): Promise<Ready> {
  const prepared = await part.prepare();
  if ('absent' in prepared) throw new Error(`cannot start ${part.name}: ${prepared.absent}`);
  return prepared;
}

/**
 * Prepares the parts of a test file, one after the other. Gives null when all are there, otherwise the
 * reason to skip, which it prints; with CI=true it throws instead.
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

// The stored form of the list of services (discovery.ts). Only `services: auto` loads it, because of the schema.

import * as z from 'zod';
import { parseJson } from '../lib/json.ts';
import { JITLESS } from '../service/operations.ts';

export interface StoredServices {
  readonly version: 1;
  /** `api`: the place of its API in the list, 0 if absent. */
  readonly services: readonly {
    readonly id: string;
    readonly name: string;
    readonly api?: number | undefined;
  }[];
  /** Services whose state is kept; `atMs` by the wall clock. */
  readonly gone: readonly { readonly id: string; readonly name: string; readonly atMs: number }[];
}

const ID_AND_NAME = { id: z.string().min(1), name: z.string() };

const SCHEMA: z.ZodType<StoredServices> = z.object({
  version: z.literal(1),
  services: z.array(z.object({ ...ID_AND_NAME, api: z.int().min(0).optional() })),
  gone: z.array(z.object({ ...ID_AND_NAME, atMs: z.number() })),
});

/** Null for a blob that does not fit. */
export function readStoredServices(blob: Buffer): StoredServices | null {
  return SCHEMA.safeParse(parseJson(blob.toString()), JITLESS).data ?? null;
}

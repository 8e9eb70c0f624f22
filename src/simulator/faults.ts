// What /_control may ask of the simulated service at run time: failures, and restarts of servers. The simulator answers
// /_control on its own server, to loopback clients only: GET shows the services, the faults and the requests so far; POST
// sets faults, restarts servers, and says which services (by id) are stopped or in maintenance. Keys are never shown.
//
//   {"reset": true, "faults": {"status": 503, "times": 2}, "restart": ["orders-0"], "stopped": ["dbpgf10000001"]}

import { z } from 'zod';

export const METRICS_PATH = '/observability/v2/metrics';

/** How answers fail: only those to requests whose path begins with `path`, and with this `method` if there is one. */
export interface Faults {
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | null;
  /** How many more requests have the faults; null: all until the faults change. */
  readonly times: number | null;
  /** Answer with this status and an error body, and with this Retry-After header. */
  readonly status: number | null;
  readonly retryAfter: string | null;
}

export const NO_FAULTS: Faults = {
  path: METRICS_PATH,
  method: null,
  times: null,
  status: null,
  retryAfter: null,
};

const RETRY_AFTER = z
  .string()
  .max(200)
  .regex(/^[\t -~]*$/u);

export const COMMAND = z
  .strictObject({
    reset: z.boolean(),
    faults: z
      .strictObject({
        path: z.string().startsWith('/'),
        method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']).nullable(),
        times: z.int().min(1).max(1_000_000_000).nullable(),
        status: z.int().min(200).max(599).nullable(),
        retryAfter: RETRY_AFTER.nullable(),
      })
      .partial(),
    restart: z.array(z.string()).max(10_000),
    stopped: z.array(z.string()).max(10_000),
    maintenance: z.array(z.string()).max(10_000),
  })
  .partial();

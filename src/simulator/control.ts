// /_control on the simulator's own server, for loopback clients only: GET shows what is simulated, which faults
// are set and what was asked; POST sets faults, restarts servers, flushes their status. Keys are never shown.
//
//   {"reset": true, "faults": {"status": 503, "times": 2}, "restart": ["orders-0"], "flush": ["orders-0"]}

import { z } from 'zod';
import { type Answer, type EndpointRequest, jsonAnswer } from './answer.ts';
import { type Faults, parseFaults } from './faults.ts';

/** What /_control may do with the simulator. */
export interface Controlled {
  readonly faults: Faults;
  resetFaults(): void;
  setFaults(faults: Partial<Faults>): void;
  restart(serverName: string): boolean;
  flushStatus(serverName: string): boolean;
  describe(): Readonly<Record<string, unknown>>;
}

const NAMES = z.array(z.string()).max(1_000);

const COMMAND = z
  .strictObject({ reset: z.boolean(), faults: z.unknown(), restart: NAMES, flush: NAMES })
  .partial();

/** Carries a command out: all of it, or nothing where any part is wrong but the name of a server. */
export function controlAnswer(simulator: Controlled, request: EndpointRequest): Answer {
  if (request.method === 'GET') return state(simulator);
  if (request.method !== 'POST') return refusal(405, ['only GET and POST are known here']);
  const command = COMMAND.safeParse(request.json);
  if (!command.success) {
    const { issues } = command.error;
    return refusal(
      400,
      issues.map(({ path, message }) => [...path, message].join(': ')),
    );
  }
  const { reset = false, faults, restart = [], flush = [] } = command.data;
  const parsed = parseFaults(faults ?? {});
  if (!parsed.isGood) return refusal(400, parsed.problems);
  if (reset) simulator.resetFaults();
  simulator.setFaults(parsed.faults);
  const unknown = [
    ...restart.filter(name => !simulator.restart(name)),
    ...flush.filter(name => !simulator.flushStatus(name)),
  ];
  if (unknown.length > 0)
    return refusal(
      404,
      unknown.map(name => `no server named ${name}`),
    );
  return state(simulator);
}

function state(simulator: Controlled): Answer {
  return jsonAnswer(200, { ...simulator.describe(), faults: simulator.faults });
}

function refusal(status: number, problems: readonly string[]): Answer {
  return jsonAnswer(status, { problems });
}

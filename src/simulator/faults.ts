// The faults of the simulated service as one flat record, each declared at its endpoint, and /_control, which sets them at
// run time. The simulator answers /_control on its own server, to loopback clients only: GET shows the topology, the
// faults and the requests so far; POST sets faults, restarts servers, flushes their status. Keys are never shown.
//
//   {"reset": true, "faults": {"status": 503, "times": 2}, "restart": ["orders-0"], "flush": ["orders-0"]}
//
// Transport faults hit every request below `path`; those of an endpoint hit that endpoint alone.

import { z } from 'zod';
import { AGENT_FAULTS, type AgentFaults } from './agent-endpoint.ts';
import {
  type Answer,
  type EndpointRequest,
  type FaultTable,
  jsonAnswer,
  withoutFaults,
} from './answer.ts';
import { BACKUP_FAULTS, type BackupFaults } from './backup-endpoint.ts';
import { TRANSPORT_FAULTS, type TransportFaults } from './delivery.ts';
import { LOG_FAULTS, type LogFaults } from './logs-endpoint.ts';
import { PAGE_FAULTS, type PageFaults } from './metrics-endpoint.ts';

export interface Faults extends TransportFaults, PageFaults, LogFaults, BackupFaults, AgentFaults {}

const FAULTS: FaultTable<Faults> = {
  ...TRANSPORT_FAULTS,
  ...PAGE_FAULTS,
  ...LOG_FAULTS,
  ...BACKUP_FAULTS,
  ...AGENT_FAULTS,
};

export const NO_FAULTS: Faults = withoutFaults(FAULTS);

const SCHEMA = z
  .strictObject(
    Object.fromEntries(Object.entries(FAULTS).map(([name, [values]]) => [name, values])),
  )
  .partial();

export type ParsedFaults =
  | { readonly isGood: true; readonly faults: Partial<Faults> }
  | { readonly isGood: false; readonly problems: readonly string[] };

/** Faults from outside: unknown names and values out of range are problems, each with its name. */
export function parseFaults(input: unknown): ParsedFaults {
  const result = SCHEMA.safeParse(input);
  if (!result.success) return { isGood: false, problems: problemsOf(result.error) };
  const set = Object.entries(result.data).filter(([, value]) => value !== undefined);
  return { isGood: true, faults: Object.fromEntries(set) };
}

function problemsOf({ issues }: z.ZodError): readonly string[] {
  return issues.map(({ path, message }) => [...path, message].join(': '));
}

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
  if (!command.success) return refusal(400, problemsOf(command.error));
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

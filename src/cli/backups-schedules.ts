// `backups schedules list` and `backups schedules create`: what backups are planned, and new plans.

import {
  type Schedule,
  type ScheduleRequest,
  scheduleProblems,
  scheduleWarnings,
} from '../service/schedules.ts';
import type { Result } from '../service/service-error.ts';
import { printableJson } from '../lib/printable.ts';
import { credentialsFromFile } from './external-storage.ts';
import { withProgress } from './progress.ts';
import { refuseProblems, tellError } from './request-problems.ts';
import { ACCESS_OPTIONS, type OpenService, withService, withServices } from './service-access.ts';
import { renderTable } from './table.ts';
import { readArgs, refuseWords, usageError, type VerbContext } from './verb.ts';

const LIST = 'backups schedules list';
const CREATE = 'backups schedules create';

/** The options that give the fields of a request. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  backup_type: '--type',
  schedule: '--schedule',
  service_id: '--service-id',
  'external_storage.bucket.path': '--bucket',
  'external_storage.bucket.credentials': '--credentials-file',
};

export function schedulesList(context: VerbContext): Promise<number> {
  const options = { ...ACCESS_OPTIONS, json: { type: 'boolean' } } as const;
  const { values, words } = readArgs(LIST, context.args, options);
  refuseWords(LIST, words);
  const { 'service-id': serviceId, config } = values;
  return withServices(LIST, values, context, async services => {
    let code = 0;
    const found: Schedule[] = [];
    for (const service of services) {
      const ids = config === undefined ? [] : service.target.services.map(({ id }) => id);
      const listed = listAll(service, { serviceId, ids, signal: context.stop });
      const result = await withProgress(context, 'reading the schedules', listed);
      if (!result.ok) {
        code = tellError(context, result.error);
        continue;
      }
      found.push(...result.schedules);
      if (!result.isComplete) context.err.line('there are more schedules than could be read');
    }
    const isJson = values.json === true;
    if (code === 0 || found.length > 0 || isJson) printSchedules(context, found, isJson);
    return code;
  });
}

type Listed = Result<{ readonly schedules: readonly Schedule[]; readonly isComplete: boolean }>;

/** Of one service or of all that the key can see; some deployments want to be asked for each by its id. */
async function listAll(
  { client }: OpenService,
  asked: {
    readonly serviceId: string | undefined;
    /** Those that are configured. */
    readonly ids: readonly string[];
    readonly signal: AbortSignal;
  },
): Promise<Listed> {
  const { serviceId, ids, signal } = asked;
  const all = await client.schedules.list({ service_id: serviceId, signal });
  if (all.ok || serviceId !== undefined || all.error.status !== 400) return all;
  let isComplete = true;
  const schedules: Schedule[] = [];
  for (const id of ids) {
    const one = await client.schedules.list({ service_id: id, signal });
    if (!one.ok) return one;
    schedules.push(...one.schedules);
    isComplete &&= one.isComplete;
  }
  if (ids.length > 0) return { ok: true, schedules, isComplete };
  const hint = `name a service with --service-id if the service demands it; ${all.error.hint}`;
  return { ok: false, error: { ...all.error, hint } };
}

export function schedulesCreate(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(CREATE, context.args, {
    ...ACCESS_OPTIONS,
    type: { type: 'string' },
    schedule: { type: 'string' },
    bucket: { type: 'string' },
    'credentials-file': { type: 'string' },
    json: { type: 'boolean' },
  });
  refuseWords(CREATE, words);
  const { 'service-id': service_id, type: backup_type, schedule, bucket } = values;
  const file = values['credentials-file'];
  if (service_id === undefined) throw usageError(CREATE, 'expected --service-id ID');
  if (backup_type === undefined) throw usageError(CREATE, 'expected --type full');
  if (schedule === undefined) throw usageError(CREATE, "expected --schedule '0 3 * * *' or once");
  if ((bucket === undefined) !== (file === undefined))
    throw usageError(CREATE, '--bucket and --credentials-file go together');
  const plan = { backup_type, schedule, service_id };
  const storage = (path: string, file: string): Pick<ScheduleRequest, 'external_storage'> => ({
    external_storage: { bucket: { path, credentials: credentialsFromFile(CREATE, path, file) } },
  });
  const request: ScheduleRequest =
    bucket === undefined || file === undefined ? plan : { ...plan, ...storage(bucket, file) };
  refuseProblems(CREATE, scheduleProblems(request), OPTION_OF_FIELD);
  return withService(CREATE, values, context, async ({ client }) => {
    for (const warning of scheduleWarnings(request)) context.err.line(`warning: ${warning}`);
    const creation = client.schedules.create(request, { signal: context.stop });
    const result = await withProgress(context, 'creating the schedule', creation);
    if (!result.ok) {
      if (result.error.isOutcomeUnknown)
        context.err.line(
          'whether the schedule was created is not known: see backups schedules list before you try again',
        );
      return tellError(context, result.error);
    }
    if (result.schedule === null) context.err.line('created; the service tells nothing of it');
    if (values.json === true) context.out.line(printableJson(result.schedule));
    else if (result.schedule !== null) printSchedules(context, [result.schedule], false);
    return 0;
  });
}

function printSchedules(
  { out }: Pick<VerbContext, 'out'>,
  schedules: readonly Schedule[],
  isJson: boolean,
): void {
  if (isJson) return out.line(printableJson(schedules));
  const head = ['ID', 'SERVICE', 'NAME', 'TYPE', 'SCHEDULE', 'NEXT', 'STATUS', 'MESSAGE'];
  const rows = schedules.map(one => [
    String(one.id ?? ''),
    one.service_id ?? '',
    one.service_name ?? '',
    one.type ?? '',
    one.schedule ?? '',
    one.scheduled_at ?? '',
    one.suspended === true ? `${one.status ?? ''} (suspended)`.trim() : (one.status ?? ''),
    one.message ?? '',
  ]);
  out.line(
    schedules.length === 0 ? 'no schedules' : renderTable([head, ...rows], { width: out.columns }),
  );
}

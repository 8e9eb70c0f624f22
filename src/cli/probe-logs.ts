// The part of `check --probe` that concerns logs: types, servers and one list of each API, and how what they answered
// was understood. Nothing is downloaded.

import type { Config } from '../config/config.ts';
import { listPages } from '../logs/list.ts';
import { type Descriptor, readDescriptor, readPartition } from '../logs/descriptor.ts';
import { LogApi } from '../service/log-api.ts';
import { planTargets, type Target } from '../pipeline/collect/targets.ts';
import type { ServiceClients } from '../service/clients.ts';
import { headerText } from '../service/exchange.ts';
import type { JsonAnswer, ServiceResult } from '../service/http.ts';
import { formatDuration } from '../lib/format.ts';
import { failureLine, firstList } from './log-access.ts';
import { renderTable } from './table.ts';
import type { VerbContext } from './verb.ts';

const DAY_MS = 86_400_000;
const SHOWN_MAX = 5;
/** The Date header has whole seconds, and answers take their time. */
const SKEW_MS_MIN = 5000;

/** True when every API's list could be read; types and servers are for people alone. */
export async function probeLogs(
  config: Config,
  clients: ServiceClients,
  context: VerbContext,
): Promise<boolean> {
  let isGood = true;
  for (const target of planTargets(config)) {
    const api = new LogApi({
      client: clients.get(target.api),
      endpoints: config.logs.endpoints,
      timeoutMs: target.api.timeoutMs,
      priority: 'command',
    });
    const types = await api.types({ signal: context.stop });
    context.out.line(`logs     ${target.name}: types ${answerText(api, types, ['type', 'name'])}`);
    if (types.ok) printSkew(headerText(types.headers, 'date'), context);
    const servers = await api.servers({}, { signal: context.stop });
    context.out.line(
      `logs     ${target.name}: servers ${answerText(api, servers, ['server', 'name'])}`,
    );
    if (!(await probeList(target, { config, api, context }))) isGood = false;
  }
  return isGood;
}

interface Probing {
  readonly config: Config;
  readonly api: LogApi;
  readonly context: VerbContext;
}

async function probeList(target: Target, { config, api, context }: Probing): Promise<boolean> {
  const { clock, out, stop } = context;
  const { shape, types } = config.logs;
  const nowMs = clock.nowMs();
  const span = { fromMs: nowMs - DAY_MS, toMs: nowMs };
  const items: unknown[] = [];
  const pages = listPages(
    api,
    { ...span, type: types[0] ?? null },
    {
      clock,
      signal: stop,
      random: Math.random,
      giveUpAtMs: clock.monotonicMs(),
      onFailure: () => undefined,
    },
  );
  for (;;) {
    const page = await pages.next();
    if (page.done !== true) {
      items.push(...page.value);
      if (items.length < 1000) continue;
      break;
    }
    if (page.value.ok) break;
    const { failure } = page.value;
    const cause = failure.kind === 'service' ? failureLine(failure.failure) : failure.message;
    out.line(`logs     ${target.name}: ${cause}`);
    return false;
  }
  const items24h = `${items.length} ${shape === 'archives' ? 'archives' : 'records'}`;
  out.line(`logs     ${target.name}: list of the last day, ${types[0] ?? 'any type'}: ${items24h}`);
  const { services, otherShards } = target;
  const otherServiceCount = otherShards.serviceCount;
  const itemContext = { pointers: api.pointers, services, otherServiceCount, types };
  const read = items.map(item =>
    shape === 'archives'
      ? readDescriptor(item, itemContext, span)
      : readPartition(item, itemContext),
  );
  const refused = read.filter(one => typeof one === 'string');
  for (const [reason, those] of Map.groupBy(refused, reason => reason))
    out.line(`  ${those.length} are left alone: ${REFUSALS[reason] ?? reason}`);
  const archives = read.filter((one): one is Descriptor => typeof one !== 'string' && 'id' in one);
  if (archives.length > 0) out.line(indent(archiveTable(archives)));
  return true;
}

const REFUSALS: Readonly<Record<string, string>> = {
  no_id: 'no id at logs.endpoints.pointers.id',
  no_time: 'no time at logs.endpoints.pointers.start, and no date in the name',
  type: 'not a type of logs.types',
  service: 'not of a service that is configured',
  out_of_window: 'not of the time that was asked for',
};

function archiveTable(archives: readonly Descriptor[]): string {
  const head = ['ARCHIVE', 'SERVICE', 'SOURCE', 'TYPE', 'SIZE', 'DAY'];
  const rows = archives
    .slice(0, SHOWN_MAX)
    .map(({ id, partition, size, dayMs }) => [
      id,
      partition.service.id,
      partition.source,
      partition.type,
      size === null ? '?' : String(size),
      new Date(dayMs).toISOString().slice(0, 10),
    ]);
  const more = archives.length > SHOWN_MAX ? `\n… and ${archives.length - SHOWN_MAX} more` : '';
  return renderTable([head, ...rows]) + more;
}

/** The names in a list, or why there is none. */
function answerText(
  api: LogApi,
  answer: ServiceResult<JsonAnswer>,
  members: readonly string[],
): string {
  if (!answer.ok) return `not shown: ${answer.failure.message}`;
  const list = firstList(api, answer.json);
  if (list === null) return 'not shown: the answer holds no list';
  const names = list.map(item => {
    const object = typeof item === 'object' && item !== null ? item : {};
    const member = members.find(name => name in object);
    const value: unknown = member === undefined ? item : Reflect.get(object, member);
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
  const more = names.length > SHOWN_MAX ? `, … (${names.length})` : '';
  return names.length === 0 ? 'none' : `${names.slice(0, SHOWN_MAX).join(', ')}${more}`;
}

function printSkew(date: string, { clock, out }: VerbContext): void {
  const skewMs = Date.parse(date) - clock.nowMs();
  if (!(Math.abs(skewMs) > SKEW_MS_MIN)) return;
  const how = skewMs > 0 ? 'ahead of' : 'behind';
  out.line(`  its clock is ${formatDuration(Math.abs(skewMs))} ${how} ours; logs go by its clock`);
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

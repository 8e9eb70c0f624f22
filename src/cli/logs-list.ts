// `logs list`, `logs types`, `logs servers`: what the log endpoints have, as tables or JSON.

import { printableJson } from '../lib/printable.ts';
import type { JsonAnswer, ServiceResult } from '../service/http.ts';
import {
  failureLine,
  firstList,
  listArchives,
  LOG_OPTIONS,
  type LogValues,
  type OpenLogApi,
  readSpan,
  withLogApis,
} from './log-access.ts';
import { refuseWords } from './queue-config.ts';
import { renderTable } from './table.ts';
import { readArgs, type VerbContext } from './verb.ts';

export function logsList(context: VerbContext): Promise<number> {
  const verb = 'logs list';
  const { values, words } = readArgs(verb, context.args, LOG_OPTIONS);
  refuseWords(verb, words);
  const span = readSpan(verb, values, context.clock.nowMs());
  return withLogApis(verb, values, context, async apis => {
    let code = 0;
    const archives = [];
    for (const api of apis) {
      const listed = await listArchives(api, values, span, context);
      if ('reason' in listed) {
        context.err.line(failureLine(listed));
        code = 1;
      } else archives.push(...listed);
    }
    if (values.json === true) context.out.line(printableJson(archives));
    else if (code === 0 && archives.length === 0) context.out.line('no archives');
    else {
      const head = ['ID', 'TYPE', 'SERVER', 'SERVICE', 'SIZE', 'START'];
      const rows = archives.map(one => [
        one.id,
        one.type,
        one.server,
        one.service,
        one.size,
        one.start,
      ]);
      context.out.line(renderTable([head, ...rows], { width: context.out.columns }));
    }
    return code;
  });
}

export function logsTypes(context: VerbContext): Promise<number> {
  return listAnswers('logs types', context, ({ api }, { stop }) => api.types({ signal: stop }));
}

export function logsServers(context: VerbContext): Promise<number> {
  return listAnswers('logs servers', context, ({ api }, { stop }, values) => {
    const { fromMs, toMs } = readSpan('logs servers', values, context.clock.nowMs());
    return api.servers({ fromMs, toMs, type: values.type ?? null }, { signal: stop });
  });
}

type AskApi = (
  api: OpenLogApi,
  context: VerbContext,
  values: LogValues,
) => Promise<ServiceResult<JsonAnswer>>;

/** Prints a list of whatever members its items have. */
function listAnswers(verb: string, context: VerbContext, askApi: AskApi): Promise<number> {
  const { values, words } = readArgs(verb, context.args, LOG_OPTIONS);
  refuseWords(verb, words);
  return withLogApis(verb, values, context, async apis => {
    let code = 0;
    const items: unknown[] = [];
    for (const api of apis) {
      const answer = await askApi(api, context, values);
      const list = answer.ok ? firstList(api.api, answer.json) : null;
      if (list === null) {
        context.err.line(
          answer.ok ? `cannot run ${verb}: the answer holds no list` : failureLine(answer.failure),
        );
        code = 1;
      } else items.push(...list);
    }
    if (values.json === true) context.out.line(printableJson(items));
    else if (code === 0 && items.length === 0) context.out.line('nothing is listed');
    else context.out.line(renderTable(rowsOf(items), { width: context.out.columns }));
    return code;
  });
}

/** A head of all members' names, and the items below it. */
export function rowsOf(items: readonly unknown[]): readonly (readonly string[])[] {
  const objects = items.map(item =>
    typeof item === 'object' && item !== null ? (item as Record<string, unknown>) : { value: item },
  );
  const names = [...new Set(objects.flatMap(object => Object.keys(object)))];
  const rows = objects.map(object => names.map(name => cellOf(object[name])));
  return [names.map(name => name.toUpperCase()), ...rows];
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

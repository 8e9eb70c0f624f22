// `restores list` and `restores show`: what restores there are, and how far they are.

import { printableJson } from '../lib/printable.ts';
import type { Restore } from '../service/restores.ts';
import { withProgress } from './progress.ts';
import { tellError } from './request-problems.ts';
import { ACCESS_OPTIONS, withService, withServices } from './service-access.ts';
import { renderTable } from './table.ts';
import { readArgs, refuseWords, usageError, type VerbContext } from './verb.ts';

const LIST = 'restores list';
const SHOW = 'restores show';
const OPTIONS = { ...ACCESS_OPTIONS, json: { type: 'boolean' } } as const;

export function restoresList(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(LIST, context.args, OPTIONS);
  refuseWords(LIST, words);
  return withServices(LIST, values, context, async services => {
    let code = 0;
    const found: Restore[] = [];
    for (const { client } of services) {
      const list = client.restores.list({ service_id: values['service-id'], signal: context.stop });
      const result = await withProgress(context, 'reading the restores', list);
      if (!result.ok) {
        code = tellError(context, result.error);
        continue;
      }
      found.push(...result.restores);
      if (!result.isComplete) context.err.line('there are more restores than could be read');
    }
    if (values.json === true) context.out.line(printableJson(found));
    else if (code === 0 || found.length > 0) printRestores(context, found);
    return code;
  });
}

export function restoresShow(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(SHOW, context.args, OPTIONS);
  const [id, ...others] = words;
  if (id === undefined || id === '')
    throw usageError(SHOW, 'expected the id of a restore (see restores list)');
  refuseWords(SHOW, others);
  return withService(SHOW, values, context, async ({ client }) => {
    const answer = client.restores.show(id, { signal: context.stop });
    const result = await withProgress(context, 'reading the restore', answer);
    if (!result.ok) return tellError(context, result.error);
    if (values.json === true) context.out.line(printableJson(result.restore));
    else printRestores(context, [result.restore]);
    return 0;
  });
}

export function printRestores(
  { out }: Pick<VerbContext, 'out'>,
  restores: readonly Restore[],
): void {
  const head = ['ID', 'SERVICE', 'TYPE', 'STATUS', 'CREATED', 'MESSAGE'];
  const rows = restores.map(one => [
    String(one.id ?? ''),
    one.service_id ?? '',
    one.type ?? '',
    one.status ?? '',
    one.created_at ?? '',
    one.message ?? '',
  ]);
  out.line(
    restores.length === 0 ? 'no restores' : renderTable([head, ...rows], { width: out.columns }),
  );
}

// `logs retention`: shows how long the service keeps logs; changes it only when asked to in so many words, since what
// is older is deleted by the service at once and for good.

import { printableJson } from '../lib/printable.ts';
import { failureLine, LOG_OPTIONS, withLogApis } from './log-access.ts';
import { rowsOf } from './logs-list.ts';
import { refuseWords } from './queue-config.ts';
import { renderTable } from './table.ts';
import { readArgs, usageError, type VerbContext } from './verb.ts';

const VERB = 'logs retention';
const DAYS_MAX = 3650;

export function logsRetention(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, {
    ...LOG_OPTIONS,
    bucket: { type: 'string' },
    provider: { type: 'string' },
    'set-days': { type: 'string' },
    confirm: { type: 'string' },
  });
  refuseWords(VERB, words);
  const { bucket, provider, 'set-days': setDays, confirm } = values;
  const query = {
    ...(bucket === undefined ? {} : { bucket_name: bucket }),
    ...(provider === undefined ? {} : { provider }),
  };
  const days = setDays === undefined ? null : Number(setDays);
  if (days !== null && !(Number.isInteger(days) && days >= 1 && days <= DAYS_MAX))
    throw usageError(VERB, `expected --set-days as a number from 1 to ${DAYS_MAX}`);
  if (days !== null && (bucket === undefined || provider === undefined))
    throw usageError(VERB, '--set-days needs --bucket and --provider');
  if (days !== null && confirm !== bucket)
    throw usageError(
      VERB,
      `--set-days deletes older logs for good: confirm with --confirm ${bucket}`,
    );
  return withLogApis(VERB, values, context, async apis => {
    const [first, ...others] = apis;
    if (first === undefined || others.length > 0)
      throw usageError(VERB, 'expected --service-id: there are several APIs in the configuration');
    const settings = { signal: context.stop };
    const answer =
      days === null
        ? await first.api.retention(query, settings)
        : await first.api.setRetention({ ...query, retention_policy_days: days }, settings);
    if (!answer.ok) {
      context.err.line(failureLine(answer.failure));
      return 1;
    }
    const items = Array.isArray(answer.json) ? (answer.json as unknown[]) : [answer.json ?? {}];
    if (values.json === true) context.out.line(printableJson(answer.json ?? null));
    else context.out.line(renderTable(rowsOf(items), { width: context.out.columns }));
    return 0;
  });
}

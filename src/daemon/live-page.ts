// Reads a service's part of the page now, for a person who looks closer. Nothing of it is sent or stored. In: the id of a
// service. Out: its lines as text of at most LIVE_TEXT_MAX characters, without secrets; or why there are none. Sends no
// request while the target's metrics are held off, for example because the key is refused.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { escapeLabel } from '../lib/counters.ts';
import { formatBytes, formatCount } from '../lib/format.ts';
import { printableUrl } from '../lib/printable.ts';
import type { Target } from '../pipeline/collect/plan-targets.ts';
import { PAGE_ACCEPT } from '../service/exchange.ts';
import type { ServiceHttp } from '../service/http-client.ts';
import type { PullReport } from '../service/pull-report.ts';
import { createRedactor, secretsOf } from '../service/redact.ts';
import { errorLine, type ServiceError } from '../service/service-error.ts';

/** A larger page is not read for people; metrics.limits.body may allow less. */
const LIVE_BODY_MAX = 32 * 2 ** 20;
/** The longest text, in characters; further lines are cut. */
export const LIVE_TEXT_MAX: number = 2 ** 20;

export interface LivePage {
  readonly ok: boolean;
  /** The lines, or the failure in one line. */
  readonly text: string;
}

export interface LiveSource {
  readonly target: Pick<Target, 'path' | 'configured' | 'otherShards' | 'api'>;
  readonly client: Pick<ServiceHttp, 'get'>;
  readonly bodyBytesMax: number;
  /** The report of the target's metrics. */
  readonly report: Pick<PullReport, 'held'> | undefined;
}

export async function readLivePage(
  { target, client, report, bodyBytesMax }: LiveSource,
  serviceId: string,
  clock: Clock,
): Promise<LivePage> {
  const held = report?.held() ?? null;
  if (held !== null) return failure(held);
  const maxBodyBytes = Math.min(LIVE_BODY_MAX, bodyBytesMax);
  const result = await client.get(target.path, { accept: PAGE_ACCEPT, maxBodyBytes });
  if (!result.ok) return failure(result.error);
  const isOnlyOne = target.configured.size === 1 && target.otherShards.serviceCount === 0;
  const { text, count, isCut } = await linesOf(result.body, serviceId, isOnlyOne);
  const at = new Date(clock.nowMs()).toISOString();
  const url = printableUrl(`${target.api.baseUrl}${target.path}`);
  const head = `# ${formatCount(count)} samples of ${serviceId} at ${at}, from ${url}\n`;
  const end = isCut ? `# cut after ${formatBytes(LIVE_TEXT_MAX)}\n` : '';
  return { ok: true, text: createRedactor(() => secretsOf(target.api))(head + text + end) };
}

function failure(error: ServiceError): LivePage {
  return { ok: false, text: `${errorLine(error)}\n` };
}

/** Lines between two turns of the event loop. */
const TURN_LINES = 20_000;
/** HELP, TYPE, UNIT and one more; a page may repeat them without end. */
const COMMENTS_MAX = 4;
const NAMESPACE = /[{,]\s*namespace\s*=/;

/**
 * The samples of a service, with the comments above their families. `isOnlyOne`: samples without the label `namespace`
 * belong to it.
 */
async function linesOf(
  page: Buffer,
  serviceId: string,
  isOnlyOne: boolean,
): Promise<{ readonly text: string; readonly count: number; readonly isCut: boolean }> {
  // Every quote in a label's value is escaped, so this pattern cannot match inside a value.
  const value = escapeLabel(serviceId).replace(/[^\w]/g, '\\$&');
  const own = new RegExp(`[{,]\\s*namespace\\s*=\\s*"${value}"`);
  const kept: string[] = [];
  let comments: string[] = [];
  let [count, size, seen] = [0, 0, 0];
  for (let from = 0; from < page.length; seen++) {
    const newline = page.indexOf('\n', from);
    const end = newline < 0 ? page.length : newline;
    const line = page.toString('utf8', from, end);
    from = end + 1;
    if (seen % TURN_LINES === TURN_LINES - 1) await nextTurn();
    if (line.startsWith('#')) {
      // The comments of a family are together, above its samples.
      if (familyOf(comments[0]) !== familyOf(line)) comments = [];
      if (comments.length < COMMENTS_MAX) comments.push(line);
      continue;
    }
    const isOwn = own.test(line) || (isOnlyOne && line !== '' && !NAMESPACE.test(line));
    if (!isOwn) continue;
    const added = isSampleOf(familyOf(comments[0]), line) ? [...comments, line] : [line];
    comments = [];
    size += added.reduce((sum, one) => sum + one.length + 1, 0);
    if (size > LIVE_TEXT_MAX) return { text: kept.join(''), count, isCut: true };
    kept.push(...added.map(one => `${one}\n`));
    count++;
  }
  return { text: kept.join(''), count, isCut: false };
}

/** What follows the name of the family in a sample line. */
const REST = /^(?:_(?:bucket|count|sum|created|total|info|gcount|gsum))?[{\s]/;

function isSampleOf(family: string, line: string): boolean {
  return line.startsWith(family) && REST.test(line.slice(family.length));
}

/** The name in `# TYPE name counter`. */
function familyOf(comment = ''): string {
  return comment.split(' ', 3)[2] ?? '';
}

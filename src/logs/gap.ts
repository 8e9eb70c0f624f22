// A gap is a time range whose logs could not be pulled and were skipped. Each gap is counted, and sent as a log record
// in the same commit that skips it, so that the back end shows where logs are missing.

import type { LogRecord } from '../pipeline/encode/logs.ts';
import type { ArchiveFault } from './archive.ts';
import type { Span } from './cursor.ts';
import type { Partition } from './item.ts';
import { OWN_PREFIX, textUid } from './record.ts';

export type GapReason =
  | ArchiveFault
  | 'retention'
  | 'vanished'
  | 'unlisted'
  /** Before this shard began to read the logs of a service, which another shard may have read until then. */
  | 'first_start'
  /** The state of a service was not readable. */
  | 'state_lost';

export interface Gap {
  readonly partition: Partition;
  /** Begins at 0 if the beginning is unknown. */
  readonly span: Span;
  readonly reason: GapReason;
  /** The archive that it concerns; '' if none. */
  readonly archive: string;
}

const TEXTS: Readonly<Record<GapReason, string>> = {
  not_archive: 'the service returned something other than an archive',
  cut: 'the archive ends in the middle',
  damaged: 'the archive is damaged',
  checksum: 'the checksum of the archive is wrong',
  encrypted: 'the archive is encrypted',
  nested: 'the archive holds another archive',
  method: 'the archive has an unknown compression method',
  refused: 'the service lists the archive but does not deliver it',
  archive_limit: 'the archive is larger than logs.limits.archive',
  entries_limit: 'the archive has more entries than logs.limits.entries',
  unpacked_limit: 'the archive unpacks to more than logs.limits.unpacked',
  ratio_limit: 'the archive unpacks to more than logs.limits.ratio times its size',
  retention: 'the service no longer keeps these logs',
  vanished: 'the archive was listed, and later no longer',
  unlisted: 'the service could not list them for three days',
  state_lost: 'the stored position was lost, and reading began anew',
  first_start: 'this shard is new to the service, and begins where logs.first_start says',
};

const SEVERITY_WARN = 13;

/** The log record of a gap; its time is the end of the gap. */
export function gapRecord(gap: Gap): LogRecord {
  const { partition, span, reason, archive } = gap;
  const { from, to } = gapTimes(gap);
  const time = from === null ? `up to ${to}` : `from ${from} to ${to}`;
  const of = partition.source === '' ? '' : ` of ${partition.source}`;
  return {
    timeMs: span.toMs,
    timeExtraNs: 0,
    severityNumber: SEVERITY_WARN,
    severityText: 'WARN',
    body: `gap: ${partition.type || 'logs'}${of} ${time} may be missing: ${TEXTS[reason]}`,
    eventName: `${OWN_PREFIX}log.gap`,
    attributes: [
      ...(from === null ? [] : [[`${OWN_PREFIX}gap.from`, from] as const]),
      [`${OWN_PREFIX}gap.to`, to],
      [`${OWN_PREFIX}gap.reason`, reason],
      ...(archive === '' ? [] : [[`${OWN_PREFIX}gap.archive`, archive] as const]),
    ],
  };
}

/** Both ends in RFC 3339; `from` is null if the beginning is unknown. */
export function gapTimes({ span }: Gap): { readonly from: string | null; readonly to: string } {
  const from = span.fromMs === 0 ? null : new Date(span.fromMs).toISOString();
  return { from, to: new Date(span.toMs).toISOString() };
}

/** A gap of a whole service, or of one type of its logs. */
export function trackGap(
  { service, type }: Pick<Partition, 'service' | 'type'>,
  span: Span,
  reason: GapReason,
): Gap {
  return { partition: { service, source: '', server: '', type }, span, reason, archive: '' };
}

export function gapUid({ partition, span, reason, archive }: Gap): string {
  const { service, source, type } = partition;
  const place = [service.id, source, type];
  return textUid(['gap', ...place, reason, archive, `${span.fromMs}`, `${span.toMs}`]);
}

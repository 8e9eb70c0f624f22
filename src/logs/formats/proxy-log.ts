// The proxy's log. In: a record's text. Out: time, severity, session, module and object. The header is
//
//   2026-03-04 09:05:33.120   error  : (17) [router] (Read-Write); Lost connection to the primary
//   └ stamp ──────────┘└ms┘   └level    └session └module └object     └message
//
// Milliseconds, session, module and object are optional; the level is padded to seven characters.

import { type LogAttribute, type LogRecord, OWN_PREFIX } from '../record.ts';
import { type HeaderFormat, type Reading, severityOf } from './record-lines.ts';
import { type LineHeader, readLineHeader } from './line-header.ts';
import { readProxyMessage } from './redact-message.ts';
import { fractionOf } from './any-time.ts';
import { readStamp, stampLength } from './time.ts';

const STAMP_LENGTH = stampLength('YYYY-MM-DD');
const LEVEL = /(?:\.(\d{1,9}))? {1,8}([A-Za-z]{1,12}) *:(?: |$)/y;
const ORIGIN = /(?:\((\d{1,18})\) ?)?(?:\[([^\]\n]{1,200})\] ?)?(?:\(([^)\n]{1,200})\); ?)?/y;

/** The severity of a line with a time and no level. */
const INFO = 9;

export const PROXY_LOG: HeaderFormat = {
  name: 'proxy-log/1',
  startsRecord: text => headerOf(text) !== null,
  read: readRecord,
};

function headerOf(text: string): LineHeader | null {
  const stampMs = readStamp(text, 0, 'YYYY-MM-DD');
  LEVEL.lastIndex = STAMP_LENGTH;
  const match = Number.isNaN(stampMs) ? null : LEVEL.exec(text);
  if (match === null) return readLineHeader(text);
  const [all, fraction, level = ''] = match;
  const { ms, extraNs } = fractionOf(fraction);
  const end = STAMP_LENGTH + all.length;
  const time = { wallMs: stampMs + ms, extraNs, zoneMs: null, lacks: 'nothing', end } as const;
  return { time, level, messageAt: end };
}

function readRecord(raw: string, { localTime, isRedacting }: Reading): LogRecord {
  const header = headerOf(raw);
  const level = header?.level ?? '';
  const time = header?.time ?? null;
  const body = isRedacting ? readProxyMessage(raw).text : raw;
  return {
    timeMs: time === null ? localTime.lastMs : localTime.resolve(time),
    timeExtraNs: time?.extraNs ?? 0,
    severityNumber: level === '' ? INFO : severityOf(level),
    severityText: level,
    body,
    eventName: null,
    attributes: originOf(body, header?.messageAt ?? 0),
  };
}

function originOf(text: string, at: number): LogAttribute[] {
  ORIGIN.lastIndex = at;
  const [, session, module, object] = ORIGIN.exec(text) ?? [];
  const attributes: LogAttribute[] = [];
  const sessionId = Number(session ?? Number.NaN);
  if (Number.isSafeInteger(sessionId))
    attributes.push([`${OWN_PREFIX}proxy.session_id`, sessionId]);
  if (module !== undefined) attributes.push([`${OWN_PREFIX}proxy.module`, module]);
  if (object !== undefined) attributes.push([`${OWN_PREFIX}proxy.object`, object]);
  return attributes;
}

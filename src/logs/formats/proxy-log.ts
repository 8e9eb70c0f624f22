// The proxy's log. In: a record's text. Out: time, severity, session, module and object. The header is
//
//   2026-03-04 09:05:33.120   error  : (17) [router] (Read-Write); Lost connection to the primary
//   └ stamp ──────────┘└ms┘   └level    └session └module └object     └message
//
// Milliseconds, session, module and object are optional; the level is padded to seven characters.

import { type LogAttribute, type LogRecord, OWN_PREFIX } from '../record.ts';
import { type HeaderFormat, type Reading, severityOf } from './record-lines.ts';
import { redactMessage } from './redact.ts';
import { fractionOf, readStamp, stampLength } from './time.ts';

const STAMP_LENGTH = stampLength('YYYY-MM-DD');
const LEVEL = /(?:\.(\d{1,9}))? {1,8}([A-Za-z]{1,12}) *:(?: |$)/y;
const ORIGIN = /(?:\((\d{1,18})\) ?)?(?:\[([^\]\n]{1,200})\] ?)?(?:\(([^)\n]{1,200})\); ?)?/y;

export const PROXY_LOG: HeaderFormat = {
  name: 'proxy-log/1',
  startsRecord: text => !Number.isNaN(readStamp(text, 0, 'YYYY-MM-DD')) && levelOf(text) !== null,
  read: readRecord,
};

function levelOf(text: string): RegExpExecArray | null {
  LEVEL.lastIndex = STAMP_LENGTH;
  return LEVEL.exec(text);
}

function readRecord(raw: string, { localTime, isRedacting }: Reading): LogRecord {
  const match = levelOf(raw);
  const level = match?.[2] ?? '';
  const { ms, extraNs } = fractionOf(match?.[1]);
  const body = isRedacting ? redactMessage(raw) : raw;
  const originAt = STAMP_LENGTH + (match?.[0].length ?? 0);
  return {
    timeMs: localTime.toEpochMs(readStamp(raw, 0, 'YYYY-MM-DD')) + ms,
    timeExtraNs: extraNs,
    severityNumber: severityOf(level),
    severityText: level,
    body,
    eventName: null,
    attributes: originOf(body, originAt),
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

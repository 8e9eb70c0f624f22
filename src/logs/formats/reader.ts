// Picks the format by the log's type. In: the type and how to read. Out: a reader for the lines of one entry.

import type { CreateLineReader, LineReader, LineReaderOptions } from '../record.ts';
import { readAuditLine } from './audit-log.ts';
import { createErrorLogFormat } from './error-log.ts';
import { JoiningReader } from './joining-reader.ts';
import { createLocalTime, type LocalTime } from './local-time.ts';
import { createProxyLogFormat } from './proxy-log.ts';
import { redactSqlPiece } from './redact.ts';
import { redactMessage } from './redact-message.ts';
import { SingleLineReader } from './single-line-reader.ts';
import { SlowQueryReader } from './slow-query-log.ts';

/** A reader for one entry of a log; lines of an unknown type go out one by one, marked as unparsed. */
export const createLineReader: CreateLineReader = (options: LineReaderOptions): LineReader => {
  const { isRedacting, recordBytesMax } = options;
  const localTime = localTimeOf(options.timezone);
  switch (options.type) {
    case 'error-log':
      return new JoiningReader(createErrorLogFormat(localTime, isRedacting), recordBytesMax);
    case 'proxy-log':
      return new JoiningReader(createProxyLogFormat(localTime, isRedacting), recordBytesMax);
    case 'slow-query-log':
      return new SlowQueryReader({ localTime, isRedacting }, recordBytesMax);
    case 'audit-log': {
      const read = (text: string) => readAuditLine(text, localTime, isRedacting);
      const redact = (text: string): string => (isRedacting ? redactSqlPiece(text) : text);
      return new SingleLineReader({ read, redact }, recordBytesMax);
    }
    default: {
      const redact = (text: string): string => (isRedacting ? redactMessage(text) : text);
      return new SingleLineReader({ read: () => null, redact }, recordBytesMax);
    }
  }
};

/** Offsets of a zone are kept beyond a reader, since finding them out is slow. */
const localTimes = new Map<string, LocalTime>();

function localTimeOf(timezone: string): LocalTime {
  let localTime = localTimes.get(timezone);
  if (localTime === undefined) {
    localTime = createLocalTime(timezone);
    localTimes.set(timezone, localTime);
  }
  return localTime;
}

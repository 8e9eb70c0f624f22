// Picks the format by the log's type. In: the type and how to read. Out: a reader for the lines of one entry.

import type { CreateLineReader, LineReader, LineReaderOptions } from '../record.ts';
import { readAuditLine, redactAuditLine } from './audit-log.ts';
import { createErrorLogFormat } from './error-log.ts';
import { JoiningReader } from './joining-reader.ts';
import { createLocalTime } from './local-time.ts';
import { createProxyLogFormat } from './proxy-log.ts';
import { redactMessage } from './redact-message.ts';
import { SingleLineReader } from './single-line-reader.ts';
import { SlowQueryReader } from './slow-query-log.ts';

/** A reader for one entry of a log; lines of an unknown type go out one by one, marked as unparsed. */
export const createLineReader: CreateLineReader = (options: LineReaderOptions): LineReader => {
  const { isRedacting, recordBytesMax } = options;
  const localTime = createLocalTime(options.timezone);
  switch (options.type) {
    case 'error-log':
      return new JoiningReader(createErrorLogFormat(localTime, isRedacting), recordBytesMax);
    case 'proxy-log':
      return new JoiningReader(createProxyLogFormat(localTime, isRedacting), recordBytesMax);
    case 'slow-query-log':
      return new SlowQueryReader({ localTime, isRedacting }, recordBytesMax);
    case 'audit-log': {
      const read = (text: string) => readAuditLine(text, localTime, isRedacting);
      const redact = (text: string): string => (isRedacting ? redactAuditLine(text) : text);
      return new SingleLineReader({ name: 'audit-log/1', localTime, read, redact }, recordBytesMax);
    }
    default: {
      const redact = (text: string): string => (isRedacting ? redactMessage(text) : text);
      const format = { name: 'lines/1', localTime, read: () => null, redact };
      return new SingleLineReader(format, recordBytesMax);
    }
  }
};

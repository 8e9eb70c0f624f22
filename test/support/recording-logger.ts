// A logger that keeps its lines.

import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createLogger, type Logger } from '../../src/lib/log.ts';

export interface RecordingLogger {
  readonly logger: Logger;
  readonly log: Record<string, unknown>[];
}

export function recordingLogger(clock: Clock = systemClock): RecordingLogger {
  const log: Record<string, unknown>[] = [];
  const write = (line: string): void => void log.push(JSON.parse(line) as (typeof log)[number]);
  const logger = createLogger({ level: 'debug', format: 'json', destination: { write }, clock });
  return { logger, log };
}

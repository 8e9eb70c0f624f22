// The log of the program: fields and a message in, one line out, to stderr by default; written
// at once, so that nothing is lost when the process ends. JSON comes from pino, without a transport (those
// start threads). No line carries a secret: fields with a secret's name are replaced at any of the first
// three levels, and so are user and password within a URL, wherever in the line they stand.

import { pino, type DestinationStream } from 'pino';
import { systemClock, type Clock } from './clock.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** What a part of the program logs through. Messages are constant text; what varies is in the fields. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

export interface LoggerOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `text` is one short line for a human: time, level, message, fields. */
  readonly format: 'json' | 'text';
  /** Takes whole lines; stderr when absent. */
  readonly destination?: DestinationStream;
  readonly clock?: Clock;
}

/** Names of fields that never show their value. */
export const SECRET_FIELDS: readonly string[] = [
  'apiKey',
  'api_key',
  'authorization',
  'cookie',
  'headers',
  'password',
  'secret',
  'token',
  'x-api-key',
];

const CENSOR = '[secret]';
const URL_CREDENTIALS = /:\/\/[^\s/@"\\]+@/g;

export function createLogger(options: LoggerOptions): Logger {
  const clock = options.clock ?? systemClock;
  const lines = options.destination ?? pino.destination({ dest: 2, sync: true });
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.nowMs()).toISOString()}"`,
      formatters: { level: label => ({ level: label }) },
      redact: { paths: secretPaths(), censor: CENSOR },
      hooks: { streamWrite: line => line.replace(URL_CREDENTIALS, `://${CENSOR}@`) },
    },
    options.format === 'json' ? lines : { write: line => lines.write(textLine(line)) },
  );
}

/** A logger that says nothing: for tests and for verbs whose output is data. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

function secretPaths(): string[] {
  return ['', '*.', '*.*.'].flatMap(prefix =>
    SECRET_FIELDS.map(name => `${prefix.replace(/\.$/, '')}["${name}"]`),
  );
}

/** Turns one line of JSON into one for a human, so that both formats are redacted by the same code. */
function textLine(json: string): string {
  const { time, level, msg, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${fieldText(value)}`);
  return `${String(time)} ${String(level).padEnd(5)} ${String(msg)}${shown.join('')}\n`;
}

/** Bare where that is unambiguous and printable, else as JSON, which also escapes control characters. */
function fieldText(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[!#-<>-~]+$/.test(value);
  return isPlain ? value : JSON.stringify(value);
}

// The log of the program. In: fields and a message. Out: one line, to stderr by default, written at once, so that nothing
// is lost when the process ends. JSON comes from pino, without a transport (which would start a thread). No line contains
// a secret: fields with a secret's name are replaced in the first three levels, and so are user and password in a URL
// anywhere in the line. Repeated events go through a ThrottledLog.

import { isatty } from 'node:tty';
import { pino, type DestinationStream } from 'pino';
import { systemClock, type Clock } from './clock.ts';
import {
  painted,
  type Style,
  wantsColour,
  escapeHarmful,
  printableJson,
  printableLine,
} from './printable.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** Messages are constant texts; fields contain the variable parts. */
export interface Logger {
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** A logger whose level and format may change; lines that wait to be written are kept. */
export interface AdjustableLogger extends Logger {
  use(settings: Pick<LoggerOptions, 'level' | 'format'>): void;
}

export interface LoggerOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `text` is one short readable line: time, level, message, fields; `auto` means text on a terminal, else json. */
  readonly format: 'auto' | 'json' | 'text';
  /** Takes whole lines; stderr if absent. */
  readonly destination?: DestinationStream;
  readonly clock?: Clock;
  /** Decides, with the terminal, whether the levels of text are coloured; the terminal alone if absent. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** The names of fields whose value is never shown. */
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
/** Up to the last @ of the authority: a password may contain one. */
const URL_CREDENTIALS = /:\/\/[^\s/"\\]+@/g;

export function createLogger(options: LoggerOptions): AdjustableLogger {
  const lasting = { ...options, destination: options.destination ?? openStderr() };
  let logger = pinoLogger(lasting);
  return {
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    use: settings => void (logger = pinoLogger({ ...lasting, ...settings })),
  };
}

function pinoLogger(options: LoggerOptions & { readonly destination: DestinationStream }): Logger {
  const clock = options.clock ?? systemClock;
  const isText = options.format === 'auto' ? isatty(2) : options.format === 'text';
  const lines = options.destination;
  const isColoured = wantsColour(isatty(2), options.environment ?? {});
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.nowMs()).toISOString()}"`,
      formatters: { level: label => ({ level: label }) },
      redact: { paths: secretPaths(), censor: CENSOR },
      hooks: {
        streamWrite: line => escapeHarmful(line.replace(URL_CREDENTIALS, `://${CENSOR}@`)),
      },
    },
    isText ? { write: line => lines.write(textLine(line, isColoured)) } : lines,
  );
}

/** The most memory for lines that wait to be written. */
const WAITING_BYTES_MAX = 2 ** 20;

/**
 * A full disk or a closed terminal does not end the process. Lines that cannot be written wait for the next line; while
 * too many wait, further lines are lost.
 */
function openStderr(): DestinationStream {
  const lines = pino.destination({ dest: 2, sync: true, maxLength: WAITING_BYTES_MAX });
  lines.on('error', () => undefined);
  // A lost line does not cause a write, so this one writes the waiting lines.
  lines.on('drop', () => lines.write(''));
  return lines;
}

/** A logger without output: for tests and for verbs whose output is data. */
export const silentLogger: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

function secretPaths(): string[] {
  return ['', '*.', '*.*.'].flatMap(prefix =>
    SECRET_FIELDS.map(name => `${prefix.replace(/\.$/, '')}["${name}"]`),
  );
}

/** Turns a line of JSON into readable text, so that both formats are redacted by the same code; colours come last. */
function textLine(json: string, isColoured: boolean): string {
  const { time, level, msg, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${fieldText(value)}`);
  const text = printableLine(String(msg));
  const style = isColoured ? LEVEL_STYLES[String(level)] : undefined;
  const word = String(level).padEnd(5);
  const head = style === undefined ? word : painted(style, word);
  return `${String(time)} ${head} ${text}${shown.join('')}\n`;
}

/** Levels that ask for attention. */
const LEVEL_STYLES: Readonly<Record<string, Style>> = { warn: 'yellow', error: 'red' };

/** Unquoted if that is unambiguous and printable, else as JSON, which also escapes control characters. */
function fieldText(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[!#-<>-~]+$/.test(value);
  return isPlain ? value : printableJson(value, 0);
}

interface Passage {
  atMs: number;
  swallowedCount: number;
}

const INTERVAL_MS = 60_000;
const KEYS_MAX = 1024;
const OTHER_KEYS = '\u0000other';

/**
 * A log for repeated events. It writes one line per key and interval; the field `swallowed` of the next line counts the
 * events without a line. So a failure that lasts a day is one line per minute, not a million lines. The number of keys
 * is limited; further keys share one.
 */
export class ThrottledLog {
  /** The same log without a throttle. */
  readonly plain: Logger;
  readonly #clock: Clock;
  readonly #passages = new Map<string, Passage>();

  constructor(plain: Logger, clock: Clock) {
    this.plain = plain;
    this.#clock = clock;
  }

  warn(key: string, fields: LogFields, message: string): void {
    const swallowed = this.#pass(key);
    if (swallowed !== null) this.plain.warn({ ...fields, swallowed }, message);
  }

  error(key: string, fields: LogFields, message: string): void {
    const swallowed = this.#pass(key);
    if (swallowed !== null) this.plain.error({ ...fields, swallowed }, message);
  }

  /** Counts an event. Returns the events without a line since the last line; null for no line now. */
  #pass(key: string): number | null {
    const nowMs = this.#clock.monotonicMs();
    const passage = this.#passages.get(key) ?? this.#admit(key, nowMs);
    if (nowMs - passage.atMs < INTERVAL_MS) {
      passage.swallowedCount++;
      return null;
    }
    const { swallowedCount } = passage;
    passage.atMs = nowMs;
    passage.swallowedCount = 0;
    return swallowedCount;
  }

  /** Makes room for a new key by removing quiet keys; if there are none, uses the shared key. */
  #admit(key: string, nowMs: number): Passage {
    if (this.#passages.size >= KEYS_MAX) {
      for (const [old, passage] of this.#passages)
        if (passage.swallowedCount === 0 && nowMs - passage.atMs >= INTERVAL_MS)
          this.#passages.delete(old);
    }
    const admitted = this.#passages.size >= KEYS_MAX ? OTHER_KEYS : key;
    const passage = this.#passages.get(admitted) ?? { atMs: -Infinity, swallowedCount: 0 };
    this.#passages.set(admitted, passage);
    return passage;
  }
}

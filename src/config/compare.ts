// Holds two configurations against each other: what is the same, and what of the rest takes a restart.

import type { Config } from './config.ts';

/** True when two parts of configurations mean the same. Secrets count by their text, expressions by their source. */
export function isSame(a: unknown, b: unknown): boolean {
  return comparable(a) === comparable(b);
}

/** A text that holds secrets: it is compared, and never kept. */
function comparable(value: unknown): string {
  return JSON.stringify(value, function replace(this: Record<string, unknown>, key, shown) {
    // JSON.stringify has called toJSON by now, which hides what a secret is.
    const own: unknown = this[key];
    if (own instanceof RegExp) return own.source;
    if (own instanceof Map) return [...(own as Map<unknown, unknown>)];
    if (isSecret(own)) return own.reveal();
    return shown as unknown;
  });
}

function isSecret(value: unknown): value is { reveal(): string } {
  return typeof value === 'object' && value !== null && 'reveal' in value;
}

/**
 * What a running process is built around, by key. Everything else is put in place by a reload: see
 * docs/decisions/0055-reload.md.
 */
const FOR_A_LIFE: Readonly<Record<string, (config: Config) => unknown>> = {
  queue: config => config.queue,
  'otlp.max_request': config => config.otlp.maxRequestBytes,
  'otlp.protocol': ({ otlp }) => [otlp.metrics.protocol, otlp.logs.protocol],
  'otlp.compression': ({ otlp }) => [otlp.metrics.compression, otlp.logs.compression],
  'otlp.temporality': config => config.otlp.temporality,
  status: config => config.status,
  shard: config => config.shard,
  log: config => config.log,
};

/** Keys that differ and take a restart, in the order of the configuration; [] when a reload will do. */
export function keysForRestart(running: Config, wanted: Config): readonly string[] {
  return Object.keys(FOR_A_LIFE).filter(
    key => !isSame(FOR_A_LIFE[key]?.(running), FOR_A_LIFE[key]?.(wanted)),
  );
}

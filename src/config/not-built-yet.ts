// Keys that are understood but whose part does not exist yet. When a part is built, its line here goes.

import type { Config } from './config.ts';

const NOT_BUILT: readonly (readonly [key: string, isUsed: (config: Config) => boolean])[] = [
  ['otlp.temporality: delta', config => config.otlp.temporality === 'delta'],
];

/** The keys in use that have no effect yet, for one warning at the start. */
export function notBuiltYet(config: Config): readonly string[] {
  return NOT_BUILT.filter(([, isUsed]) => isUsed(config)).map(([key]) => key);
}

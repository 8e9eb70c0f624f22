// The names that a Prometheus gives to our metrics with its default `otlp.translation_strategy`,
// UnderscoreEscapingWithSuffixes: the unit and `_total` are appended where the name lacks them. In: an expression with
// the names that prom2otlp sends. Out: the same expression with that Prometheus' names. Names that are not in the catalog
// are prom2otlp's own, which have their suffixes already. A test with a real Prometheus checks both.

import { CATALOG } from '../../src/catalog/all.ts';
import type { CatalogEntry } from '../../src/catalog/catalog.ts';

/** The suffixes of the units in the catalog. */
const UNIT_SUFFIXES: Readonly<Record<string, string>> = {
  s: 'seconds',
  ms: 'milliseconds',
  us: 'microseconds',
  By: 'bytes',
  '%': 'percent',
};

const ENTRIES: ReadonlyMap<string, CatalogEntry> = new Map(
  CATALOG.map(entry => [entry.name, entry]),
);

/** The name with the suffixes of its type and unit. */
export function withSuffixes(name: string): string {
  const entry = ENTRIES.get(name);
  if (entry === undefined) return name;
  const words = name.split('_').filter(word => word !== '');
  const [main = '', per] = entry.unit.split('/');
  const add = (word: string | undefined): void => {
    if (word !== undefined && !words.includes(word)) words.push(word);
  };
  add(UNIT_SUFFIXES[main]);
  if (per !== undefined) add(`per_${per === 's' ? 'second' : per}`);
  // A guessed counter is sent as a gauge, unless the page itself declares it (decision 2).
  if (entry.type !== 'counter' || entry.isGuess) return words.join('_');
  return [...words.filter(word => word !== 'total'), 'total'].join('_');
}

export function translateExpression(expr: string): string {
  return expr.replace(/[a-zA-Z_:][\w:]*/g, word => withSuffixes(word));
}

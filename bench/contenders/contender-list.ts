// The measured programs, by the names under which the scenarios and the command line know them.

import { bridge } from './bridge.ts';
import type { Contender } from './contender.ts';
import { plainStack } from './plain.ts';
import { collectorContender, prometheusAgent, vmagentContender } from './scrapers.ts';

export const CONTENDERS: readonly Contender[] = [
  bridge(),
  bridge({ isGzip: true }),
  vmagentContender,
  prometheusAgent,
  collectorContender,
  plainStack,
];

/** Throws when no contender has this name. */
export function contenderOf(name: string): Contender {
  const contender = CONTENDERS.find(contender => contender.name === name);
  if (contender === undefined) throw new Error(`there is no contender ${name}`);
  return contender;
}

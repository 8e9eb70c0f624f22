// How the image starts the program.

import { readFileSync } from 'node:fs';

/** The flags in ENTRYPOINT ["node", flags…, "bin/prom2otlp.js"]. */
export function shippedFlags(): readonly string[] {
  const words = JSON.parse(fromDockerfile('ENTRYPOINT')) as string[];
  return words.filter(word => word.startsWith('--'));
}

/** The variables in ENV NAME=value … */
export function shippedEnvironment(): Record<string, string> {
  const words = fromDockerfile('ENV').split(' ');
  return Object.fromEntries(words.map(word => word.split('=') as [string, string]));
}

function fromDockerfile(instruction: string): string {
  const text = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
  const rest = new RegExp(`^${instruction} (.*)$`, 'm').exec(text)?.[1];
  if (rest === undefined) throw new Error(`cannot read the Dockerfile: there is no ${instruction}`);
  return rest;
}

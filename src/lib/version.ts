// The version and the commit of the program. The bundler inserts both; in a checkout they are read from its files.

import { readFileSync } from 'node:fs';

declare const PROM2OTLP_VERSION: string | undefined;
declare const PROM2OTLP_COMMIT: string | undefined;

export function programVersion(): string {
  if (typeof PROM2OTLP_VERSION === 'string') return PROM2OTLP_VERSION;
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** For requests to the service and the back end. */
export const USER_AGENT: string = `prom2otlp/${programVersion()}`;

/** The commit of the build or of the checkout; '' if unknown. */
export function programCommit(): string {
  if (typeof PROM2OTLP_COMMIT === 'string') return PROM2OTLP_COMMIT;
  try {
    const git = new URL('../../.git/', import.meta.url);
    const head = readFileSync(new URL('HEAD', git), 'utf8').trim();
    if (!head.startsWith('ref: ')) return head;
    return readFileSync(new URL(head.slice('ref: '.length), git), 'utf8').trim();
  } catch {
    return '';
  }
}

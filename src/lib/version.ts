// Which program this is: its version and the commit it was made from. The bundler puts both in; in a checkout
// the files of the checkout say it.

import { readFileSync } from 'node:fs';

declare const PROM2OTLP_VERSION: string | undefined;
declare const PROM2OTLP_COMMIT: string | undefined;

/** The version of the package. */
export function programVersion(): string {
  if (typeof PROM2OTLP_VERSION === 'string') return PROM2OTLP_VERSION;
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** The commit it was built from, or the checkout's; '' where neither is known. */
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

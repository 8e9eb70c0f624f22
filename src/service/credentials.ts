// The key and the configured headers as they go out, revealed for one request at a time, since their sources
// (files, as secrets are mounted) may change while the program runs.

import type { ApiConfig } from '../config/config.ts';
import { validateHeaderValue } from '../lib/node-http.ts';

/** Header names (lower case but for the key's) to the texts that are sent. Held for one request only. */
export type Credentials = Readonly<Record<string, string>>;

const KEY_HEADER = 'X-API-Key';

export function revealCredentials(api: ApiConfig): Credentials {
  const revealed: Record<string, string> = {};
  for (const [name, value] of Object.entries(api.headers))
    revealed[name.toLowerCase()] = value.reveal();
  revealed[KEY_HEADER] = api.key.reveal();
  return revealed;
}

/**
 * Reads every source again after the service refused what was sent. True when what would be sent now differs,
 * also when another request has read the change already.
 */
export function refreshCredentials(api: ApiConfig, sent: Credentials): boolean {
  for (const secret of [api.key, ...Object.values(api.headers)]) secret.refresh();
  return Object.entries(revealCredentials(api)).some(([name, text]) => sent[name] !== text);
}

/** False for an empty key, and for what no header may hold, such as a line break. */
export function isSendable(credentials: Credentials): boolean {
  try {
    for (const [name, text] of Object.entries(credentials)) validateHeaderValue(name, text);
  } catch {
    return false;
  }
  return credentials[KEY_HEADER] !== '';
}

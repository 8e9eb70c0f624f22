// Which certificate authorities a connection trusts: those of the configuration, else Node's own list and the system's
// store, as curl does. A certificate in the list is enough, even if it is an intermediate one without its issuer.

import type { SecureContext } from 'node:tls';

export interface TlsSettings {
  /** A PEM text; null for the usual authorities. */
  readonly ca: string | null;
  /** The client's own. */
  readonly pair?: { readonly cert: string; readonly key: string } | null;
}

/** By authorities: connections without a client certificate share their context. */
const shared = new Map<string | null, SecureContext>();

export function contextFor({ ca, pair = null }: TlsSettings): SecureContext {
  const known = pair === null ? shared.get(ca) : undefined;
  if (known !== undefined) return known;
  const trusted = ca === null ? usualAuthorities() : ca;
  const context = loadTls().createSecureContext({
    allowPartialTrustChain: true,
    ...(trusted === null ? {} : { ca: trusted }),
    ...pair,
  });
  if (pair === null) shared.set(ca, context);
  return context;
}

let usual: string[] | null | undefined;

/** Node's own list and what the system adds; null if that is nothing, as in an image without a store. */
function usualAuthorities(): string[] | null {
  if (usual !== undefined) return usual;
  const { getCACertificates } = loadTls();
  const own = getCACertificates('default');
  const known = new Set(own);
  const added = new Set(getCACertificates('system').filter(one => !known.has(one)));
  usual = added.size === 0 ? null : [...own, ...added];
  return usual;
}

/** Takes 7 MB, which plain http does not need. */
function loadTls(): typeof import('node:tls') {
  return process.getBuiltinModule('node:tls');
}

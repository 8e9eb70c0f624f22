// Whether a host name stays on this machine: what goes there may be plain http even with a key in it.

/**
 * True for `localhost` and names below it, 127.0.0.0/8 and ::1, as URL.hostname writes them (an IPv6 address
 * in brackets). A name that merely resolves to such an address is not loopback: its answer may change.
 */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  if (host === '[::1]' || host === '::1') return true;
  return /^127(?:\.\d{1,3}){3}$/.test(host);
}

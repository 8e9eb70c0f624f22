// Whether a host is this machine: requests to it may use plain http even with a key.

/**
 * True for `localhost` and names below it, 127.0.0.0/8 and ::1, in the form of URL.hostname (an IPv6 address in
 * brackets). Other names that resolve to such an address are not loopback, because that may change.
 */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  if (host === '[::1]' || host === '::1') return true;
  return /^127(?:\.\d{1,3}){3}$/.test(host);
}

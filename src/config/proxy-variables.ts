// Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in upper and lower case, which no other file reads. They apply where the
// YAML names no proxy. Addresses near this machine bypass them: a proxy of a company rarely reaches them.

import { isIP } from 'node:net';
import type { Mistake } from '../errors.ts';
import { isLoopbackHost } from '../lib/loopback.ts';
import { proxyUrl } from './http-kinds.ts';
import { ConfigSecret, type Secret } from './secrets.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ProxyVariables {
  /** The proxy for a URL; null: none. */
  readonly proxyFor: (url: string) => Secret | null;
  /** Of variables that hold no URL of a proxy: they are ignored. */
  readonly warnings: readonly Mistake[];
}

const NAMES = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'] as const;
const PROXY = proxyUrl();

export function readProxyVariables(environment: Environment): ProxyVariables {
  const https = readProxy('HTTPS_PROXY', environment);
  const http = readProxy('HTTP_PROXY', environment);
  const [, noProxy] = valueOf('NO_PROXY', environment);
  const proxyFor = (text: string): Secret | null => {
    const url = new URL(text);
    const { secret } = url.protocol === 'https:' ? https : http;
    return secret === null || isNear(url.hostname) || isListed(url, noProxy) ? null : secret;
  };
  const warnings = [https, http].flatMap(({ warning }) => (warning === null ? [] : [warning]));
  return { proxyFor, warnings };
}

/** The variables alone, for a configuration that is made from options and gets no others. */
export function proxyVariablesOf(environment: Environment): Environment {
  const names = NAMES.flatMap(name => [name, name.toLowerCase()]);
  return Object.fromEntries(names.map(name => [name, environment[name]]));
}

/** The name in use, and the value; '' if it is not set. As for curl, lower case comes first. */
function valueOf(name: (typeof NAMES)[number], environment: Environment): [string, string] {
  const lower = environment[name.toLowerCase()]?.trim() ?? '';
  return lower === '' ? [name, environment[name]?.trim() ?? ''] : [name.toLowerCase(), lower];
}

function readProxy(
  variable: (typeof NAMES)[number],
  environment: Environment,
): { readonly secret: Secret | null; readonly warning: Mistake | null } {
  const [name, value] = valueOf(variable, environment);
  if (value === '') return { secret: null, warning: null };
  // Other programs take an address without a scheme, too.
  let problem = '';
  const report = (violation: { readonly problem: string }): void => void ({ problem } = violation);
  const read = PROXY.read(value.includes('://') ? value : `http://${value}`, [], report);
  if (read === undefined)
    return { secret: null, warning: { key: name, message: `${problem}; the variable is ignored` } };
  const secret = new ConfigSecret(read.reveal(), undefined, `\${env:${name}}`);
  return { secret, warning: null };
}

const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10'];

/** This machine, its link, and the names inside a cluster. */
function isNear(hostname: string): boolean {
  const host = bare(hostname);
  const family = familyOf(host);
  if (isLoopbackHost(hostname)) return true;
  if (family !== null) return LINK_LOCAL.some(range => isInRange(host, range));
  return !host.includes('.') || host.endsWith('.svc') || host.endsWith('.cluster.local');
}

/** In lower case, without brackets and the dot at the end. */
function bare(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

function familyOf(host: string): 'ipv4' | 'ipv6' | null {
  const family = isIP(host);
  return family === 0 ? null : family === 4 ? 'ipv4' : 'ipv6';
}

/**
 * An entry is `*`, a name (with all names below it), an address or a range such as 10.0.0.0/8. A name or an IPv4 address
 * may have a port.
 */
function isListed(url: URL, noProxy: string): boolean {
  const host = bare(url.hostname);
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  const entries = noProxy.toLowerCase().split(/[\s,]+/);
  return entries.some(entry => entry !== '' && isOf(host, port, entry));
}

function isOf(host: string, port: string, entry: string): boolean {
  if (entry === '*') return true;
  const [, name = '', ownPort] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [entry, entry];
  if (ownPort !== undefined && ownPort !== port) return false;
  const wanted = bare(name.replace(/^\*?\./, ''));
  if (familyOf(host) !== null) return wanted === host || isInRange(host, wanted);
  return wanted !== '' && (host === wanted || host.endsWith(`.${wanted}`));
}

function isInRange(host: string, range: string): boolean {
  const [network = '', length = ''] = range.split('/');
  const family = familyOf(network);
  const bits = Number(length);
  if (family === null || !/^\d+$/.test(length) || bits > (family === 'ipv4' ? 32 : 128))
    return false;
  // The module has it behind a getter, which the bundle does not export.
  const { BlockList } = process.getBuiltinModule('node:net');
  const list = new BlockList();
  list.addSubnet(network, bits, family);
  return list.check(host, familyOf(host) ?? 'ipv4');
}

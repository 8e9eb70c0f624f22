// URLs, paths below them, addresses to listen on, and header names.

import type * as z from 'zod';
import type { Secret } from '../config.ts';
import { keyName, mapOf } from './containers.ts';
import { leaf, type LeafInput, type Reading, type Refusal } from './leaf.ts';
import { headerValue, secret } from './secret-values.ts';

/** An http(s) URL that a path is appended to: without query, fragment, user or trailing slash. */
export function baseUrl(expected = 'an http or https URL'): z.ZodType<string> {
  return leaf({
    expected,
    json: { type: 'string', pattern: '^https?://' },
    read: input => {
      const url = parseHttpUrl(input.text ?? '');
      if (url === undefined) return undefined;
      const refusal = refuseUser(url) ?? refusePart(url.search, 'query') ?? refuseFragment(url);
      return refusal ?? { value: url.href.replace(/\/+$/, '') };
    },
    suggest: suggestUrl,
  });
}

/** An http(s) URL that is used as it stands; it may have a query. */
export function fullUrl(): z.ZodType<string> {
  return leaf({
    expected: 'an http or https URL',
    json: { type: 'string', pattern: '^https?://' },
    read: input => {
      const url = parseHttpUrl(input.text ?? '');
      if (url === undefined) return undefined;
      return refuseUser(url) ?? refuseFragment(url) ?? { value: url.href };
    },
    suggest: suggestUrl,
  });
}

/** The URL of a proxy. It may hold a user and a password, so it is a secret. */
export function proxyUrl(): z.ZodType<Secret> {
  const expected = 'the http or https URL of a proxy';
  return secret({
    expected,
    refuse: text => {
      const url = parseHttpUrl(text);
      if (url === undefined) return { problem: `expected ${expected}` };
      const isBare = url.pathname === '/' && url.search === '' && url.hash === '';
      return isBare ? undefined : { problem: `expected ${expected}, without a path` };
    },
  });
}

function parseHttpUrl(text: string): URL | undefined {
  // The parser forgives blanks, backslashes and missing slashes; a configuration should not rely on it.
  if (!/^https?:\/\/[^/]/i.test(text) || /[\s\\]/.test(text)) return undefined;
  return URL.parse(text) ?? undefined;
}

function suggestUrl({ text }: LeafInput): string | undefined {
  if (text === undefined || !/^[\w.-]+(?::\d+)?(?:\/[\w./-]*)?$/.test(text)) return undefined;
  return `https://${text}`;
}

function refuseUser(url: URL): Refusal | undefined {
  if (url.username === '' && url.password === '') return undefined;
  return {
    problem: 'a user or password cannot stand in this URL',
    hint: 'remove what stands before the `@`; credentials go into `headers` or `key`',
  };
}

function refusePart(part: string, name: string): Refusal | undefined {
  return part === '' ? undefined : { problem: `this URL cannot have a ${name}`, hint: 'remove it' };
}

function refuseFragment(url: URL): Refusal | undefined {
  return refusePart(url.hash, 'fragment (`#…`)');
}

/** A path below a base URL. A query is legal, another host is not. */
export function urlPath(): z.ZodType<string> {
  return leaf({
    expected: 'a path that begins with one `/`',
    json: { type: 'string', pattern: '^/' },
    read: ({ text }) =>
      text !== undefined && /^\/(?!\/)[^\s#\\]*$/.test(text) ? { value: text } : undefined,
    suggest: ({ text }) =>
      text !== undefined && /^[\w.][\w./-]*$/.test(text) ? `/${text}` : undefined,
  });
}

export interface ListenAddress {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `host:port`; port 0 takes a free one. */
export function listenAddress(): z.ZodType<ListenAddress> {
  return leaf<ListenAddress>({
    expected: 'host:port such as 127.0.0.1:9464 or [::1]:9464',
    json: { type: 'string', pattern: ':\\d+$' },
    read: ({ text = '' }): Reading<ListenAddress> | undefined => {
      const match = /^(?:\[([\da-fA-F:.]+)\]|([A-Za-z\d][A-Za-z\d.-]*)):(\d{1,5})$/.exec(text);
      const host = match?.[1] ?? match?.[2];
      const port = Number(match?.[3]);
      return host === undefined || port > 65_535 ? undefined : { value: { host, port } };
    },
    suggest: ({ value, text = '' }) => {
      if (typeof value === 'number') return `127.0.0.1:${String(value)}`;
      const port = /^\*?:?(\d{1,5})$/.exec(text)?.[1];
      if (port !== undefined) return `${text.includes(':') ? '0.0.0.0' : '127.0.0.1'}:${port}`;
      return /^[A-Za-z\d.-]+$/.test(text) ? `${text}:9464` : undefined;
    },
  });
}

/** Headers that the program or HTTP itself sets. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Extra request headers: legal names (never one of `refused`), values that are secrets. */
export function headers(
  refused: Readonly<Record<string, string>> = {},
): z.ZodType<Record<string, Secret>> {
  const judge = (name: string): { problem: string; hint?: string } | undefined => {
    const word = name.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
      return { problem: 'this is not a legal name of a header', hint: 'use letters, digits and -' };
    }
    const hint = Object.hasOwn(refused, word) ? refused[word] : undefined;
    if (hint !== undefined) return { problem: `${name} cannot be set here`, hint };
    if (!OWN_HEADERS.has(word)) return undefined;
    return { problem: `${name} cannot be set here`, hint: 'remove it; the program sets it itself' };
  };
  return mapOf(keyName(judge), headerValue('the value of a header'));
}

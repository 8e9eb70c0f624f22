// Texts of the program without whom they are about: names and ids of services become `service-1`, hosts `host-1`, targets
// `target-1`; addresses lose their path, quoted texts and references what they hold. The same name has the same
// placeholder in a whole report. In doubt a word is hidden: what may stay is listed here, not what must go.

import { CONFIG } from '../config/keys.ts';
import { keysByLevel } from '../config/declare.ts';
import { LOG_TYPES } from '../config/log-keys.ts';
import { parseDuration, parseQuantity, SIZE } from '../config/units.ts';
import { isObject } from '../lib/json.ts';

const TEXT = '[text]';
const NAME = '[name]';

/** Addresses of this machine tell nothing about it. */
const OWN_HOSTS: ReadonlySet<string> = new Set([
  'localhost',
  '127.0.0.1',
  '[::1]',
  '0.0.0.0',
  '[::]',
]);

/** The words of the configuration that the program itself has chosen: names of keys, and values to choose from. */
const WORDS: ReadonlySet<string> = new Set([
  ...[...keysByLevel(CONFIG).values()].flat(),
  ...choicesIn(CONFIG.json()),
  ...LOG_TYPES,
]);

function choicesIn(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(choicesIn);
  if (!isObject(schema)) return [];
  return Object.entries(schema).flatMap(([name, value]) =>
    name === 'enum' && Array.isArray(value) ? value.map(String) : choicesIn(value),
  );
}

type ThingKind = 'service' | 'host' | 'target' | 'archive' | 'log';

export class Placeholders {
  readonly #known = new Map<string, string>();
  readonly #counts = { service: 0, host: 0, target: 0, archive: 0, log: 0 };
  /** Matches every known name; null where it has to be made anew. */
  #pattern: RegExp | null = null;

  /** All names of one thing get one placeholder: that of the first name that has one. */
  name(kind: ThingKind, ...names: readonly string[]): string {
    const [first = ''] = names.flatMap(name => this.#known.get(name) ?? []);
    const placeholder = first === '' ? `${kind}-${++this.#counts[kind]}` : first;
    for (const name of names) {
      if (name === '' || this.#known.has(name)) continue;
      this.#known.set(name, placeholder);
      this.#pattern = null;
    }
    return placeholder;
  }

  /** Scheme, host and port of an address; `/…` replaces a path. */
  address(text: string): string {
    const url = URL.parse(text);
    if (url === null) return TEXT;
    const host = OWN_HOSTS.has(url.hostname) ? url.hostname : this.name('host', url.hostname);
    const port = url.port === '' ? '' : `:${url.port}`;
    return `${url.protocol}//${host}${port}${url.pathname === '/' ? '' : '/…'}`;
  }

  /** A sentence of the program. `foreign`: the parts of it that repeat what others have said. */
  text(sentence: string, foreign: Iterable<string> = []): string {
    const parts = [...foreign].filter(part => part !== '').sort((a, b) => b.length - a.length);
    const own = parts.reduce(
      (text, part) => text.replaceAll(part, () => this.#gist(part)),
      sentence,
    );
    return own
      .replaceAll(/\$\{(file|env):[^}]*\}/g, '${$1:…}')
      .replaceAll(/\b[a-z]+:\/\/[^\s"'`,;()]*[^\s"'`,;():.]/g, address => this.address(address))
      .replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'(?!\w)/g, `"${TEXT}"`)
      .replaceAll(/`([^`]*)`/g, (quoted, words: string) => (isOwn(words) ? quoted : `\`${TEXT}\``))
      .replaceAll(this.#names, known => this.#known.get(known) ?? NAME)
      .replaceAll(DOTTED, word => (isOwnDotted(word) ? word : NAME))
      .replaceAll(/(?<![\w…/])(?!\/\/)(?:[A-Za-z]:\\|\/)[^\s;,)]+/g, '[path]');
  }

  /** The first words of a message that repeats others (`the back end answered 400`), with codes from the rest. */
  #gist(message: string): string {
    const [first = ''] = /^.*?(?=: | \(|; |$)/.exec(message) ?? [];
    const rest = message.slice(first.length);
    const codes = rest.match(/\bE[A-Z_]{3,}\b|(?<![\w.,:])[1-5]\d\d(?=[:);]|$)/g) ?? [];
    // The object may be anything, such as an archive.
    const isShown = (word: string): boolean =>
      /^(?:[a-z]+|https?:.*)$/.test(word) || isOwn(word) || this.#known.has(word);
    const words = first.replaceAll(/\S+/g, word => (isShown(word) ? word : NAME));
    return [OWN_BEGIN.test(first) ? words : TEXT, ...new Set(codes)].join(' ');
  }

  get #names(): RegExp {
    const names = [...this.#known.keys()].sort((a, b) => b.length - a.length);
    const escaped = names.map(name => name.replaceAll(/[$()*+.?[\\\]^{|}/]/g, String.raw`\$&`));
    this.#pattern ??= new RegExp(
      names.length === 0 ? '(?!)' : `(?<![\\w.-])(?:${escaped.join('|')})(?![\\w-])`,
      'g',
    );
    return this.#pattern;
  }

  /** The path of a key without the names that a user has chosen. */
  key(path: string): string {
    return path.replaceAll(/\["(?:[^"\\]|\\.)*"\]|[^.[\]\s()]+/g, part => {
      if (part.startsWith('[')) return `.${NAME}`;
      return WORDS.has(part) || /^(?:\d+|logs|OTEL_[A-Z_]+)$/.test(part) ? part : NAME;
    });
  }

  /** The value of a key as effectiveValues() shows it: numbers, switches, and words of the program stay. */
  value(path: string, value: string): string {
    if (value === '[secret]') return value;
    if (this.key(path).includes(NAME)) return TEXT;
    return this.#value(value);
  }

  #value(value: string): string {
    const [, host = '', port] = /^(\[[\da-f:]+\]|[\w.-]+):(\d+)$/i.exec(value) ?? [];
    if (isPlain(value)) return value;
    if (port !== undefined)
      return `${OWN_HOSTS.has(host) ? host : this.name('host', host)}:${port}`;
    if (/^[a-z]+:\/\//.test(value)) return this.address(value);
    if (/^(?:\[secret\])?(?:\$\{(?:file|env):[^}]*\}(?:\[secret\])?)+$/.test(value))
      return this.text(value);
    return this.#known.get(value) ?? this.#collection(value);
  }

  /** Lists and maps come as JSON. */
  #collection(value: string): string {
    const found = /^[[{]/.test(value) ? parsed(value) : undefined;
    if (Array.isArray(found))
      return `[${found.map(one => this.#value(typeof one === 'string' ? one : JSON.stringify(one))).join(', ')}]`;
    return isObject(found) ? `{${Object.keys(found).length} keys}` : TEXT;
  }
}

/** Words with dots: keys of the configuration, but also hosts, files, and addresses in numbers; and IPv6 addresses. */
const DOTTED =
  /(?<![\w.…-])(?:[\w-]+\.)+(?:[a-z][\w-]+|\d+\.\d+\.\d+)|(?<!\w)(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}/gi;

function isOwnDotted(word: string): boolean {
  const isTime = /^\d+[\d:]+$/.test(word);
  return isTime || OWN_HOSTS.has(word) || (/[a-z]/i.test(word) && isOwn(word));
}

/** True if each word is one of the program. */
export function isOwn(words: string): boolean {
  return words.split(/[^\w-]+/).every(word => word === '' || WORDS.has(word) || isPlain(word));
}

function isPlain(value: string): boolean {
  if (/^(?:true|false|null|[\d*/,\s-]+)$/.test(value) || WORDS.has(value)) return true;
  if (value === '' || Number.isFinite(Number(value))) return true;
  return parseDuration(value) !== undefined || parseQuantity(value, SIZE) !== undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** How messages of the program begin; see errors.ts. */
const OWN_BEGIN = /^(?:cannot|no answer|fetch failed|it answered|the (?:back end|daemon|answer))\b/;

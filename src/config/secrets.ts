// `${file:PATH}` and `${env:NAME}` within a scalar, and texts that must not be printed. A message never shows the text
// that a reference gave, whatever the key: it may be a secret in the wrong place.

import { resolve } from 'node:path';
import { inspect } from 'node:util';
import type { ReadTextFile, TextFile } from './text-file.ts';

/** Where references are looked up. The environment is kept: a secret may be read again. */
export interface TextSources {
  /** Relative paths start here: the directory of the configuration file. */
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readFile: ReadTextFile;
}

const REFERENCE = /\$\{(file|env):([^}\p{Cc}]*)\}/gu;

export function hasReference(text: string): boolean {
  return text.search(REFERENCE) !== -1;
}

/** A template whose other text may be a secret: the references stay. Without one it is the path of a file. */
export function maskText(template: string): string {
  const references = template.match(REFERENCE);
  if (references === null) return template;
  let end = 0;
  const pieces = references.map(reference => {
    const start = template.indexOf(reference, end);
    const text = start === end ? '' : HIDDEN;
    end = start + reference.length;
    return text + reference;
  });
  return pieces.join('') + (end === template.length ? '' : HIDDEN);
}

/** The text that was found, or everything that is wrong. */
export type Expansion = { readonly text: string } | { readonly problems: readonly string[] };

/** Replaces every reference once: references in the result are not expanded. Any other `$` stays. */
export function expand(template: string, sources: TextSources): Expansion {
  const problems: string[] = [];
  const text = template.replaceAll(REFERENCE, (reference, kind: string, name: string) => {
    const found = kind === 'env' ? readVariable(name, sources) : readFile(name, sources);
    if ('text' in found) return found.text;
    problems.push(`cannot read ${reference}: ${found.problem}`);
    return '';
  });
  return problems.length === 0 ? { text } : { problems };
}

/** Reads a file as `${file:PATH}` does. A problem does not repeat the path, which may be a secret in the wrong place. */
export function expandPath(path: string, sources: TextSources): Expansion {
  const found = readFile(path, sources);
  if ('text' in found) return found;
  return { problems: [`cannot read the file that is named here: ${found.problem}`] };
}

function readVariable(name: string, { environment }: TextSources): TextFile {
  if (name === '') return { problem: 'it names no variable' };
  const text = Object.hasOwn(environment, name) ? environment[name] : undefined;
  return text === undefined ? { problem: 'the variable is not set' } : { text };
}

function readFile(path: string, { directory, readFile }: TextSources): TextFile {
  if (path === '') return { problem: 'it names no file' };
  const found = readFile(resolve(directory, path));
  return 'text' in found ? { text: found.text.replace(/[\r\n]+$/, '') } : found;
}

/** A scalar whose text came from elsewhere. The program uses the text; messages show the template. */
export class ExpandedText {
  readonly template: string;
  readonly text: string;
  readonly #expand: () => Expansion;

  constructor(template: string, text: string, expand: () => Expansion) {
    this.template = template;
    this.text = text;
    this.#expand = expand;
  }

  /** Reads the sources again; undefined when one of them cannot be read now. */
  reread(): string | undefined {
    const expansion = this.#expand();
    return 'text' in expansion ? expansion.text : undefined;
  }
}

const HIDDEN = '[secret]';

/** A value that must not be printed. */
export interface Secret {
  /** The references that it came from, such as `${file:api-key}`; '' if the text itself is in the configuration. */
  readonly source: string;
  /** The text itself; call it where it is sent, and nowhere else. */
  reveal(): string;
  /** Reads the source (file or variable) again; true when the text has changed. */
  refresh(): boolean;
}

/**
 * A value that must not be printed: it shows as `[secret]` wherever it is turned into text. It keeps its text while the
 * source cannot be read or holds nothing usable.
 */
export class ConfigSecret implements Secret {
  readonly #source: string;
  #text: string;
  readonly #reread: () => string | undefined;

  /** `reread` gives undefined when there is nothing usable now. */
  constructor(text: string, reread: () => string | undefined = () => undefined, template = '') {
    this.#source = (template.match(REFERENCE) ?? []).join(' ');
    this.#text = text;
    this.#reread = reread;
  }

  get source(): string {
    return this.#source;
  }

  reveal(): string {
    return this.#text;
  }

  refresh(): boolean {
    const text = this.#reread();
    if (text === undefined || text === this.#text) return false;
    this.#text = text;
    return true;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  static {
    // As a property, because a method's name has to be a constant for the type checker.
    Object.defineProperty(this.prototype, inspect.custom, { value: () => HIDDEN });
  }
}

// Values that must not be printed, and the PEM files that some of them come from. The same test decides about
// the text at the start and about what a rotated file holds later: an unusable text never replaces a good one.

import type * as z from 'zod';
import type { Secret } from '../config.ts';
import { ConfigSecret } from '../secrets.ts';
import { leaf, type Refusal } from './leaf.ts';

export interface SecretKind {
  readonly expected: string;
  /** Why a text cannot be used, in words that do not repeat it. */
  readonly refuse: (text: string) => Refusal | undefined;
}

/** A text that is kept as a Secret and can be read again where it came from a file or a variable. */
export function secret({ expected, refuse }: SecretKind): z.ZodType<Secret> {
  return leaf<Secret>({
    expected,
    json: { type: 'string' },
    isSecret: true,
    read: ({ text, expanded }) => {
      if (text === undefined) return undefined;
      if (text === '') return { problem: `expected ${expected}, got an empty text` };
      const reread = (): string | undefined => {
        const again = expanded?.reread();
        return again === undefined || again === '' || refuse(again) !== undefined
          ? undefined
          : again;
      };
      return refuse(text) ?? { value: new ConfigSecret(text, reread) };
    },
  });
}

/** A secret that travels as (part of) a header: visible ASCII characters, blanks only between them. */
export function headerValue(expected: string): z.ZodType<Secret> {
  return secret({
    expected,
    refuse: text => {
      if (/^[!-~](?:[ -~\t]*[!-~])?$/.test(text)) return undefined;
      if (/[\r\n]/.test(text)) {
        return { problem: 'the value holds a line break, which no header can carry' };
      }
      const isTrimmed = text === text.trim();
      return isTrimmed
        ? { problem: 'the value holds characters that no header can carry' }
        : { problem: 'the value begins or ends with a blank' };
    },
  });
}

/** Certificates as PEM text: the key names their file, or holds the text itself. */
export function certificates(): z.ZodType<string> {
  return leaf({
    expected: 'the path of a PEM file with certificates',
    json: { type: 'string' },
    isSecret: true,
    read: ({ text }) => {
      if (text === undefined) return undefined;
      if (/-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/.test(text)) return { value: text };
      return { problem: 'expected certificates in PEM form (`-----BEGIN CERTIFICATE-----`)' };
    },
  });
}

/** A private key as PEM text, without a passphrase. */
export function privateKey(): z.ZodType<Secret> {
  return secret({
    expected: 'the path of a PEM file with a private key',
    refuse: text => {
      if (!/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(text)) {
        return { problem: 'expected a private key in PEM form (`-----BEGIN PRIVATE KEY-----`)' };
      }
      if (!text.includes('ENCRYPTED')) return undefined;
      return { problem: 'the private key is encrypted', hint: 'store it without a passphrase' };
    },
  });
}

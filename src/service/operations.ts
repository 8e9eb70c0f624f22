// The fields of the API's requests and answers. Requests are checked strictly: an invalid one is refused before anything
// is sent, with a message that names the expected form and repeats no possible secret. Answers are read tolerantly: fields
// of an unexpected type count as absent, unknown fields are kept.

import * as z from 'zod';
import { systemClock } from '../lib/clock.ts';
import { cronProblem } from '../lib/pull-schedule.ts';
import type { Kind } from './api-area.ts';
import type { RequestProblem } from './service-error.ts';

/** For zod: no generated code for rarely used schemas, because it costs more memory than it saves time. */
export const JITLESS = { jitless: true } as const;

export function kindOf<Item>(name: string, item: z.ZodType<Item>): Kind<Item> {
  return { name, read: json => item.safeParse(json, JITLESS).data ?? null };
}

/** A field that counts as absent when it is null or has another type. */
export function lenient<T>(type: z.ZodType<T>): z.ZodType<T | undefined> {
  return type.optional().catch(undefined);
}

/** Fields of an answer that may be absent. */
export const anyText: z.ZodType<string | undefined> = lenient(z.string());
export const anyNumber: z.ZodType<number | undefined> = lenient(z.number());
export const anyId: z.ZodType<number | string | undefined> = lenient(
  z.union([z.number(), z.string()]),
);

// The common fields of requests, with their rules.

const SHOWN_LENGTH_MAX = 60;
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

const BUCKET_NAME = /^[a-z\d](?:[a-z\d._-]{1,220})[a-z\d]$/;

export const serviceId: z.ZodType<string> = textField(text =>
  /^[^\s\p{C}/?#]{1,200}$/u.test(text) ? null : 'expected the id of a database service',
);

export const scheduleExpression: z.ZodType<string> = textField(text => {
  const problem = text === 'once' ? null : cronProblem(text, systemClock.nowMs());
  if (problem === null) return null;
  return `expected a cron expression of five fields such as "0 3 * * *", or once, got ${shown(text)}: ${problem}`;
});

/** The address of a bucket, without a path; some deployments require the slash at its end, so it is sent as it is. */
export const bucketAddress: z.ZodType<string> = textField(text => {
  const [scheme = '', name = '', ...rest] = text.replace(/\/$/, '').split(/:\/\/|\//);
  if (!/^(?:s3|gs):\/\//.test(text))
    return `expected s3://NAME or gs://NAME, got ${shown(text)}${/^(?:s3|gs)$/i.test(scheme) ? ': the scheme is in lower case' : ''}`;
  if (rest.length > 0)
    return `expected the bucket alone, as ${scheme}://${name}, without a path after it`;
  return BUCKET_NAME.test(name)
    ? null
    : `${shown(name)} is not a bucket name: it has at least three lower-case letters, digits, dots, hyphens or underscores`;
});

export const objectPath: z.ZodType<string> = textField(text => {
  if (text === '') return 'expected the path of the backup in the bucket, got an empty text';
  if (/^\w+:\/\//.test(text)) return 'expected the path in the bucket, without scheme and bucket';
  if (/\p{C}/u.test(text)) return 'expected a path without control characters';
  return text.length <= 1024 ? null : 'expected a path of at most 1024 characters';
});

export const encodedCredentials: z.ZodType<string> = textField(text =>
  text !== '' && BASE64.test(text) ? null : 'expected credentials in standard base64',
);

/** A text that must not be shown. */
export const secretText: z.ZodType<string> = textField(text =>
  text !== '' && !/\p{Cc}/u.test(text) ? null : 'expected one line of text',
);

export const someText: z.ZodType<string> = textField(text =>
  text.trim() === '' ? 'expected a text, got an empty one' : null,
);

/** `check` returns the problem, or null. */
export function textField(check: (text: string) => string | null): z.ZodType<string> {
  return z.string({ error: 'expected a text' }).check(context => {
    const problem = check(context.value);
    if (problem !== null)
      context.issues.push({ code: 'custom', message: problem, input: context.value });
  });
}

/** The problems of a request, or null. */
export function problemsOf(schema: z.ZodType, request: unknown): readonly RequestProblem[] | null {
  const read = schema.safeParse(request);
  if (read.success) return null;
  return read.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
}

function shown(text: string): string {
  const isLong = text.length > SHOWN_LENGTH_MAX;
  return JSON.stringify(isLong ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text);
}

// What the bodies of the backup operations must be, rule by rule as in sections 2.4 to 2.6 of the specification.
// Written from it anew, and not shared with the client, so that each is a check of the other.

import { z } from 'zod';
import { type Answer, type EndpointRequest, errorAnswer, isJsonSaid } from './answer.ts';
import type { Faults } from './faults.ts';

const TEXT = z.string('is required').min(1, 'is required');
const BUCKET = TEXT.regex(
  /^(?:s3|gs):\/\/[^/\s]+$/u,
  'must be s3://<bucket_name> or gs://<bucket_name>',
);
const SCHEDULE = TEXT.regex(
  /^(?:once|[^\s]+(?: [^\s]+){4})$/u,
  'must be a cron expression of five space-separated fields',
);

const ACCOUNT = z.object(
  Object.fromEntries(
    (
      'type project_id private_key_id private_key client_email client_id auth_uri token_uri ' +
      'auth_provider_x509_cert_url client_x509_cert_url universe_domain'
    )
      .split(' ')
      .map(name => [name, z.string()]),
  ),
);

export interface ScheduleBody {
  readonly backup_type: string;
  readonly schedule: string;
  readonly service_id: string;
}

export interface RestoreBody {
  readonly service_id: string;
}

const BUCKET_OBJECT = z
  .object({ path: BUCKET, credentials: TEXT })
  .refine(({ path, credentials }) => areCredentials(path, credentials), {
    message: 'must be the base64 of credentials for this kind of bucket',
    path: ['credentials'],
  });

export const SCHEDULE_BODY: z.ZodType<ScheduleBody> = z.object({
  backup_type: TEXT,
  schedule: SCHEDULE,
  service_id: TEXT,
  external_storage: z.object({ bucket: BUCKET_OBJECT }).optional(),
});

const SOURCE = z
  .object(
    {
      bucket: BUCKET,
      method: z.enum(['enginebackup', 'enginedump'], 'must be enginebackup or enginedump'),
      credentials: TEXT,
      encryption_key: z.string().min(1, 'must not be empty').optional(),
    },
    'is required',
  )
  .refine(({ bucket, credentials }) => areCredentials(bucket, credentials), {
    message: 'must be the base64 of credentials for this kind of bucket',
    path: ['credentials'],
  });

const RESTORE = z.object({ service_id: TEXT, external_source: SOURCE });

/** `key` may be called `id`: as the faults say. */
export function restoreBody({ restoreKey }: Faults): z.ZodType<RestoreBody> {
  return restoreKey === 'key' ? RESTORE.extend({ key: TEXT }) : RESTORE.extend({ id: TEXT });
}

export type ReadBody<T> = { readonly value: T } | { readonly answer: Answer };

/** The body of a request, or the 400 that says what is wrong with it first. */
export function readBackupBody<T>(schema: z.ZodType<T>, request: EndpointRequest): ReadBody<T> {
  const refuse = (why: string): ReadBody<T> => ({ answer: errorAnswer(400, why, request) });
  if (!isJsonSaid(request)) return refuse('Content-Type must be application/json');
  if (request.json === undefined) return refuse('The body is no JSON');
  const read = schema.safeParse(request.json);
  if (read.success) return { value: read.data };
  const [issue] = read.error.issues;
  return refuse([issue?.path.join('.'), issue?.message].join(' ').trim());
}

/** False where a client says that it does not take JSON. */
export function isJsonTaken({ headers }: EndpointRequest): boolean {
  const accept = headers['accept'];
  if (typeof accept !== 'string') return true;
  return /(?:^|,)\s*(?:application\/json|application\/\*|\*\/\*)\s*(?:;|,|$)/iu.test(accept);
}

/** A service account's key for gs, an access key for s3 (section 2.6). */
function areCredentials(bucket: string, encoded: string): boolean {
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return false;
  const text = bytes.toString('utf8');
  if (bucket.startsWith('gs:')) return ACCOUNT.safeParse(parse(text)).success;
  const keys = ['aws_access_key_id', 'aws_secret_access_key', 'region'];
  const hasKey = (key: string): boolean => new RegExp(`^${key}[ ]*=[ ]*\\S`, 'mu').test(text);
  return /^\s*\[default\]\s*$/mu.test(text) && keys.every(hasKey);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

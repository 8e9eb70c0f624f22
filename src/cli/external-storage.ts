// What the verbs for backups read from files because no secret may be an argument: credentials of a bucket, and the
// key of an encrypted backup. A mistake names the file and never repeats its content.

import { readTextFile } from '../config/text-file.ts';
import { OperatorError } from '../errors.ts';
import { type Encoded, readCredentials, storageOf } from '../service/credentials-file.ts';
import { usageError } from './verb.ts';

/** The credentials for a bucket, encoded as they are sent. The file holds them plain or encoded already. */
export function credentialsFromFile(verb: string, bucket: string, file: string): string {
  if (!/^(?:s3|gs):\/\//.test(bucket))
    throw usageError(
      verb,
      `--bucket: expected s3://NAME or gs://NAME, got ${JSON.stringify(bucket)}`,
    );
  return requireEncoded(verb, file, readCredentials(storageOf(bucket), secretFile(verb, file)));
}

/** The encoded credentials, or every problem of the file at once. */
export function requireEncoded(verb: string, file: string, encoded: Encoded): string {
  if (encoded.ok) return encoded.encoded;
  throw new OperatorError(
    encoded.problems.map(problem => ({
      code: 'E_FILE_READ',
      message: `cannot use the credentials in ${JSON.stringify(file)}: ${problem}`,
      hint: `prom2otlp ${verb} --help shows what they look like`,
    })),
  );
}

/** The one line of a file, without the line break at its end. */
export function keyFromFile(verb: string, file: string): string {
  return secretFile(verb, file).replace(/[\r\n]+$/, '');
}

export function secretFile(verb: string, file: string): string {
  const found = readTextFile(file);
  if ('text' in found) return found.text;
  const message = `cannot read ${JSON.stringify(file)}: ${found.problem}`;
  const hint = `see prom2otlp ${verb} --help`;
  throw new OperatorError([{ code: 'E_FILE_READ', message, hint }]);
}

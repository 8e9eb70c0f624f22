// `backups credentials encode`: the credentials of external storage in the form in which they are sent. They are a
// secret, encoded or not: they go into a new file that only this user may read, or to stdout where that is asked for.

import { writeFileSync } from 'node:fs';
import { causeText, OperatorError } from '../errors.ts';
import { encodeCredentials } from '../service/credentials-file.ts';
import { requireEncoded, secretFile } from './external-storage.ts';
import { readArgs, refuseWords, usageError, type VerbContext } from './verb.ts';

const VERB = 'backups credentials encode';
const STDOUT = '-';

export function credentialsEncode({ args, out, err }: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, args, {
    storage: { type: 'string' },
    file: { type: 'string' },
    output: { type: 'string' },
    json: { type: 'boolean' },
  });
  refuseWords(VERB, words);
  const { storage, file } = values;
  if (storage !== 's3' && storage !== 'gs') throw usageError(VERB, 'expected --storage s3 or gs');
  if (file === undefined || file === '') throw usageError(VERB, 'expected --file FILE');
  const { output = `${file}.base64` } = values;
  const text = secretFile(VERB, file);
  const encoded = requireEncoded(VERB, file, encodeCredentials(storage, text));
  if (output === STDOUT) {
    out.line(values.json === true ? JSON.stringify({ credentials: encoded }) : encoded);
    return Promise.resolve(0);
  }
  writeNew(output, encoded);
  if (values.json === true) out.line(JSON.stringify({ file: output }));
  else err.line(`${output}: the credentials, encoded; keep it as secret as they are`);
  return Promise.resolve(0);
}

/** Never over another file, and for nobody else to read. */
function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, `${text}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const message = `cannot write ${JSON.stringify(path)}: ${causeText(error)}`;
    const hint = 'name a file that does not exist yet with --output, or - for stdout';
    throw new OperatorError([{ code: 'E_CLI_USAGE', message, hint }], { cause: error });
  }
}

// `logs download`: archives as the service packs them, into a new file.

import { open } from 'node:fs/promises';
import { causeText, OperatorError } from '../errors.ts';
import { formatBytes } from '../lib/format.ts';
import { SpoolFile } from '../lib/spool-file.ts';
import { PIECE_BYTES } from '../logs/unpack.ts';
import { failureLine, LOG_OPTIONS, withLogApis } from './log-access.ts';
import { readArgs, usageError, type VerbContext } from './verb.ts';
import { dirname } from 'node:path';

const VERB = 'logs download';

export function logsDownload(context: VerbContext): Promise<number> {
  const { values, words: ids } = readArgs(VERB, context.args, {
    ...LOG_OPTIONS,
    format: { type: 'string' },
    output: { type: 'string' },
  });
  const { output, format = 'raw' } = values;
  if (ids.length === 0) throw usageError(VERB, 'expected the id of an archive (see logs list)');
  if (output === undefined) throw usageError(VERB, 'expected --output FILE');
  if (format !== 'raw' && format !== 'json')
    throw usageError(VERB, 'expected --format raw or json');
  return withLogApis(VERB, values, context, async apis => {
    const [first, ...others] = apis;
    if (first === undefined || others.length > 0)
      throw usageError(VERB, 'expected --service-id: there are several APIs in the configuration');
    const spool = await SpoolFile.create(dirname(output)).catch(refuseFile(output));
    try {
      const answer = await first.api.archive(ids.join(','), spool, {
        signal: context.stop,
        maxBytes: first.config.logs.limits.archiveBytes,
        format,
      });
      if (!answer.ok) {
        context.err.line(failureLine(answer.failure));
        return 1;
      }
      await copyTo(output, spool).catch(refuseFile(output));
      context.err.line(`${output}: ${formatBytes(spool.bytes)}`);
      return 0;
    } finally {
      await spool.close();
    }
  });
}

/** Only a whole archive gets a name, and only one that nothing has. */
async function copyTo(path: string, spool: SpoolFile): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for (let offset = 0; offset < spool.bytes; offset += PIECE_BYTES)
      await file.writeFile(await spool.read(offset, PIECE_BYTES));
  } finally {
    await file.close();
  }
}

function refuseFile(path: string): (error: unknown) => never {
  return error => {
    const message = `cannot write ${JSON.stringify(path)}: ${causeText(error)}`;
    const hint = 'name a file that does not exist yet, in a directory where this user may write';
    throw new OperatorError([{ code: 'E_CLI_USAGE', message, hint }], { cause: error });
  };
}

// `queue export`: what waits as OTLP/JSON, one request a line, oldest first. One request at a time is in memory,
// however much waits and however slowly it is read.

import { open, type FileHandle } from 'node:fs/promises';
import { causeText, OperatorError } from '../errors.ts';
import type { Signal } from '../model.ts';
import { otlpJson } from '../pipeline/encode/otlp-json.ts';
import { decompress } from '../pipeline/queue/compression.ts';
import { QueueView } from '../pipeline/queue/queue-view.ts';
import { loadQueueConfig, refuseWords } from './queue-config.ts';
import { readArgs, usageError, type VerbContext } from './verb.ts';

const VERB = 'queue export';

/** Takes one line; false when no more is wanted. */
type Write = (line: string) => Promise<boolean>;

export async function queueExport(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, {
    config: { type: 'string' },
    signal: { type: 'string' },
    output: { type: 'string' },
  });
  refuseWords(VERB, words);
  const signals = readSignals(values.signal);
  const { directory } = loadQueueConfig(VERB, values.config, context);
  const view = QueueView.open(directory);
  const file = values.output === undefined ? null : await createFile(values.output);
  const write: Write =
    file === null
      ? async line => {
          context.out.line(line);
          return await context.out.taken();
        }
      : async line => {
          await file.appendFile(`${line}\n`);
          return !context.stop.aborted;
        };
  try {
    const { written, damaged } = await exportRows(view, signals, write);
    context.err.line(`${String(written)} requests exported; nothing was removed from the queue`);
    if (damaged > 0) context.err.line(`${String(damaged)} requests are damaged and were left out`);
    return damaged > 0 || context.stop.aborted ? 1 : 0;
  } catch (error) {
    context.err.line(`cannot export the queue: ${causeText(error)}`);
    return 1;
  } finally {
    await file?.close();
    view.close();
  }
}

async function exportRows(
  view: QueueView,
  signals: readonly Signal[],
  write: Write,
): Promise<{ readonly written: number; readonly damaged: number }> {
  let written = 0;
  let damaged = 0;
  for (const signal of signals)
    for (const row of view.rows(signal)) {
      const bytes = row && (await decompress(row.encoding, row.body, row.rawBytes));
      if (bytes === null) damaged++;
      else if (await write(otlpJson(signal, bytes))) written++;
      else return { written, damaged };
    }
  return { written, damaged };
}

function readSignals(word: string | undefined): readonly Signal[] {
  if (word === undefined) return ['metrics', 'logs'];
  if (word === 'metrics' || word === 'logs') return [word];
  throw usageError(VERB, `expected --signal metrics or logs, got ${JSON.stringify(word)}`);
}

/** Readable by its owner alone: log lines may be in it. */
async function createFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    const message = `cannot create ${JSON.stringify(path)}: ${causeText(error)}`;
    const hint = 'name a file that does not exist, in a directory that does';
    throw new OperatorError([{ code: 'E_FILE_READ', message, hint }], { cause: error });
  }
}

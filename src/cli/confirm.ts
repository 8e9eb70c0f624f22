// Questions at a terminal before something is sent: a script answers them by an option instead. A word of the service is
// never refused here, because each deployment has its own; but one that looks like a typing mistake is asked about.

import { createInterface } from 'node:readline/promises';
import { nearest } from '../lib/nearest.ts';
import { flag, type Option } from './options.ts';
import { paint } from './output.ts';
import { usageError, type VerbContext } from './verb.ts';

type Asking = Pick<VerbContext, 'terminal' | 'err' | 'stop'>;

export const FORCE_OPTION: Option<boolean> = flag(
  'send a word that looks like a typing mistake, without a question',
);

interface GivenWord {
  readonly command: string;
  readonly option: string;
  readonly word: string;
  /** The words that are no mistake. */
  readonly known: readonly string[];
}

/** Throws if the word looks like a typing mistake and nobody confirms it. An unknown word that is near to none passes. */
export async function confirmWord(
  { command, option, word, known }: GivenWord,
  isForced: boolean,
  { terminal, err, stop }: Asking,
): Promise<void> {
  const near = known.includes(word) ? undefined : nearest(word, known);
  if (near === undefined) return;
  const warning = `${option} ${JSON.stringify(word)} is not a known word, but near to ${JSON.stringify(near)}`;
  if (!isForced && !canAsk(terminal))
    throw usageError(command, `${warning}: correct it, or send it with --force`);
  err.line(paint(err, 'yellow', `warning: ${warning}`));
  if (isForced) return;
  const typed = await ask(terminal, `Type ${word} once more to send it: `, stop);
  if (typed === word) return;
  const cause = typed === null ? 'it was stopped' : 'that is another word';
  throw usageError(command, `${cause}: nothing was sent`);
}

export function canAsk({ input, screen }: VerbContext['terminal']): boolean {
  return input.isTTY === true && screen.isTTY === true;
}

/** The typed text; null after Ctrl-C, Ctrl-D or `stop`. */
export async function ask(
  { input, screen }: VerbContext['terminal'],
  question: string,
  stop: AbortSignal,
): Promise<string | null> {
  const lines = createInterface({ input, output: screen, terminal: true });
  const left = new Promise<null>(resolve => {
    lines.once('close', () => resolve(null));
  });
  // Ctrl-C and `stop` reject the question, Ctrl-D leaves it open.
  const asked = lines.question(question, { signal: stop }).catch(() => null);
  const typed = await Promise.race([asked, left]);
  lines.close();
  if (typed === null) screen.write('\n');
  return typed?.trim() ?? null;
}

// A conversation: reads questions line by line and has each one answered, until `exit`, Ctrl-D, or Ctrl-C at the prompt.
// Ctrl-C while a question is running gives that question up; whatever a question comes to, the next one can be
// asked. Input that is no terminal is read in the same way, without a prompt: one question per line.

import { createInterface } from 'node:readline/promises';
import type { VerbContext } from './verb.ts';

/** Asks one question and prints what came of it; true when it was answered. */
export type AskAgent = (prompt: string, signal: AbortSignal) => Promise<boolean>;

const PROMPT = '> ';
const END_WORDS: ReadonlySet<string> = new Set(['exit', 'quit']);

/** Returns the exit code: from a terminal 0; else 1 when a question was not answered. */
export async function converse(
  { terminal, err }: Pick<VerbContext, 'terminal' | 'err'>,
  ask: AskAgent,
): Promise<number> {
  const { input, screen } = terminal;
  const isTerminal = input.isTTY === true && screen.isTTY === true;
  const lines = createInterface({
    input,
    ...(isTerminal ? { output: screen } : {}),
    terminal: isTerminal,
    prompt: PROMPT,
  });
  if (isTerminal) err.line('Ask the agent; exit or Ctrl-D ends, Ctrl-C gives a question up.');
  let running: AbortController | null = null;
  let failedCount = 0;
  let isClosed = false;
  lines.on('close', () => (isClosed = true));
  lines.on('SIGINT', () => {
    if (running === null) lines.close();
    else running.abort();
  });
  if (isTerminal) lines.prompt();
  // The interface goes on reading while a question runs: that is how Ctrl-C arrives.
  for await (const line of lines) {
    const question = line.trim();
    if (END_WORDS.has(question)) break;
    if (question !== '') {
      running = new AbortController();
      if (!(await ask(question, running.signal))) failedCount++;
      running = null;
    }
    if (isTerminal && !isClosed) lines.prompt();
  }
  lines.close();
  if (isTerminal) screen.write('\n');
  return isTerminal || failedCount === 0 ? 0 : 1;
}

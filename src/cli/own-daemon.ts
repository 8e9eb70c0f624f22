// Where the verbs find the daemon that they ask: the status server of a configuration. The token of its pages comes from
// the configuration, a file or a variable, never from an argument, because every user of the machine can see those.

import { loadConfig, readStatusAccess } from '../config/load.ts';
import { causeText, formatMistake, OperatorError } from '../errors.ts';
import type { VerbContext } from './verb.ts';

type Environment = VerbContext['environment'];

/** A status server and the token for its pages. */
export interface OwnDaemon {
  /** Ends with a slash; without user, password and query. */
  readonly url: string;
  readonly token: string | null;
}

/** The daemon of a configuration, for a process on the same machine; null if its address cannot be read. */
export function daemonOf(file: string, environment: Environment): OwnDaemon | null {
  const access = readStatusAccess({ file, environment });
  if (access === null) return null;
  const { host, port, token } = access;
  const own: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const name = own[host] ?? host;
  const shown = name.includes(':') ? `[${name}]` : name;
  return { url: `http://${shown}:${port}/`, token: token?.reveal() ?? null };
}

/** The mistakes of the configuration, one line each: why a daemon does not start. */
export function mistakesOf(file: string, environment: Environment): readonly string[] {
  try {
    loadConfig({ file, environment });
    return [];
  } catch (error) {
    if (error instanceof OperatorError) return error.mistakes.map(formatMistake);
    throw error;
  }
}

export type Told =
  | { readonly ok: true; readonly status: number; readonly text: string; readonly isCut: boolean }
  | { readonly ok: false; readonly cause: string };

interface Question {
  readonly path: string;
  readonly timeoutMs: number;
  /** A longer answer is cut. */
  readonly lengthMax: number;
}

/** Asks the daemon once. No answer is a value: the cause as a sentence without a full stop. */
export async function askDaemon(
  { url, token }: OwnDaemon,
  { path, timeoutMs, lengthMax }: Question,
): Promise<Told> {
  if (new URL(url).port === '0')
    return { ok: false, cause: 'status.listen takes any free port, which nobody else knows' };
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await fetch(new URL(path, url), { signal, redirect: 'error', headers });
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of answer.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      if (text.length > lengthMax) break;
    }
    const isCut = text.length > lengthMax;
    return { ok: true, status: answer.status, text: text.slice(0, lengthMax), isCut };
  } catch (error) {
    return { ok: false, cause: causeText(error) };
  }
}

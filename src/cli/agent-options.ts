// What the actions of `agent` have in common on the command line: options and pairs.

import { usageError } from './verb.ts';

/** Those of ACCESS_OPTIONS, and what every action takes. */
export const AGENT_OPTIONS = {
  config: { type: 'string' },
  'base-url': { type: 'string' },
  'key-file': { type: 'string' },
  'service-id': { type: 'string' },
  'agent-id': { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** The agent's id, which every action needs; whether it is a UUID is checked with the request. */
export function requiredAgent(verb: string, id: string | undefined): string {
  if (id === undefined) throw usageError(verb, 'expected --agent-id UUID');
  return id;
}

/** `KEY=VALUE` texts as an object; undefined where there are none. Everything behind the first `=` is the value. */
export function readPairs(
  verb: string,
  option: string,
  texts: readonly string[] = [],
): Readonly<Record<string, string>> | undefined {
  if (texts.length === 0) return undefined;
  const pairs = new Map<string, string>();
  for (const text of texts) {
    const [key, value] = splitAtFirst(text, '=');
    if (value === undefined || key.trim() === '' || value.trim() === '')
      throw usageError(verb, `expected --${option} as NAME=VALUE, got ${JSON.stringify(text)}`);
    if (pairs.has(key)) throw usageError(verb, `--${option} has ${JSON.stringify(key)} twice`);
    pairs.set(key, value);
  }
  return Object.fromEntries(pairs);
}

/** The options that give the fields of a request. */
export const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  agent_id: '--agent-id',
  session_id: '--session-id',
  metadata: '--metadata',
  config: '--filter',
  prompt: 'PROMPT',
};

function splitAtFirst(text: string, mark: string): readonly [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

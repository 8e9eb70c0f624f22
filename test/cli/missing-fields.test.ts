// The output of the verbs for restores, schedules and sessions if an answer lacks fields, or holds text that must not
// be shown.

import { describe, expect, test } from 'vitest';
import { verb as agent } from '../../src/cli/agent.ts';
import type { Verb } from '../../src/cli/verb.ts';
import { startHttpServer } from '../support/http-server.ts';
import { tempDirectory } from '../support/program.ts';
import { callVerb, type Printed } from '../support/verb-context.ts';

const ACCESS = '[default]\naws_access_key_id=AKIA\naws_secret_access_key=canary\nregion=eu-1\n';

/** The output if all requests get `answer`, except that the list before a new restore is empty. */
async function ask(
  verb: Verb,
  args: string,
  answer: unknown,
  { status = 200, access = ACCESS }: { readonly status?: number; readonly access?: string } = {},
): Promise<Printed> {
  await using server = await startHttpServer(({ method, path }, response) => {
    const isListed = method === 'GET' && args.includes('create') && path.includes('restores');
    response.statusCode = isListed ? 200 : status;
    response.end(JSON.stringify(isListed ? [] : answer));
  });
  using files = tempDirectory();
  const all = args.replace('FILE', files.write('access.ini', access)).split(' ');
  const environment = { PROM2OTLP_API_KEY: 'test-key' };
  return await callVerb(verb, [...all, '--base-url', server.origin], { environment });
}

const AGENT = '6f1c0de5-1b2c-4d3e-8f90-a1b2c3d44b2a';
const CHAT = `chat --agent-id ${AGENT} hi`;

describe('an answer that lacks fields', () => {
  test.each<[verb: Verb, args: string, answer: unknown, code: number, out: RegExp, err: RegExp]>([
    [agent, CHAT, { response: {} }, 1, /^$/, /^the answer is empty: /],
    [agent, CHAT, { response: '', data: [7, { a: 8 }] }, 0, /VALUE +A\n +7\n +8\n/, /^$/],
    [agent, `session create --agent-id ${AGENT}`, {}, 1, /^$/, /no session_id/],
  ])('%#: says what is missing, and prints the rest', async (verb, args, answer, ...printed) => {
    const { code, out, err } = await ask(verb, args, answer);
    expect([code, out, err]).toEqual([
      printed[0],
      expect.stringMatching(printed[1]),
      expect.stringMatching(printed[2]),
    ]);
  });
});

test('rows of the agent are printed as they are, whatever the names of their columns', async () => {
  const data = [{ credentials: 'none', user_name: 'a' }];
  const { out } = await ask(agent, `${CHAT} --json`, { response: 'x', data });
  expect(JSON.parse(out)).toMatchObject({ data });
});

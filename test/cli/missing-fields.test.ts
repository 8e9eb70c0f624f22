// The output of the verbs for restores, schedules and sessions if an answer lacks fields, or holds text that must not
// be shown.

import { describe, expect, test } from 'vitest';
import { verb as agent } from '../../src/cli/agent.ts';
import { verb as backups } from '../../src/cli/backups.ts';
import { verb as restores } from '../../src/cli/restores.ts';
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

const CREATE = `create --service-id a --key k --bucket s3://backups --method enginedump --credentials-file FILE --yes-erase a`;
const SCHEDULE = `schedules create --service-id a --type full --schedule once`;
const AGENT = '6f1c0de5-1b2c-4d3e-8f90-a1b2c3d44b2a';
const CHAT = `chat --agent-id ${AGENT} hi`;

describe('an answer that lacks fields', () => {
  test.each<[verb: Verb, args: string, answer: unknown, code: number, out: RegExp, err: RegExp]>([
    [restores, CREATE, {}, 0, /^$/, /^begun; .* has no id and no status\n$/],
    [restores, CREATE, { id: 7 }, 0, /^ID\n 7\n$/, /^begun; .* has no status\n$/],
    [restores, 'show 7', {}, 1, /^$/, /^the answer .* has no id and no status\n$/],
    [restores, 'show 7', { state: ['x'] }, 1, /^STATE\n\["x"\]\n$/, /no id and no status/],
    [restores, 'show 7 --json', { id: 7 }, 0, /^\{\n {2}"id": 7\n\}\n$/, /no status/],
    [restores, 'list', [{}, { id: 7 }], 0, /\n +-\n +7\n$/, /^1 of 2 .* id\n2 of 2 .* status\n$/],
    [backups, SCHEDULE, {}, 0, /^$/, /^created; .* has no id and no status\n$/],
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

describe('a 400 or 422 about something else than the key', () => {
  test.each<[verb: Verb, args: string, status: number, said: string]>([
    [restores, 'show abc', 400, 'check the id: '],
    [backups, 'schedules list', 400, 'name a service with --service-id '],
    [backups, 'schedules list', 422, 'name a service with --service-id '],
  ])('%#: says what to check', async (verb, args, status, said) => {
    const { code, err } = await ask(verb, args, { message: 'no' }, { status });
    expect([code, err]).toEqual([1, expect.stringContaining(`; ${said}`)]);
  });
});

test('rows of the agent are printed as they are, whatever the names of their columns', async () => {
  const data = [{ credentials: 'none', user_name: 'a' }];
  const { out } = await ask(agent, `${CHAT} --json`, { response: 'x', data });
  expect(JSON.parse(out)).toMatchObject({ data });
});

describe('secrets that the service echoes', () => {
  const source = { bucket: 's3://backups', credentials: 'canary', encryption_key: 'canary' };
  const echo = { id: 7, external_source: source };

  test.each([
    ['a table', 'show 7', echo],
    ['JSON', 'show 7 --json', { ...echo, status: 'Running' }],
    ['the JSON of a list', 'list --json', [echo]],
    ['a member that keeps its names', 'show 7', { data: echo }],
    ['the JSON of such a member', 'show 7 --json', { id: 7, metadata: echo }],
    ['another spelling', 'show 7', { encryptionKey: 'canary', Credentials: 'canary' }],
  ])('are hidden in %s', async (_, args, answer) => {
    const { out } = await ask(restores, args, answer);
    expect(out).toContain('[secret]');
    expect(out).not.toContain('canary');
  });

  const secret = ACCESS.replace('AKIA', 'AKIACANARY').replace('=canary', '=canary/secret');
  const encoded = Buffer.from(secret).toString('base64');

  test.each([encoded, 'canary/secret', 'AKIACANARY', secret, encodeURIComponent(encoded)])(
    'are hidden in the message of an error, encoded or not: %j',
    async said => {
      const answer = { message: `bad: ${said}` };
      const { code, err } = await ask(restores, CREATE, answer, { status: 400, access: secret });
      expect([code, err]).toEqual([1, expect.stringMatching(/bad: .*\[secret\]/)]);
      expect(err).not.toMatch(/canary|W2RlZ/i);
    },
  );
});

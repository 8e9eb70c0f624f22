// The verbs for the service as a user types them, against a simulator, with the key in the environment and secrets in
// files: as a child process, or in the test's own process, which takes milliseconds. Whatever they print is searched
// for each of the secrets.

import { expect } from 'vitest';
import { verb as backups } from '../../src/cli/backups.ts';
import { verb as restores } from '../../src/cli/restores.ts';
import { verb as services } from '../../src/cli/services.ts';
import type { Terminal, Verb } from '../../src/cli/verb.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { type Finished, run, tempDirectory } from './program.ts';
import { callVerb } from './verb-context.ts';

export const SERVICE = 'dbpgf10000001';
const ENCRYPTION_KEY = 'canary-of-the-encryption';

export const SHELL_KEY = 'canary-of-the-api-key';
const ACCESS_SECRET = 'canary/of+the/access+key';
const PRIVATE_KEY = 'canary-of-the-private-key';

const ACCESS = `[default]\naws_access_key_id=AKIACANARY\naws_secret_access_key=${ACCESS_SECRET}\nregion=eu-1\n`;
const ACCOUNT = JSON.stringify({
  type: 'service_account',
  project_id: 'backups',
  private_key_id: '1',
  private_key: PRIVATE_KEY,
  client_email: 'backups@example.com',
  client_id: '2',
  auth_uri: 'https://auth.example.com',
  token_uri: 'https://token.example.com',
  auth_provider_x509_cert_url: 'https://certs.example.com',
  client_x509_cert_url: 'https://certs.example.com/backups',
  universe_domain: 'example.com',
});

export interface ServiceShell extends AsyncDisposable {
  readonly simulator: Simulator;
  readonly files: ReturnType<typeof tempDirectory>;
  /** Names of files: credentials for either storage, an encryption key, a configuration of two services. */
  readonly s3: string;
  readonly gs: string;
  readonly encryptionKey: string;
  readonly config: string;
  /** With --base-url and the key in the environment; each is `--config` where the arguments have it. */
  type(...args: string[]): Promise<Finished>;
  /** As `type`, in the test's own process, at a terminal. */
  typeAt(terminal: Terminal, ...args: string[]): Promise<Finished>;
  /** As `type`, for a mistake: exit 2, one line for each of `messages`, and nothing was sent. */
  mistype(args: readonly string[], ...messages: string[]): Promise<void>;
}

/** `isProcess`: each call starts the program. */
export async function openServiceShell(
  options: { readonly isProcess?: boolean } = {},
): Promise<ServiceShell> {
  const simulator = await startSimulator({ clock: systemClock, key: SHELL_KEY });
  const files = tempDirectory();
  const config = {
    api: { base_url: simulator.url, key: `\${file:${files.write('key', `${SHELL_KEY}\n`)}}` },
    services: [{ id: SERVICE, name: 'orders' }, { id: 'dbpgf10000002' }],
    queue: { directory: null },
  };
  const at = async (terminal: Terminal | undefined, args: readonly string[]): Promise<Finished> => {
    const isConfigured = args.includes('--config') || args.includes('encode');
    const all = [...args, ...(isConfigured ? [] : ['--base-url', simulator.url])];
    const environment = { PROM2OTLP_API_KEY: SHELL_KEY };
    const isProcess = options.isProcess === true;
    const finished = await (isProcess
      ? run(all, environment)
      : runHere(all, environment, terminal));
    expectNoSecret(finished.stdout + finished.stderr);
    return finished;
  };
  const type = (...args: string[]): Promise<Finished> => at(undefined, args);
  return {
    simulator,
    files,
    s3: files.write('access.ini', ACCESS),
    gs: files.write('account.json', ACCOUNT),
    encryptionKey: files.write('encryption.key', `${ENCRYPTION_KEY}\n`),
    config: files.write('config.yaml', JSON.stringify(config)),
    type,
    typeAt: (terminal, ...args) => at(terminal, args),
    async mistype(args, ...messages) {
      const before = simulator.requests.count;
      const { code, stdout, stderr } = await type(...args);
      for (const message of messages) expect(stderr).toContain(message);
      expect(stderr.trim().split('\n')).toHaveLength(messages.length);
      expect([code, stdout]).toEqual([2, '']);
      expect(simulator.requests.count).toBe(before);
    },
    async [Symbol.asyncDispose]() {
      await simulator.close();
      files[Symbol.dispose]();
    },
  };
}

const VERBS: Readonly<Record<string, Verb>> = { backups, restores, services };

/** What `restores create` waits between two looks; timeouts are longer. */
const LOOK_APART_MS = 5000;
const HASTY_CLOCK: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === LOOK_APART_MS ? 1 : ms, signal),
};

/** As main calls a verb: mistakes of the operator end with 2. */
async function runHere(
  [word = '', ...args]: readonly string[],
  environment: Readonly<Record<string, string>>,
  terminal: Terminal | undefined,
): Promise<Finished> {
  const verb = VERBS[word];
  if (verb === undefined) throw new Error(`no verb ${word}`);
  const options = {
    environment,
    clock: HASTY_CLOCK,
    ...(terminal === undefined ? {} : { terminal }),
  };
  const { code, out, err } = await callVerb(verb, args, options);
  return { code: code ?? 2, stdout: out, stderr: err };
}

/** A secret is one in base64, too. */
function expectNoSecret(text: string): void {
  const secrets = [SHELL_KEY, ACCESS_SECRET, PRIVATE_KEY, ENCRYPTION_KEY, 'AKIACANARY'];
  const encoded = [ACCESS, ACCOUNT].map(one => Buffer.from(one).toString('base64').slice(0, 60));
  for (const secret of [...secrets, ...encoded]) expect(text).not.toContain(secret);
}

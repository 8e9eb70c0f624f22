// Runs the verbs for the service as a user types them, against a simulator, with the key in the environment and secrets
// in files. They run in the test's own process, which takes milliseconds. All output is searched for the secrets.

import { afterAll, afterEach, expect } from 'vitest';
import { readRequest } from '../../src/cli/verbs.ts';
import { OperatorError } from '../../src/errors.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { type FaultySimulator, startFaultySimulator } from './faulty-simulator.ts';
import { tempDirectory } from './program.ts';
import { type CallOptions, callStart, type Printed } from './verb-context.ts';

export const SERVICE = 'dbpgf10000001';
const ENCRYPTION_KEY = 'canary-of-the-encryption';

export const SHELL_KEY = 'canary-of-the-api-key';
export const SHELL_ENVIRONMENT: Readonly<Record<string, string>> = { PROM2OTLP_API_KEY: SHELL_KEY };
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

/** The words of a command, as a shell splits it. */
export function shellWords(command: string): string[] {
  return [...command.matchAll(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  );
}

/** Commands that do not name their API, and so get the simulator's address. */
const ASKING =
  /^(?:init|services|logs|backups schedules|restores|agent)\b(?!.* (?:-c|--config|--base-url)\b)/;

export class ServiceShell implements Disposable {
  readonly simulator: FaultySimulator;
  readonly files: ReturnType<typeof tempDirectory> = tempDirectory();
  /** Names of files: credentials for either storage, an encryption key, a configuration of two services. */
  readonly s3: string;
  readonly gs: string;
  readonly encryptionKey: string;
  readonly config: string;

  constructor(simulator: FaultySimulator) {
    const { files } = this;
    this.simulator = simulator;
    this.s3 = files.write('access.ini', ACCESS);
    this.gs = files.write('account.json', ACCOUNT);
    this.encryptionKey = files.write('encryption.key', `${ENCRYPTION_KEY}\n`);
    files.write('key', `${SHELL_KEY}\n`);
    this.config = this.configWith({}, 'config.yaml');
  }

  /** Writes a configuration of two services; `changes` replace whole sections. */
  configWith(changes: object, name = 'changed.yaml'): string {
    const config = {
      api: { base_url: this.simulator.url, key: `\${file:${this.files.path}/key}` },
      services: [{ id: SERVICE, name: 'orders' }, { id: 'dbpgf10000002' }],
      queue: { directory: null },
      ...changes,
    };
    return this.files.write(name, JSON.stringify(config));
  }

  [Symbol.dispose](): void {
    this.files[Symbol.dispose]();
  }

  wordsOf(command: string): readonly string[] {
    const address = ASKING.test(command) ? ['--base-url', this.simulator.url] : [];
    return [...shellWords(command), ...address];
  }

  /** Runs a command as main does: a mistake of the operator ends with 2. */
  async type(command: string, options: CallOptions = {}): Promise<Printed> {
    const given = { environment: SHELL_ENVIRONMENT, clock: HASTY_CLOCK, ...options };
    const printed = await run(this.wordsOf(command), given);
    expectNoSecret(printed.out + printed.err);
    return printed;
  }

  /** Expects the command to succeed without a message, and returns its output. */
  async shows(command: string, options?: CallOptions): Promise<string> {
    const { code, out, err } = await this.type(command, options);
    expect([code, err]).toEqual([0, '']);
    return out;
  }

  async json<T = unknown>(command: string): Promise<T> {
    return JSON.parse(await this.shows(`${command} --format json`)) as T;
  }
}

/** A shell for all tests of a file. */
export async function useShell(): Promise<ServiceShell> {
  const shell = new ServiceShell(
    await startFaultySimulator({ clock: systemClock, key: SHELL_KEY }),
  );
  afterEach(() => shell.simulator.resetFaults());
  afterAll(async () => {
    await shell.simulator.close();
    shell[Symbol.dispose]();
  });
  return shell;
}

/** The wait of `restores create` between two looks, which the test clock skips; timeouts are longer. */
const LOOK_APART_MS = 5000;
export const HASTY_CLOCK: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === LOOK_APART_MS ? 1 : ms, signal),
};

async function run(argv: readonly string[], options: CallOptions): Promise<Printed> {
  try {
    const request = await readRequest(argv, { width: 100, isColoured: false });
    if (request.kind === 'text') return { code: 0, out: `${request.text}\n`, err: '' };
    const { code, ...printed } = await callStart(request.start, options);
    return { code: code ?? 2, ...printed };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { code: 2, out: '', err: `${error.message}\n` };
  }
}

/** Expects no secret in the text, not even in base64. */
function expectNoSecret(text: string): void {
  const secrets = [SHELL_KEY, ACCESS_SECRET, PRIVATE_KEY, ENCRYPTION_KEY, 'AKIACANARY'];
  const encoded = [ACCESS, ACCOUNT].map(one => Buffer.from(one).toString('base64').slice(0, 60));
  for (const secret of [...secrets, ...encoded]) expect(text).not.toContain(secret);
}

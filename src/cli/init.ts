// `init`: writes a first configuration, with an entry for each service on the metrics page that the key can see. Texts
// of the service are foreign: none can become a reference, a key or a new line in the file.

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BACK_END_NAMES, profileOf } from '../config/back-ends.ts';
import { printableLine } from '../lib/printable.ts';
import { ACCESS_OPTIONS, KEY_VARIABLE, parseOptions, withService } from './service-access.ts';
import { readServices, type SeenService } from './services.ts';
import { choice, file, flag, required, text } from './options.ts';
import {
  action,
  type Call,
  cannotWrite,
  refuseFile,
  STDOUT,
  type Verb,
  type VerbContext,
} from './verb.ts';

const OPTIONS = {
  'base-url': required(text('URL', 'the address of the API')),
  'key-file': ACCESS_OPTIONS['key-file'],
  backend: {
    ...choice(BACK_END_NAMES, 'the kind of back end: a page in docs/back-ends'),
    value: 'NAME',
  },
  endpoint: text('URL', 'the OpenTelemetry back end, by default http://localhost:4318'),
  output: file('a new file, by default - for stdout', 'o'),
  force: flag('replaces the file of --output'),
};

export const verb: Verb = {
  name: 'init',
  summary: 'writes a first configuration, from what a key can see',
  about: `Reads the metrics page once, and the inventory if the key may, and writes a commented configuration with an entry for
    each database service.
    The key stays where it is: the configuration names its file, or the variable.`,
  actions: [action({ options: OPTIONS, run: init })],
  exits: {
    0: 'written',
    1: 'the page cannot be read, or has no service',
    2: 'a mistake on the command line, or the file exists',
  },
  examples: [
    'prom2otlp init --base-url https://api.example.com --key-file api-key -o prom2otlp.yaml',
    'PROM2OTLP_API_KEY=… prom2otlp init --base-url https://api.example.com',
  ],
};

const ANY_SERVICE = { id: 'any', name: '', topology: '', servers: [], inventory: null };

function init(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { output = STDOUT, force } = call.values;
  const { out, err, environment } = context;
  if (output !== STDOUT && !force && existsSync(output))
    throw cannotWrite(output, new Error('it exists'), 'add --force to replace it');
  // A configuration that `run` would refuse is never written.
  const judge = (text: string): unknown =>
    parseOptions(
      text,
      environment,
      { 'otlp.endpoint': '--endpoint' },
      output === STDOUT ? '' : output,
    );
  const access = { config: undefined, 'service-id': undefined, ...call.values };
  return withService({ command: call.command, values: access }, context, async service => {
    // A wrong option is an error before the service is asked.
    judge(configurationText(call, [ANY_SERVICE], plainLines(call)));
    const found = await readServices(service, context);
    if (found === null) return 1;
    const services = found.filter(({ id }) => /^[^\s,$]+$/.test(id));
    if (services.length === 0) {
      err.line('no series on the page has a `namespace`: the key sees no database service');
      return 1;
    }
    const text = configurationText(call, services, otlpLines(call));
    // The token of a back end need not be there yet.
    judge(configurationText(call, services, plainLines(call)));
    if (output === STDOUT) out.line(text.trimEnd());
    else {
      const hint = 'name a file in a directory where this user may write';
      const writing = writeFile(output, text, { flag: force ? 'w' : 'wx' });
      await writing.catch(refuseFile(output, hint));
      err.line(
        `${output}: ${services.length} services; next: ${tokenStep(call)}prom2otlp check -c ${output} --probe`,
      );
    }
    return 0;
  });
}

type Seen = Pick<SeenService, 'id' | 'name' | 'topology' | 'servers' | 'inventory'>;

/** The path of the key, for the configuration: relative to it if the key is beside it, so that both can be moved. */
function pathFor(output: string | undefined, keyFile: string): string {
  const path = resolve(keyFile);
  if (output === undefined || output === STDOUT) return path;
  const near = relative(dirname(resolve(output)), path);
  return near.startsWith('..') || isAbsolute(near) ? path : near;
}

/** The lines below `otlp` without a profile. */
function plainLines({
  values: { endpoint = 'http://localhost:4318' },
}: Call<typeof OPTIONS>): string {
  return `  # Your OpenTelemetry back end, OTLP over HTTP. For gRPC, add \`protocol: grpc\`, and name its port, usually 4317.
  endpoint: ${scalar(endpoint)}`;
}

/** The lines of the back end's page, with the address of --endpoint. */
function otlpLines(call: Call<typeof OPTIONS>): string {
  const { backend, endpoint } = call.values;
  const profile = profileOf(backend);
  if (backend === undefined || profile === undefined) return plainLines(call);
  const own = endpoint === undefined ? [] : [`endpoint: ${scalar(endpoint)}`];
  const isOwn = (line: string): boolean =>
    endpoint !== undefined && /^(?:\w+_)?endpoint:/.test(line);
  const lines = [`backend: ${backend}`, ...own, ...profile.example.filter(line => !isOwn(line))];
  return [`# ${backend}.md in docs/back-ends explains these lines.`, ...lines]
    .map(line => `  ${line}`)
    .join('\n');
}

/** What to do before `check`. */
function tokenStep({ values }: Call<typeof OPTIONS>): string {
  const lines = profileOf(values.backend)?.example ?? [];
  const files = lines.flatMap(line => /\$\{file:(.*?)\}|_file: (.*)/.exec(line)?.slice(1) ?? []);
  const [file] = files.filter(one => one !== undefined);
  return file === undefined ? '' : `put the secret of the back end into the file ${file}, then `;
}

function configurationText(
  { values }: Call<typeof OPTIONS>,
  services: readonly Seen[],
  otlp: string,
): string {
  const keyFile = values['key-file'];
  const key =
    keyFile === undefined ? `env:${KEY_VARIABLE}` : `file:${pathFor(values.output, keyFile)}`;
  return `${schemaLine()}# A first configuration, by \`prom2otlp init\`. docs/use/configuration.md explains every other key.
api:
  base_url: ${scalar(values['base-url'])}
  # Where the key is. It goes to the address above only.
  key: ${scalar(`\${${key}}`)}
# The database services that the key sees. Remove those that you do not want.
services:
${services.map(entry).join('\n')}
otlp:
${otlp}
queue:
  # Holds data until the back end accepts it: a directory for this process alone, here beside this file. Without this key
  # it is /var/lib/prom2otlp; null means memory only.
  directory: queue
# The logs of the services, and the state of their backup schedules:
# logs: {enabled: true}
# backups: {enabled: true}
`;
}

function entry({ id, name, topology, servers, inventory }: Seen): string {
  const {
    provider = '',
    region = '',
    tier = '',
    version = '',
    isStopped = false,
  } = inventory ?? {};
  const made = [[provider, region].join(' ').trim(), tier, version, isStopped ? 'stopped' : ''];
  const about = [topology, ...made, ...servers.map(server => server.name)].filter(
    one => one !== '',
  );
  const lines = [
    ...(about.length === 0 ? [] : [`  # ${printableLine(about.join(', '))}`]),
    `  - id: ${scalar(id)}`,
    // A `${…}` in a text of the service would be read as a reference.
    ...(name === '' || name.includes('$') ? [] : [`    name: ${scalar(printableLine(name))}`]),
  ];
  return lines.join('\n');
}

/** A text in YAML: in quotes unless it can only be read as a text. A JSON string is a YAML string in double quotes. */
function scalar(text: string): string {
  const isPlain = /^(?:https?:\/\/|\$\{)[\w./:-]+\}?$|^(?=.*\d)[a-z][\w-]*$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}

/** The line that names the installed schema for editors; '' if there is no such file. */
function schemaLine(): string {
  const path = fileURLToPath(new URL('../../config/schema.json', import.meta.url));
  return existsSync(path) ? `# yaml-language-server: $schema=${path}\n` : '';
}

// The package as another program uses it: packed, installed outside the repository, and imported by its name. A compiler
// that sees nothing else of the repository checks its types.

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { tempDirectory } from '../support/program.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKED = ['bin', 'config', 'deploy', 'docs', 'src', 'tools', 'package.json', 'tsconfig.json'];
const TEXTS = ['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md'];

/** The packages in the bundles that README.md names. */
const USED: readonly string[] = [
  '@grpc/grpc-js',
  '@opentelemetry/exporter-metrics-otlp-http',
  '@opentelemetry/sdk-metrics',
  'parse-prometheus-text-format',
  'pino',
  'undici',
  'yaml',
];

const files = tempDirectory();
const user = join(files.path, 'user');
let simulator: Simulator;

/** Runs a command without blocking: the simulator answers from this process. */
async function execute(directory: string, command: string, ...args: string[]): Promise<string> {
  return (await promisify(execFile)(command, args, { cwd: directory })).stdout;
}

beforeAll(async () => {
  simulator = await startSimulator({ clock: systemClock, key: 'library-key' });
  // Builds in a copy: a build replaces dist/, and other tests may be running the repository's dist/.
  const copy = join(files.path, 'copy');
  for (const name of [...PACKED, ...TEXTS])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  await execute(copy, process.execPath, 'tools/build.ts');
  const packed = await execute(copy, 'npm', 'pack', '--ignore-scripts', '--silent');
  const modules = join(user, 'node_modules');
  mkdirSync(modules, { recursive: true });
  await execute(modules, 'tar', '-xzf', join(copy, packed.trim()));
  await execute(modules, 'mv', 'package', 'prom2otlp');
  // The library uses Node's types, which its user has; nothing else is installed beside it.
  mkdirSync(join(modules, '@types'));
  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  writeFileSync(join(user, 'package.json'), '{"type": "module"}');
});
afterAll(async () => {
  await simulator.close();
  files[Symbol.dispose]();
});

const PROGRAM = `
import { encodeCredentials, type Result, type Schedule, ServiceClient, type ServiceError } from 'prom2otlp';

await using client = new ServiceClient({ baseUrl: process.argv[2] ?? '', key: () => 'library-key' });
const page = await client.metrics.read({ service: 'sessions' });
const types = await client.logs.types();
const service_id = 'dbpgf10000001';
const made = await client.schedules.create({ backup_type: 'full', schedule: 'once', service_id });
const listed = await client.schedules.list({ service_id });
const refused = await client.schedules.create({ backup_type: 'full', schedule: 'now', service_id });
const missing = await client.restores.show(404);
const kindOf = (result: Result<object>): ServiceError['kind'] | null =>
  result.ok ? null : result.error.kind;
const schedules: readonly Schedule[] = listed.ok ? listed.schedules : [];
const session = await client.agent.createSession({ agent_id: '00000000-0000-4000-8000-000000000000' });
console.log(
  JSON.stringify({
    page: page.ok && page.text.includes('namespace="dbpgf10000004"'),
    types: types.ok && types.items.length,
    made: made.ok && made.schedule?.schedule,
    listed: schedules.map(one => one.schedule),
    refused: kindOf(refused),
    missing: kindOf(missing),
    session: session.ok && typeof session.session.session_id,
    encoded: encodeCredentials('gs', '{}').ok,
  }),
);
`;

test('the package brings all that it uses, in few bytes, and the licences of it', async () => {
  const home = join(user, 'node_modules/prom2otlp');
  const { dependencies, scripts } = JSON.parse(
    readFileSync(join(home, 'package.json'), 'utf8'),
  ) as { dependencies?: object; scripts: object };
  expect(dependencies).toBeUndefined();
  expect(Object.keys(scripts).filter(name => name.includes('install'))).toEqual([]);
  const size = Number.parseInt(await execute(home, 'du', '-sk', '.'), 10);
  expect(size).toBeLessThan(15 * 1024);
  const licences = readFileSync(join(home, 'dist/LICENSES.txt'), 'utf8');
  const named = [...licences.matchAll(/^(\S+) \d+\.\d+\.\d+$/gm)].map(([, name]) => name);
  expect(named).toEqual(expect.arrayContaining([...USED]));
  expect(licences).toContain('Permission is hereby granted');
});

test('a program imports the client from the packed tarball', async () => {
  writeFileSync(join(user, 'program.ts'), PROGRAM);
  const said = await execute(user, process.execPath, 'program.ts', simulator.url);
  expect(JSON.parse(said)).toEqual({
    page: true,
    types: 4,
    made: 'once',
    listed: ['0 2 * * *', 'once'],
    refused: 'bad_request',
    missing: 'not_found',
    session: 'string',
    encoded: false,
  });
});

test('its types are complete, and reject wrong calls', async () => {
  const settings = {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      module: 'nodenext',
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
    },
    files: ['program.ts', 'wrong.ts'],
  };
  writeFileSync(join(user, 'tsconfig.json'), JSON.stringify(settings));
  const wrong = [
    "import { ServiceClient } from 'prom2otlp';",
    "const client = new ServiceClient({ baseUrl: 'https://api.example.com', key: 'k' });",
    '// @ts-expect-error -- a plan needs a schedule',
    "await client.schedules.create({ backup_type: 'full', service_id: 'a' });",
    '// @ts-expect-error -- a result has to be looked at first',
    'console.log((await client.schedules.list()).schedules);',
    '',
  ];
  writeFileSync(join(user, 'wrong.ts'), wrong.join('\n'));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  expect(await execute(user, process.execPath, tsc, '--project', '.')).toBe('');
});

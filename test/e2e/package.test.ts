// The package as it is shipped: its files, one version everywhere, and the list of components.

import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FAILPOINTS, LOG_FAILPOINTS } from '../../src/lib/failpoint.ts';
import { bundled } from '../../tools/bundle.ts';
import { tempDirectory } from '../support/program.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  version: string;
  devDependencies: Record<string, string>;
  repository: { url: string };
};
const { version } = manifest;

/** What the package has beside dist/. */
const PACKED: readonly string[] = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'bin',
  'config',
  'deploy',
  'docs',
  'package.json',
];
const KIBIBYTES_MAX = 4 * 1024;
/** The packages in the bundle that README.md names. */
const USED: readonly string[] = [
  '@grpc/grpc-js',
  '@opentelemetry/exporter-metrics-otlp-http',
  '@opentelemetry/sdk-metrics',
  'parse-prometheus-text-format',
  'pino',
  'undici',
  'yaml',
];

function npm(...args: readonly string[]): string {
  return execFileSync('npm', [...args], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

test('the package has the program, its documents and the files for deployment, and nothing else', () => {
  const [packed] = JSON.parse(npm('pack', '--dry-run', '--json', '--ignore-scripts')) as [
    { files: { path: string }[] },
  ];
  const paths = packed.files.map(({ path }) => path).filter(path => !path.startsWith('dist/'));
  const folders = new Set(paths.map(path => path.split('/', 1)[0] ?? ''));
  expect([...folders].sort()).toEqual(PACKED);
  expect(paths).toEqual(
    expect.arrayContaining([
      'bin/prom2otlp.js',
      'config/prom2otlp.example.yaml',
      'deploy/systemd/prom2otlp.service',
      'deploy/helm/alerts/prom2otlp.rules.yaml',
      'deploy/helm/dashboards/services.json',
      'deploy/helm/templates/stateful-set.yaml',
      'deploy/kubernetes/base/stateful-set.yaml',
      'docs/operate/install.md',
    ]),
  );
});

test('the packed program brings all that it uses, in few bytes, with the licences of it, and exports nothing', () => {
  using files = tempDirectory();
  const execute = (cwd: string, command: string, ...args: readonly string[]): string =>
    execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const tarball = npm('pack', '--ignore-scripts', '--silent', '--pack-destination', files.path);
  const modules = join(files.path, 'user/node_modules');
  mkdirSync(modules, { recursive: true });
  execute(modules, 'tar', '-xzf', join(files.path, tarball.trim()));
  const home = join(modules, 'prom2otlp');
  renameSync(join(modules, 'package'), home);

  const { dependencies, scripts } = JSON.parse(
    readFileSync(join(home, 'package.json'), 'utf8'),
  ) as { dependencies?: object; scripts: object };
  expect(dependencies).toBeUndefined();
  expect(Object.keys(scripts).filter(name => name.includes('install'))).toEqual([]);
  expect(execute(home, process.execPath, 'bin/prom2otlp.js', 'version')).toContain(version);
  const kibibytes = Number.parseInt(execute(home, 'du', '-sk', '.'), 10);
  expect(kibibytes).toBeLessThan(KIBIBYTES_MAX);
  const licences = readFileSync(join(home, 'dist/LICENSES.txt'), 'utf8');
  const named = [...licences.matchAll(/^(\S+) \d+\.\d+\.\d+$/gm)].map(([, name]) => name);
  expect(named).toEqual(expect.arrayContaining([...USED]));
  expect(licences).toContain('Permission is hereby granted');
  writeFileSync(join(files.path, 'user/program.mjs'), "import 'prom2otlp';");
  expect(() => execute(join(files.path, 'user'), process.execPath, 'program.mjs')).toThrow(
    'ERR_PACKAGE_PATH_NOT_EXPORTED',
  );
});

describe('one version', () => {
  const files = [
    'docs/operate/install.md',
    'docs/operate/release.md',
    'Dockerfile',
    ...globSync('deploy/{helm,kubernetes,compose}/**/*.yaml', { cwd: root }),
  ];
  const named = files.flatMap(file =>
    [
      ...read(file).matchAll(
        /(?:prom2otlp[:_-]v?|newTag: |tag --sign v|image\.version="|^(?:appV|v)ersion: )(\d+\.\d+\.\d+)/gm,
      ),
    ].map(([, found]) => ({ file, found })),
  );

  test('is in every name of an image or a package', () => {
    expect(named.length).toBeGreaterThan(8);
    expect(named.filter(({ found }) => found !== version)).toEqual([]);
  });

  test('has its lines in the changelog, the newest first', () => {
    expect(/^## (\S+)/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
  });
});

test('the list of components names what the bundle contains, with versions and digests', () => {
  const { metadata, components } = JSON.parse(npm('run', '-s', 'sbom')) as {
    metadata: { component: { purl: string } };
    components: { purl: string; hashes: { content: string }[] }[];
  };
  expect(metadata.component.purl).toBe(`pkg:npm/prom2otlp@${version}`);
  const purls = components.map(({ purl }) => purl);
  for (const name of ['@grpc/grpc-js', '@opentelemetry/sdk-metrics', 'pino', 'undici', 'yaml'])
    expect(purls).toContain(
      `pkg:npm/${name.replace('@', '%40')}@${manifest.devDependencies[name] ?? ''}`,
    );
  // Packages that only the tests and the build use are not shipped.
  expect(purls.filter(purl => /vitest|fast-check|rolldown/.test(purl))).toEqual([]);
  expect(components.flatMap(({ hashes }) => hashes).map(({ content }) => content.length)).toEqual(
    components.map(() => 128),
  );
});

test('the build drops the failpoints', async () => {
  const { output } = await bundled({ write: false });
  const chunks = output.filter(file => file.type === 'chunk');
  const code = chunks.map(chunk => chunk.code).join('\n');
  expect(code).toContain('PROM2OTLP_TERMINATION_MESSAGE');
  const words = [...FAILPOINTS, ...LOG_FAILPOINTS, 'lose-row', 'failpoint', 'PROM2OTLP_FAILPOINT'];
  expect(words.filter(word => code.includes(word))).toEqual([]);
});

describe('a page of a registry', () => {
  const readme = read('README.md');

  test('resolves the links of README.md by the repository, and they lead to files that exist', () => {
    expect(manifest.repository.url).toMatch(/^git\+https:\/\/github\.com\/[\w-]+\/[\w-]+\.git$/);
    const links = [...readme.matchAll(/\]\(([^)#]+)/g)].map(([, link = '']) => link);
    const relative = links.filter(link => !link.startsWith('http'));
    expect(relative.length).toBeGreaterThan(15);
    const known = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' });
    const files = known.split('\n');
    const missing = relative.filter(link => !files.some(file => file.startsWith(link)));
    expect(missing).toEqual([]);
  });
});

test('git keeps the program executable', () => {
  const entry = execFileSync('git', ['ls-files', '--stage', 'bin/prom2otlp.js'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(entry).toMatch(/^100755 /);
});

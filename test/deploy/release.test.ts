// A release on loopback, by the commands of docs/operate/release.md: built in the clone, published to registries of this
// machine, then verified, installed and started as docs/operate/install.md and README.md say (systemd.test.ts does so with
// the .deb, the .rpm and the unit). The key is made for the test. A changed byte is found.

import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chown, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkoutFolder, runFolder } from '../real/support/folder.ts';
import { need, type Preparable, reasonToSkip } from '../real/support/part.ts';
import { findProgram, run, runAny, startServer } from '../real/support/process.ts';
import { type NpmRegistry, startNpmRegistry } from '../support/npm-registry.ts';
import { type Clone, sharedClone } from './support/clone.ts';
import { containers, dockerScript, podman, runArgs } from './support/containers.ts';
import {
  commandsOf,
  readmeCommand,
  rehearsal,
  version,
  yamlWith,
} from './support/install-document.ts';
import { checkChart, checkObjects, kindOf, kubecheck } from './support/kubecheck.ts';
import { type Reader, startReader } from './support/reader.ts';
import {
  actionlint,
  cosign,
  imageRegistry,
  type RegistryRunning,
  startImageRegistry,
} from './support/release-parts.ts';

const skopeo: Preparable = {
  name: 'skopeo',
  prepare: async () => {
    const path = findProgram('skopeo');
    return path === null ? { absent: 'not installed' } : { version: '', path, seconds: 0 };
  },
};
const skip = await reasonToSkip([skopeo, containers, kubecheck, actionlint, imageRegistry, cosign]);
const TOKEN = 'canary-token-of-the-registry';
const PASSWORD = 'canary-password-of-the-key';
const NOTES = 'What the version does.';

describe.skipIf(skip !== null)('a release', () => {
  let clone: Clone;
  let images: RegistryRunning;
  let packages: NpmRegistry;
  let reader: Reader;
  let folder = '';
  let output = '';
  const release = (name: string): string => join(clone.folder, 'release', name);
  const text = (name: string): string => readFileSync(release(name), 'utf8').trim();

  beforeAll(async () => {
    clone = await sharedClone();
    folder = await runFolder('release');
    reader = await startReader('key-of-the-release-test');
    images = await startImageRegistry();
    packages = await startNpmRegistry(TOKEN);
    clone.provide('docker', dockerScript);
    clone.provide('helm', `exec ${(await need(kubecheck)).path} helm "$@"`);
    clone.provide('cosign', `exec ${(await need(cosign)).path} "$@"`);
    clone.provide('gh', `printf '%s\\n' "$@" > '${folder}/gh'`);
    const npmrc = `${packages.url.replace('http:', '')}/:_authToken=${TOKEN}\n`;
    writeFileSync(join(folder, 'npmrc'), npmrc);
  });
  afterAll(async () => {
    await reader?.[Symbol.asyncDispose]();
    await images?.stop();
    await packages?.close();
    if (folder !== '') await rm(folder, { recursive: true, force: true });
  });

  /** Runs commands in the clone with the key and the token of the test. */
  async function inClone(command: string): Promise<string> {
    const env = {
      COSIGN_PASSWORD: PASSWORD,
      COSIGN_KEY: 'cosign.key',
      COSIGN_PUBLIC_KEY: 'cosign.pub',
    };
    const settings = Object.entries({ ...env, NPM_CONFIG_USERCONFIG: `${folder}/npmrc` });
    const exports = settings.map(([name, value]) => `export ${name}='${value}'`);
    return await clone.run([...exports, command].join('\n'));
  }

  /** A user without a clone: a folder with the key and the configuration. */
  async function userWith(
    variables: Readonly<Record<string, string>>,
  ): Promise<{ readonly home: string; readonly does: (command: string) => Promise<string> }> {
    const home = await runFolder('user');
    reader.writeFiles(home);
    const env = { ...clone.environment, ...variables };
    return { home, does: command => run('bash', ['-ec', command], { folder: home, env }) };
  }

  test('has workflows that the linter accepts', async () => {
    const { path } = await need(actionlint);
    const linter = runAny(path, [], { folder: checkoutFolder });
    expect(await linter).toMatchObject({ code: 0, stdout: '' });
  });

  test('needs a dated changelog and the tag of its version', async () => {
    await expect(clone.run('tools/release/version.sh')).rejects.toThrow(/YYYY-MM-DD/);
    await clone.once('npm ci');
    await clone.run(`tools/release/set-version.sh ${version} 2026-12-01`);
    const changelog = join(clone.folder, 'CHANGELOG.md');
    const dated = readFileSync(changelog, 'utf8');
    expect(dated).toContain(`## ${version} (2026-12-01)\n`);
    writeFileSync(changelog, dated.replace(/^## .*$/m, `$&\n\n- ${NOTES}`));
    expect(await clone.run(`tools/release/version.sh v${version}`)).toBe(`${version}\n`);
    await expect(clone.run('tools/release/version.sh v9.9.9')).rejects.toThrow(/push the tag/);
  });

  test('is made, signed, published and verified by the commands of the document', async () => {
    const commands = rehearsal().filter(command => command !== 'npm ci');
    expect(commands.length).toBeGreaterThan(10);
    for (const command of commands) {
      const here = command
        // One is enough here: the tests of docs/operate/install.md build and install those of this architecture.
        .replace('packages.sh', 'packages.sh deb arm64')
        .replace('http://127.0.0.1:4873', packages.url)
        .replace('127.0.0.1:5000', images.address);
      const startedAt = performance.now();
      // The image test builds the same.
      output +=
        command === 'tools/release/image.sh'
          ? await clone.once(command)
          : await inClone(`${here} 2>&1`);
      console.log(`${command}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    }
    expect(readdirSync(release('.')).sort()).toEqual([
      'SHA256SUMS',
      'SHA256SUMS.sigstore.json',
      'chart.txt',
      'image.txt',
      `prom2otlp-${version}-image.cdx.json`,
      `prom2otlp-${version}.cdx.json`,
      `prom2otlp-${version}.oci.tar`,
      `prom2otlp-${version}.tgz`,
      `prom2otlp-chart-${version}.tgz`,
      `prom2otlp_${version}_arm64.deb`,
    ]);
    expect(output).not.toMatch(/canary-/);
  });

  test('is installed from the registry of npm, and runs', async () => {
    const bin = join(folder, 'prefix/bin');
    const variables = {
      NPM_CONFIG_REGISTRY: packages.url,
      npm_config_prefix: join(folder, 'prefix'),
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    };
    const { home, does } = await userWith(variables);
    const commands = commandsOf('npm');
    const [program = '', ...args] = commands.pop()?.split(' ') ?? [];
    for (const command of commands) await does(command);
    const daemon = await startServer({
      name: 'daemon',
      command: join(bin, program),
      args,
      folder: home,
      isReady: async () => (await fetch('http://127.0.0.1:9464/readyz')).ok,
    });
    await reader.pointsArrive();
    await daemon.stop();
    expect(await daemon.exited).toBe(0);
    await does(readmeCommand('npm'));
    expect(await does('prom2otlp --version')).toContain(version);
  });

  test('has an image that runs, as install.md and README.md say', async () => {
    const { home, does } = await userWith({ REGISTRY: images.address });
    const image = `${images.address}/prom2otlp/prom2otlp:${version}`;
    await podman(['pull', '--tls-verify=false', '--signature-policy', policyFile(), image]);
    const [inReadme, documented] = [readmeCommand('Docker'), commandsOf('Docker')];
    // The two steps before it put the files into the folder `etc`.
    for (const commands of [documented, [...documented.slice(0, 2), `${inReadme} > id`]]) {
      reader.writeFiles(home);
      await chown(join(home, 'api-key'), 1000, 1000);
      try {
        for (const command of commands) await does(command);
        await reader.pointsArrive();
      } finally {
        const id = await does('cat id 2>/dev/null || echo prom2otlp');
        await podman(['rm', '--force', '--ignore', id.trim()]);
        await podman(['volume', 'rm', '--force', 'prom2otlp']);
      }
    }
    await podman(['rmi', image]);
  });

  test('has an image that is pulled by its digest, with the components of its list', async () => {
    const image = text('image.txt');
    await podman(['pull', '--tls-verify=false', '--signature-policy', policyFile(), image]);
    const once = ['run', '--rm', ...runArgs];
    expect(await podman([...once, image, 'version'])).toContain(`prom2otlp ${version}`);
    const node = await podman([...once, '--entrypoint', 'node', image, '--version']);
    const { components } = JSON.parse(text(`prom2otlp-${version}-image.cdx.json`)) as {
      components: { name: string; purl: string }[];
    };
    const purls = components.map(({ purl }) => purl);
    expect(purls).toContain(`pkg:generic/node@${node.slice(1)}`);
    for (const architecture of ['amd64', 'arm64'])
      expect(purls).toContainEqual(
        expect.stringMatching(new RegExp(`^pkg:deb/debian/libc6@2\\.\\S+arch=${architecture}$`)),
      );
    expect(components.map(({ name }) => name)).toContain('undici');
    await podman(['rmi', image]);
  });

  function policyFile(): string {
    const file = join(folder, 'policy.json');
    writeFileSync(file, '{"default":[{"type":"insecureAcceptAnything"}]}');
    return file;
  }

  test('has a chart that names the image, as install.md and README.md say', async () => {
    const { home, does } = await userWith({ REGISTRY: images.address });
    writeFileSync(join(home, 'values.yaml'), yamlWith('repository: registry.example.com'));
    const documented = commandsOf('Helm').find(command => command.startsWith('helm ')) ?? '';
    for (const command of [documented, readmeCommand('Helm')]) {
      await does(`${command} > objects.yaml`);
      const { problems, objects } = await checkObjects(join(home, 'objects.yaml'));
      expect(problems).toEqual([]);
      const { spec } = kindOf(objects, 'StatefulSet');
      const [{ image }] = spec.template.spec.containers;
      expect(image).toBe(`registry.example.com/prom2otlp/prom2otlp:${version}`);
    }
  });

  test('has a chart in the registry, the same as in the clone', async () => {
    const [name = '', digest = ''] = text('chart.txt').replace(images.address, '').split('@');
    const base = `http://${images.address}/v2${name}`;
    const accept = { accept: 'application/vnd.oci.image.manifest.v1+json' };
    const manifest = await fetch(`${base}/manifests/${digest}`, { headers: accept });
    const { layers } = (await manifest.json()) as { layers: { digest: string }[] };
    const packaged = await fetch(`${base}/blobs/${layers[0]?.digest ?? ''}`);
    const file = join(folder, 'chart.tgz');
    writeFileSync(file, Buffer.from(await packaged.arrayBuffer()));
    const config = { api: { base_url: 'https://api.example.com' }, services: 'auto' };
    const values = { config: { ...config, otlp: { endpoint: 'http://back-end:4318' } } };
    const pulled = await checkChart(file, values);
    expect(pulled).toEqual(await checkChart(join(clone.folder, 'deploy/helm'), values));
  });

  test('has notes and files for its page', async () => {
    await inClone('tools/release/publish-files.sh');
    expect(text('notes.md').startsWith(`- ${NOTES}`)).toBe(true);
    expect(text('notes.md')).toContain('\nexport REGISTRY=localhost\n');
    const words = readFileSync(join(folder, 'gh'), 'utf8');
    expect(words).toContain(`release\ncreate\nv${version}\n`);
    expect(words).toContain('release/SHA256SUMS.sigstore.json');
  });

  test('does not verify with a changed byte, another key, or what was not signed', async () => {
    const files = join(folder, 'files');
    const small = [`prom2otlp-${version}.tgz`, 'SHA256SUMS', 'SHA256SUMS.sigstore.json'];
    for (const name of small) cpSync(release(name), join(files, name));
    const verify = `tools/release/verify.sh '${files}'`;
    expect(await inClone(verify)).toContain(`prom2otlp-${version}.tgz: OK`);
    // Without the listed files, which are not here, nothing else is accepted.
    for (const name of small) {
      const path = join(files, name);
      const bytes = readFileSync(path);
      const changed = Buffer.from(bytes);
      changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 1;
      writeFileSync(path, changed);
      await expect(inClone(verify), name).rejects.toThrow(/exit code/);
      writeFileSync(path, bytes);
    }
    await inClone(`cd '${folder}' && cosign generate-key-pair 2>&1`);
    const otherKey = `export COSIGN_PUBLIC_KEY='${folder}/cosign.pub'`;
    await expect(inClone(`${otherKey}\n${verify}`)).rejects.toThrow(/signature/);
    // An image that nobody signed.
    const other = `${images.address}/other`;
    await inClone(`tools/release/publish-image.sh ${other}-unsigned 2>&1`);
    const chart = text('chart.txt');
    const unsigned = inClone(`${verify} ${text('image.txt')} ${chart}`);
    await expect(unsigned).rejects.toThrow(/no signatures found/);
  });
});

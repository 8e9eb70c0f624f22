// Runs the commands of docs/operate/install.md for npm, Docker, Helm and Kubernetes exactly as printed, from a clone;
// systemd.test.ts runs those for systemd, release.test.ts those that take a release from its registries. Docker is
// podman here. There is no cluster: kubectl's arguments are compared with the manifests.

import { chown, readFile, rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkoutFolder } from '../real/support/folder.ts';
import { need, reasonToSkip } from '../real/support/part.ts';
import { startServer } from '../real/support/process.ts';
import { until } from '../support/program.ts';
import { type Clone, sharedClone } from './support/clone.ts';
import { containers, dockerScript, logsOf, podman } from './support/containers.ts';
import { builtCommandsOf, commandsOf, version, yamlWith } from './support/install-document.ts';
import { checkObjects, kubecheck } from './support/kubecheck.ts';
import { type Reader, startReader } from './support/reader.ts';

const noContainers = await reasonToSkip([containers]);
const noKubecheck = await reasonToSkip([kubecheck]);

const runbooks = await readFile(join(checkoutFolder, 'docs/operate/runbooks.md'), 'utf8');
const KEY = 'key-of-the-install-test';

let reader: Reader;
let clone: Clone;

beforeAll(async () => {
  reader = await startReader(KEY);
  clone = await sharedClone();
});
afterAll(async () => {
  await reader[Symbol.asyncDispose]();
});

/** Runs a command. Installs, packs and builds only once per run: another test may have done it. */
function runOf(command: string): Promise<string> {
  return /^(npm|docker build) (?!install)/.test(command) ? clone.once(command) : clone.run(command);
}

test('by npm', async () => {
  reader.writeFiles(clone.folder);
  const all = builtCommandsOf('npm');
  for (const command of all.slice(0, -1)) {
    const output = await runOf(command);
    if (command.includes('--probe')) expect(output).toContain('orders');
  }
  const [program, ...args] = all.at(-1)?.split(' ') ?? [];
  const daemon = await startServer({
    name: 'daemon',
    command: join(clone.programs, program ?? ''),
    args,
    env: clone.environment,
    folder: clone.folder,
    isReady: async () => (await fetch('http://127.0.0.1:9464/readyz')).ok,
  });
  await reader.pointsArrive();
  await daemon.stop();
  expect(await daemon.exited).toBe(0);
  expect(await readFile(daemon.log, 'utf8')).not.toContain(KEY);
});

test.skipIf(noContainers !== null)('by Docker', async () => {
  clone.provide('docker', dockerScript);
  reader.writeFiles(clone.folder);
  await chown(join(clone.folder, 'api-key'), 1000, 1000);
  try {
    for (const command of builtCommandsOf('Docker')) {
      // The simulator and the receiver listen on loopback; the document says how a container reaches it.
      const output = await runOf(command);
      if (command.includes('--probe')) expect(output).toContain('orders');
    }
    await reader.pointsArrive();
    // `logs tail` needs a temporary file, for the archive.
    const tail = 'docker exec prom2otlp node bin/prom2otlp.js logs tail --type error-log';
    expect(await clone.run(tail)).not.toBe('');
    // Replaces the file by a rename, as editors and tools that distribute configurations do.
    const mounted = join(clone.folder, 'etc/prom2otlp.yaml');
    await writeFile(
      `${mounted}.new`,
      `${await readFile(mounted, 'utf8')}telemetry: {interval: 5s}\n`,
    );
    await rename(`${mounted}.new`, mounted);
    await until('it loads a file that replaces the former one', async () =>
      (await logsOf('prom2otlp')).includes('the configuration was loaded again'),
    );
    const what = '{{.Config.Hostname}} {{.Config.StopTimeout}}';
    const settings = await podman(['inspect', '--format', what, 'prom2otlp']);
    expect(settings).toBe(`prom2otlp-${hostname()} 30`);
    await podman(['stop', 'prom2otlp']);
    expect(await podman(['inspect', '--format', '{{.State.ExitCode}}', 'prom2otlp'])).toBe('0');
    const [, drain = ''] = /`(docker run --rm --volumes-from [^`]*)`/.exec(runbooks) ?? [];
    expect(await clone.run(drain)).toMatch(/^accepted \d+ points .*, left 0$/m);
  } finally {
    await podman(['rm', '--force', '--ignore', 'prom2otlp']);
    await podman(['volume', 'rm', '--force', 'prom2otlp']);
  }
});

test.skipIf(noKubecheck !== null)('by Helm', async () => {
  clone.provide('kubectl', `printf '%s\\n' "$*" >> kubectl-helm.log`);
  clone.provide('helm', `exec ${(await need(kubecheck)).path} helm "$@" > helm.yaml`);
  reader.writeFiles(clone.folder);
  await writeFile(join(clone.folder, 'values.yaml'), yamlWith('repository: registry.example.com'));
  for (const command of builtCommandsOf('Helm').slice(2)) await clone.run(command);
  const { problems, objects } = await checkObjects(join(clone.folder, 'helm.yaml'));
  expect(problems).toEqual([]);
  const told = (await readFile(join(clone.folder, 'kubectl-helm.log'), 'utf8')).trim().split('\n');
  const [, secret, rollout, logs] = told;
  const workload = objects.find(({ kind }) => kind === 'StatefulSet');
  expect(rollout).toContain(`statefulset/${workload.metadata.name}`);
  expect(logs).toContain(`${workload.metadata.name}-0`);
  const { secretName } = workload.spec.template.spec.volumes.find(
    (volume: { secret?: unknown }) => volume.secret !== undefined,
  ).secret;
  expect(secret).toContain(`create secret generic ${secretName} `);
  expect(workload.spec.template.spec.containers[0].image).toBe(
    `registry.example.com/prom2otlp/prom2otlp:${version}`,
  );
  const text: string = objects.find(({ kind }) => kind === 'ConfigMap').data['prom2otlp.yaml'];
  expect(text).toContain('name: orders');
});

test.skipIf(noKubecheck !== null)('by Kubernetes', async () => {
  clone.provide('kubectl', `printf '%s\\n' "$*" >> kubectl.log`);
  reader.writeFiles(clone.folder);
  for (const command of commandsOf('Kubernetes')) await clone.run(command);
  const told = (await readFile(join(clone.folder, 'kubectl.log'), 'utf8')).trim().split('\n');
  const [namespace, secret, apply, rollout, logs] = told;
  expect(told).toHaveLength(5);
  const folder = /^apply --kustomize (\S+)$/.exec(apply ?? '')?.[1] ?? '';
  const { problems, objects } = await checkObjects(join(clone.folder, folder));
  expect(problems).toEqual([]);

  // Everything is in the namespace that the commands create. The Secret has the name that the pod mounts, and the files
  // that the configuration names.
  expect(new Set(objects.map(object => object.metadata.namespace))).toEqual(new Set(['prom2otlp']));
  expect(namespace).toBe('create namespace prom2otlp');
  const workload = objects.find(({ kind }) => kind === 'StatefulSet');
  const { secretName } = workload.spec.template.spec.volumes.find(
    (volume: { secret?: unknown }) => volume.secret !== undefined,
  ).secret;
  expect(secret).toContain(`--namespace prom2otlp create secret generic ${secretName} `);
  const members = [...(secret ?? '').matchAll(/--from-(?:file|literal)=([\w-]+)/g)];
  const text: string = objects.find(({ kind }) => kind === 'ConfigMap').data['prom2otlp.yaml'];
  const named = [...text.matchAll(/\$\{file:[^}]*\/([\w-]+)\}/g)];
  expect(members.map(([, name]) => name)).toEqual(named.map(([, name]) => name));
  expect(rollout).toContain(`statefulset/${workload.metadata.name}`);
  expect(logs).toContain(`${workload.metadata.name}-0`);
});

// The starts of docs/install.md by npm, Docker and Kubernetes, command by command as they stand there; systemd's is in
// systemd.test.ts. Docker is podman here. There is no cluster: what kubectl is told is held against the manifests.

import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import { checkoutFolder, runFolder } from '../real/support/folder.ts';
import { reasonToSkip } from '../real/support/part.ts';
import { run, startServer } from '../real/support/process.ts';
import { type CheckedReceiver, startCheckedReceiver } from '../support/checked-receiver.ts';
import { until } from '../support/program.ts';
import { containers, podman } from './support/containers.ts';
import { cloneInto, commandsOf, configurationFor } from './support/install-document.ts';
import { checkKustomization, kubecheck } from './support/kubecheck.ts';

const noContainers = await reasonToSkip([containers]);
const noKubecheck = await reasonToSkip([kubecheck]);

const KEY = 'key-of-the-install-test';
const MAX_MS = 600_000;

let simulator: Simulator;
let receiver: CheckedReceiver;
let clone = '';
/** Stands before everything else on the path of the commands. */
let commands = '';

beforeAll(async () => {
  simulator = await startSimulator({ clock, key: KEY, refreshMs: 1000 });
  receiver = await startCheckedReceiver({ clock });
  clone = await runFolder('install-clone');
  await cloneInto(clone);
  commands = join(clone, 'commands/bin');
  await mkdir(commands, { recursive: true });
});
afterAll(async () => {
  await simulator.close();
  await receiver.close();
  await rm(clone, { recursive: true, force: true });
});

// Each way starts a daemon of its own, which knows nothing of those before.
beforeEach(() => receiver.gate.anotherSender());

/** The two files that every start begins with. */
async function writeFiles(): Promise<void> {
  const [service] = simulator.world.services;
  const place = {
    serviceUrl: simulator.url,
    otlpUrl: receiver.url,
    serviceId: service?.id ?? '',
  };
  await writeFile(join(clone, 'api-key'), `${KEY}\n`);
  await writeFile(join(clone, 'prom2otlp.yaml'), configurationFor(place));
}

const environment = (): Record<string, string> => ({
  PATH: [commands, process.env['PATH']].join(delimiter),
  npm_config_prefix: join(clone, 'commands'),
});

function inClone(command: string): Promise<string> {
  const options = { folder: clone, env: environment(), timeoutMs: MAX_MS };
  return run('bash', ['-ec', command], options);
}

/** A program that is found under this name. */
async function provide(name: string, script: string): Promise<void> {
  const path = join(commands, name);
  await writeFile(path, `#!/usr/bin/env bash\nset -e\n${script}\n`);
  await chmod(path, 0o755);
}

async function pointsArrive(): Promise<void> {
  const { points } = receiver.totals;
  const before = points.sum;
  await until('points arrive', () => points.sum > before, 60_000);
}

test('by npm', async () => {
  await writeFiles();
  const all = commandsOf('npm');
  for (const command of all.slice(0, -1)) {
    const output = await inClone(command);
    if (command.includes('--probe')) expect(output).toContain('orders');
  }
  const [program, ...args] = all.at(-1)?.split(' ') ?? [];
  const daemon = await startServer({
    name: 'daemon',
    command: join(commands, program ?? ''),
    args,
    env: environment(),
    folder: clone,
    isReady: async () => (await fetch('http://127.0.0.1:9464/readyz')).ok,
  });
  await pointsArrive();
  await daemon.stop();
  expect(await daemon.exited).toBe(0);
  expect(await readFile(daemon.log, 'utf8')).not.toContain(KEY);
});

test.skipIf(noContainers !== null)('by Docker', async () => {
  const script = join(checkoutFolder, 'test/deploy/support/docker-command.ts');
  await provide('docker', `exec '${process.execPath}' '${script}' "$@"`);
  await writeFiles();
  await chown(join(clone, 'api-key'), 1000, 1000);
  try {
    for (const command of commandsOf('Docker')) {
      // The neighbours of this test are on the loopback interface; the document says how to reach those.
      const output = await inClone(command);
      if (command.includes('--probe')) expect(output).toContain('orders');
    }
    await pointsArrive();
    await podman(['stop', '--time', '30', 'prom2otlp']);
    expect(await podman(['inspect', '--format', '{{.State.ExitCode}}', 'prom2otlp'])).toBe('0');
  } finally {
    await podman(['rm', '--force', '--ignore', 'prom2otlp']);
    await podman(['volume', 'rm', '--force', 'prom2otlp']);
    await podman(['rmi', '--force', 'localhost/prom2otlp:0.1.0']);
  }
});

test.skipIf(noKubecheck !== null)('by Kubernetes', async () => {
  await provide('kubectl', `printf '%s\\n' "$*" >> kubectl.log`);
  await writeFiles();
  for (const command of commandsOf('Kubernetes')) await inClone(command);
  const told = (await readFile(join(clone, 'kubectl.log'), 'utf8')).trim().split('\n');
  const [namespace, secret, apply, rollout, logs] = told;
  expect(told).toHaveLength(5);
  const folder = /^apply --kustomize (\S+)$/.exec(apply ?? '')?.[1] ?? '';
  const { problems, objects } = await checkKustomization(join(clone, folder));
  expect(problems).toEqual([]);

  // Everything is in the namespace that is made, and the Secret has what the pod mounts and the configuration names.
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

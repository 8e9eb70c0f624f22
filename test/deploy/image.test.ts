// The image as users build and run it: small, not root, read-only, without capabilities. It keeps its queue on a volume
// through a kill, and stops within its deadline. A release builds it for two architectures.

import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { type Simulator, startSimulator } from '../../src/simulator/simulator.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import { runFolder } from '../real/support/folder.ts';
import { reasonToSkip } from '../real/support/part.ts';
import { freePort } from '../real/support/process.ts';
import { Receiver } from '../support/receiver.ts';
import { until } from '../support/program.ts';
import { type Clone, sharedClone } from './support/clone.ts';
import {
  archivedTag,
  containers,
  dockerScript,
  logsOf,
  podman,
  runArgs,
} from './support/containers.ts';
import { builtCommandsOf, version } from './support/install-document.ts';

const skip = await reasonToSkip([containers]);

const TAG = `localhost/prom2otlp/prom2otlp:${version}`;
const KEY = 'key-of-the-image-test';
const TOKEN = 'token-of-the-image-test';
const MB = 1e6;

describe.skipIf(skip !== null)('the image', () => {
  let clone: Clone;
  const closing: (() => Promise<unknown>)[] = [];
  let simulator: Simulator;
  let receiver: Receiver | null = null;
  let folder = '';
  let statusUrl = '';
  let otlpPort = 0;

  beforeAll(async () => {
    clone = await sharedClone();
    clone.provide('docker', dockerScript);
    await clone.once(builtCommandsOf('Docker')[1] ?? '');
    simulator = await startSimulator({ clock, key: KEY, refreshMs: 1000 });
    closing.push(() => simulator.close());
    folder = await runFolder('image');
    otlpPort = await freePort();
    const statusPort = await freePort();
    statusUrl = `http://127.0.0.1:${statusPort}`;
    await mkdir(join(folder, 'etc'));
    await writeFile(join(folder, 'etc/api-key'), KEY);
    await writeFile(join(folder, 'etc/prom2otlp.yaml'), configuration(statusPort));
  });
  afterAll(async () => {
    await podman(['rm', '--force', '--ignore', '--volumes', 'bridge']);
    await podman(['volume', 'rm', '--force', 'queue']);
    await receiver?.close();
    for (const close of closing) await close();
    if (folder !== '') await rm(folder, { recursive: true, force: true });
  });

  function configuration(statusPort: number): string {
    return JSON.stringify({
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration's own syntax
      api: { base_url: simulator.url, key: '${file:api-key}' },
      services: simulator.world.services.map(({ id, name }) => ({ id, name })),
      metrics: { interval: '1s' },
      otlp: { endpoint: `http://127.0.0.1:${otlpPort}` },
      status: { listen: `127.0.0.1:${statusPort}`, token: TOKEN },
      telemetry: { enabled: false },
    });
  }

  async function status(): Promise<StatusReport> {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`${statusUrl}/status.json`, { headers });
    return (await answer.json()) as StatusReport;
  }

  /** The number of queued points; undefined while the daemon does not answer. */
  const waiting = async (): Promise<number | undefined> => {
    const report = await status().catch(() => null);
    return report?.queue.find(({ signal }) => signal === 'metrics')?.points;
  };

  test('is small, says what it is, has no shell, is not root, and prints its version', async () => {
    const inspected = await podman(['image', 'inspect', TAG]);
    const [image] = JSON.parse(inspected) as [
      { Size: number; Config: { User: string; Labels: Record<string, string> } },
    ];
    const name = 'org.opencontainers.image';
    expect(image.Config.Labels).toMatchObject({
      [`${name}.version`]: version,
      [`${name}.revision`]: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
      [`${name}.source`]: 'https://github.com/prom2otlp/prom2otlp',
    });
    console.log(`image: ${(image.Size / MB).toFixed(0)} MB unpacked`);
    expect(image.Size).toBeLessThan(150 * MB);
    expect(image.Config.User).toBe('1000:1000');
    const once = ['run', '--rm', ...runArgs];
    const revision = image.Config.Labels[`${name}.revision`]?.slice(0, 12) ?? '';
    expect(await podman([...once, TAG, 'version'])).toContain(`commit ${revision}`);
    const shell = podman([...once, '--entrypoint', '/bin/sh', TAG, '-c', 'true']);
    await expect(shell).rejects.toThrow(/not found|no such file/);
  });

  // Each architecture with its number in the header of an ELF file, and the path of its loader.
  test.each([
    ['amd64', 62, 'lib64/ld-linux-x86-64.so.2'],
    ['arm64', 183, 'lib/ld-linux-aarch64.so.1'],
  ])('is built for %s by the script of a release', async (architecture, machine, loader) => {
    await clone.once('tools/release/image.sh');
    const tag = archivedTag(architecture);
    expect(await podman(['image', 'inspect', '--format', '{{.Architecture}}', tag])).toBe(
      architecture,
    );
    const root = await podman(['image', 'mount', tag]);
    closing.push(() => podman(['image', 'unmount', tag]));
    const machineOf = async (file: string): Promise<number> =>
      (await readFile(join(root, file))).readUInt16LE(18);
    for (const file of ['usr/local/bin/node', 'lib/libc.so.6', 'lib/libstdc++.so.6', loader])
      expect([file, await machineOf(file)]).toEqual([file, machine]);
    expect(await readFile(join(root, 'opt/prom2otlp/dist/main.js'), 'utf8')).not.toBe('');
  });

  test('starts from a base that is pinned by its digest', async () => {
    const recipe = await readFile('Dockerfile', 'utf8');
    expect(recipe).toMatch(/^ARG NODE_IMAGE=node:24\.\d+\.\d+-slim@sha256:[0-9a-f]{64}$/m);
    expect(recipe.match(/^FROM .*$/gm)).toEqual([
      'FROM ${NODE_IMAGE} AS node',
      'FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build',
      'FROM scratch',
    ]);
  });

  test('runs read-only, without capabilities, and queues without a back end', async () => {
    const locked = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges'];
    const volumes = ['-v', `${folder}/etc:/etc/prom2otlp:ro`, '-v', 'queue:/var/lib/prom2otlp'];
    await podman(['run', '-d', '--name', 'bridge', ...runArgs, ...locked, ...volumes, TAG]);
    await until('the first points wait', waiting);
    const pid = Number(await podman(['inspect', '--format', '{{.State.Pid}}', 'bridge']));
    const proc = (file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8');
    const process = proc('status');
    expect(process).toMatch(/^Uid:\t1000\t1000/m);
    expect(process).toMatch(/^CapBnd:\t0+$/m);
    expect(process).toMatch(/^NoNewPrivs:\t1$/m);
    expect(process).toMatch(/^Seccomp:\t2$/m);
    expect(proc('mountinfo')).toMatch(/^\S+ \S+ \S+ \S+ \/ ro,/m);
  });

  test('keeps its queue through a kill, and delivers it', async () => {
    const before = await until('some points wait', async () => {
      const points = (await waiting()) ?? 0;
      return points > 5000 && points;
    });
    await podman(['kill', '--signal', 'KILL', 'bridge']);
    await podman(['wait', 'bridge']);
    receiver = await Receiver.start(otlpPort);
    await podman(['start', 'bridge']);
    const { points } = receiver;
    await until('what waited has arrived', () => points.length >= before);
  });

  test('stops within its deadline, with everything delivered; its memory is small', async () => {
    const pid = Number(await podman(['inspect', '--format', '{{.State.Pid}}', 'bridge']));
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    const bytes = Number(resident?.[1]) * 1024;
    console.log(`resident memory in the container: ${(bytes / MB).toFixed(0)} MB`);
    // Half of the limit that deploy/kubernetes gives it.
    expect(bytes).toBeLessThan(128 * 1024 * 1024);
    // After 30 s podman would kill it, and the exit code would be 137.
    await podman(['stop', '--time', '30', 'bridge']);
    expect(await podman(['inspect', '--format', '{{.State.ExitCode}}', 'bridge'])).toBe('0');
    const output = await logsOf('bridge');
    expect(output).toContain('started');
    expect(output).not.toContain(KEY);
  });
});

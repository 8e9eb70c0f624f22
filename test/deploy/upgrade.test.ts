// The packages are upgraded, taken back and removed as docs/operate/install.md says, on a machine that runs its own
// systemd, with a back end that refuses everything before each step. The back end keeps what it takes: every point that
// the daemon made arrives, and arrives once. The older version is this one with another number and another default file.

import {
  appendFileSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SIMULATED_KEY } from '../../src/cli/simulate.ts';
import { demoServices } from '../../src/simulator/world.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import { runFolder } from '../real/support/folder.ts';
import { reasonToSkip } from '../real/support/part.ts';
import { findProgram, run } from '../real/support/process.ts';
import { oracleDecodeMetrics } from '../reference/oracle.ts';
import { otlpPoints } from '../support/otlp-points.ts';
import { until } from '../support/program.ts';
import { sharedClone } from './support/clone.ts';
import {
  builtCommandsOf,
  changeOf,
  commandsOf,
  configurationFor,
  version,
} from './support/install-document.ts';
import { type Machine, machinePart, startMachine } from './support/machine.ts';

const skip = await reasonToSkip([machinePart]);

const OLD = '0.0.9';
const PORT = 18_080;
const BACKLOG = 500;
const STEP_MS = 120_000;

/** Refuses everything while /root/down exists; otherwise keeps each request as a file, and then takes it. */
const BACK_END = `
const fs = require('node:fs');
let n = fs.readdirSync('/root/received').length;
require('node:http').createServer((request, answer) => {
  const chunks = [];
  request.on('data', chunk => chunks.push(chunk)).on('end', () => {
    const isDown = fs.existsSync('/root/down');
    if (!isDown) {
      const bytes = Buffer.concat(chunks);
      const isPacked = request.headers['content-encoding'] === 'gzip';
      const plain = isPacked ? require('node:zlib').gunzipSync(bytes) : bytes;
      fs.writeFileSync('/root/received/' + ++n, plain);
    }
    answer.writeHead(isDown ? 503 : 200, { 'content-type': 'application/x-protobuf' }).end();
  });
}).listen(4318, '127.0.0.1');
`;

describe.skipIf(skip !== null)('a package', () => {
  let machine: Machine;
  let cloneFolder: string;
  let oldFolder: string;

  beforeAll(async () => {
    const clone = await sharedClone();
    cloneFolder = clone.folder;
    for (const command of builtCommandsOf('systemd').slice(0, 2)) await clone.once(command);
    oldFolder = join(await runFolder('older-version'), 'clone');
    copyAsOlder(cloneFolder, oldFolder);
    machine = await startMachine();
    copyFileSync(process.execPath, join(machine.root, 'usr/bin/node'));
    const home = join(machine.root, 'root');
    mkdirSync(join(home, 'clone'));
    mkdirSync(join(home, 'received'));
    writeFileSync(join(home, 'back-end.cjs'), BACK_END);
    const archive = `prom2otlp-${version}.tgz`;
    mkdirSync(join(home, 'simulator'));
    const unpack = ['-xf', archive, '-C', join(home, 'simulator'), '--strip-components', '1'];
    await run('tar', unpack, { folder: cloneFolder });
    const simulator = `/usr/bin/node bin/prom2otlp.js simulate --port ${PORT} --refresh 1s`;
    await inMachine(`cd /root/simulator && systemd-run --same-dir --quiet ${simulator}`);
    await inMachine('systemd-run --quiet /usr/bin/node /root/back-end.cjs');
  });
  afterAll(async () => {
    await machine?.stop();
    if (oldFolder !== undefined) rmSync(oldFolder, { recursive: true, force: true });
  });

  async function inMachine(command: string): Promise<string> {
    const { code, stdout, stderr } = await machine.run('bash', '-ec', `cd /root/clone\n${command}`);
    if (code !== 0) throw new Error(`cannot run ${command}: ${code}\n${stdout}${stderr}`);
    return stdout.trim();
  }

  /** Builds a package in both folders; the machine gets both in /root/clone. Gives their names: the old, the new. */
  async function build(format: 'deb' | 'rpm'): Promise<[older: string, newer: string]> {
    const command = ['deploy/packages/build.sh', format];
    const clone = await sharedClone();
    await clone.once(`sh ${command.join(' ')}`);
    await run('sh', command, { folder: oldFolder, env: clone.environment, timeoutMs: 600_000 });
    const names = [oldFolder, cloneFolder].map(folder => {
      const path = globSync(join(folder, `prom2otlp[_-]*.${format}`))[0] ?? '';
      copyFileSync(path, join(machine.root, 'root/clone', basename(path)));
      return basename(path);
    });
    return [names[0] ?? '', names[1] ?? ''];
  }

  /** The steps after the installation, by the section's own commands. The values are those of this machine. */
  async function configureAndStart(section: string): Promise<void> {
    const place = {
      serviceUrl: `http://127.0.0.1:${PORT}`,
      otlpUrl: 'http://127.0.0.1:4318',
      serviceId: demoServices()[0]?.id ?? '',
    };
    const home = join(machine.root, 'root/clone');
    writeFileSync(join(home, 'api-key'), `${SIMULATED_KEY}\n`);
    const text = `${configurationFor(place)}telemetry: {enabled: false}\n# mine\n`;
    writeFileSync(join(home, 'prom2otlp.yaml'), text);
    await inMachine('echo "# mine" >> /etc/default/prom2otlp');
    const own = /^(?:install -D|runuser|systemctl enable)/;
    for (const command of commandsOf(section).filter(line => own.test(line))) {
      await inMachine(command);
    }
  }

  async function state(): Promise<StatusReport | undefined> {
    const ask = `fetch('http://127.0.0.1:9464/status.json').then(a => a.text()).then(console.log)`;
    const { stdout } = await machine.run('node', '-e', ask);
    return stdout.startsWith('{') ? (JSON.parse(stdout) as StatusReport) : undefined;
  }

  /** With a backlog, runs a step that must leave this version running; then the back end takes what waited. */
  async function step(expected: string, change: () => Promise<unknown>): Promise<string> {
    const before = await until(
      'a backlog waits',
      async () => {
        const points = (await state())?.account.total.points;
        return points !== undefined && points.queued >= BACKLOG && points;
      },
      STEP_MS,
    );
    await change();
    const after = await until('it answers', state, STEP_MS);
    expect(after.version.split(/[ +]/)[0]).toBe(expected);
    const points = after.account.total.points;
    expect(points.made).toBeGreaterThanOrEqual(before.made);
    expect(points.queued).toBeGreaterThanOrEqual(before.queued);
    expect(await inMachine('tail -n 1 /etc/default/prom2otlp')).toBe('# mine');
    expect(await inMachine('tail -n 1 /etc/prom2otlp/prom2otlp.yaml')).toBe('# mine');
    await inMachine('rm /root/down');
    const isDelivered = async (): Promise<boolean> =>
      ((await state())?.account.total.points.accepted ?? 0) >= points.made;
    await until('the backlog is delivered', isDelivered, STEP_MS);
    await inMachine('touch /root/down');
    return `${before.queued} points queued, ${points.queued} after the start of ${expected}`;
  }

  /** Stops the daemon while the back end takes everything, and compares the account with what arrived. */
  async function compare(): Promise<string> {
    await inMachine('rm /root/down && systemctl stop prom2otlp');
    const inspect = 'runuser --user prom2otlp -- prom2otlp queue inspect --json';
    const { account } = JSON.parse(await inMachine(inspect)) as StatusReport;
    const { made, accepted, queued } = account.total.points;
    const folder = join(machine.root, 'root/received');
    const arrived = globSync('*', { cwd: folder })
      .flatMap(name => otlpPoints(oracleDecodeMetrics(readFileSync(join(folder, name)))))
      .map(point =>
        [point.resource, point.scope, point.metric, point.attributes, point.timeNs].join('|'),
      );
    const different = new Set(arrived).size;
    const numbers = { lost: made - queued - different, doubled: arrived.length - different };
    expect(numbers).toEqual({ lost: 0, doubled: 0 });
    expect(accepted).toBe(arrived.length);
    return `${made} made, ${accepted} delivered, ${queued} queued, 0 lost, 0 doubled`;
  }

  async function fresh(): Promise<void> {
    await inMachine('rm -rf /root/received/* && touch /root/down');
  }

  test('.deb: an upgrade and a way back lose nothing; remove keeps files, purge deletes them', async () => {
    const [older, newer] = await build('deb');
    // The machine reaches no network: dpkg does what apt-get does after its downloads.
    const install = (command: string, name: string) => () =>
      inMachine(
        command
          .replace(/apt-get install (?:--allow-downgrades )?/, 'dpkg --force-confold --install ')
          .replace(/prom2otlp_(?:NEW|OLD)_amd64\.deb/, name),
      );
    const [upgrade, back] = [
      changeOf('Debian package', 'upgrade'),
      changeOf('Debian package', 'go back'),
    ];
    await fresh();
    await install(upgrade, older)();
    await configureAndStart('Debian package');
    console.log('.deb, upgrade:', await step(version, install(upgrade, newer)));
    console.log('.deb, back:', await step(OLD, install(back, older)));
    console.log('.deb:', await compare());
    await inMachine('dpkg --remove prom2otlp');
    const kept =
      '/etc/prom2otlp/prom2otlp.yaml /etc/prom2otlp/api-key /var/lib/prom2otlp/queue.sqlite';
    await inMachine(`ls ${kept} /etc/default/prom2otlp`);
    await inMachine('dpkg --purge prom2otlp');
    await inMachine(
      'test ! -e /etc/prom2otlp -a ! -e /var/lib/prom2otlp -a ! -e /etc/default/prom2otlp',
    );
  });

  const hasRpm = findProgram('rpmbuild') !== null;
  if (!hasRpm) console.warn('skipped: rpmbuild is not installed');

  test.skipIf(!hasRpm)('.rpm: so do these; erase keeps the queue and changed files', async () => {
    const [older, newer] = await build('rpm');
    // The machine has no rpm: the host's works on its root, where the scripts of the package run.
    const rpm = async (...args: readonly string[]): Promise<void> => {
      const folder = join(machine.root, 'root/clone');
      await run('rpm', ['--root', machine.root, '--nodeps', ...args], { folder });
      // In the host's namespace, the scripts do not reach the machine's systemd: these are their lines.
      await inMachine('systemctl daemon-reload && systemctl try-restart prom2otlp');
    };
    await fresh();
    await rpm('--install', older);
    await configureAndStart('RPM');
    const change = (command: string, name: string) => () =>
      rpm(
        ...command
          .replace(/prom2otlp-(?:NEW|OLD)-1\.x86_64\.rpm/, name)
          .split(' ')
          .slice(1),
      );
    const [upgrade, back] = [changeOf('RPM', 'upgrade'), changeOf('RPM', 'go back')];
    console.log('.rpm, upgrade:', await step(version, change(upgrade, newer)));
    console.log('.rpm, back:', await step(OLD, change(back, older)));
    console.log('.rpm:', await compare());
    await inMachine('systemctl disable --now --quiet prom2otlp');
    await run('rpm', ['--root', machine.root, '--erase', 'prom2otlp']);
    await inMachine('ls /etc/prom2otlp/prom2otlp.yaml.rpmsave /etc/default/prom2otlp.rpmsave');
    await inMachine('test -s /var/lib/prom2otlp/queue.sqlite && test ! -e /usr/bin/prom2otlp');
  });
});

/** Copies a clone without its packages, and gives it an older version number and another default environment. */
function copyAsOlder(from: string, to: string): void {
  const left = new Set(['node_modules', 'dist', '.git']);
  const filter = (path: string): boolean =>
    !(left.has(basename(path)) && join(from, basename(path)) === path) &&
    !/\.(?:deb|rpm|tgz)$/.test(path);
  cpSync(from, to, { recursive: true, filter });
  symlinkSync(join(from, 'node_modules'), join(to, 'node_modules'));
  const manifest = join(to, 'package.json');
  const text = readFileSync(manifest, 'utf8');
  writeFileSync(manifest, text.replace(`"version": "${version}"`, `"version": "${OLD}"`));
  appendFileSync(join(to, 'deploy/systemd/prom2otlp.default'), '# Of the older version.\n');
}

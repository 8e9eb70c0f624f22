// The packages are upgraded, taken back and removed as docs/operate/install.md says, on a machine that runs its own
// systemd, with a back end that refuses everything before each step. The back end keeps what it takes: every point and
// log record that the daemon made arrives, and arrives once. The page changes each second, so no start reads one that the
// former process has sent. The older .deb is that of a real earlier version, with a configuration of its time. That
// version had no .rpm: the older .rpm is this tree with another number and default file.

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
import { need, reasonToSkip } from '../real/support/part.ts';
import { findProgram, run } from '../real/support/process.ts';
import { oracleDecodeLogs, oracleDecodeMetrics } from '../reference/oracle.ts';
import { attributesOf, attributesText, otlpLogs, otlpPoints } from '../support/otlp-points.ts';
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
import { earlierDeb, lackOfHistory } from './support/earlier-version.ts';

const skip = await reasonToSkip([machinePart]);
const withoutEarlier = skip ?? (await lackOfHistory());

const OLD_RPM = '0.0.9';
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
      const { gunzipSync, zstdDecompressSync } = require('node:zlib');
      const unpack = { gzip: gunzipSync, zstd: zstdDecompressSync };
      const plain = unpack[request.headers['content-encoding']]?.(bytes) ?? bytes;
      fs.writeFileSync('/root/received/' + ++n + request.url.replaceAll('/', '-'), plain);
    }
    answer.writeHead(isDown ? 503 : 200, { 'content-type': 'application/x-protobuf' }).end();
  });
}).listen(4318, '127.0.0.1');
`;

/** A configuration as the earlier version could have it. */
const withFormerKeys = (text: string): string =>
  `${text.replace('otlp:\n', 'otlp:\n  compression: auto\n')}logs:
  enabled: true
  schedule: 30s
  window:
    # Late archives.
    day_close_grace: 5h
`;

const REWRITTEN = `  schedule: 30s
  # Late archives.
  day_close_grace: 5h
# mine`;

/** How often that arrived which arrived most often. */
function copiesOf(names: readonly string[]): number {
  const copies = new Map<string, number>();
  for (const name of names) copies.set(name, (copies.get(name) ?? 0) + 1);
  return Math.max(0, ...copies.values());
}

/** What tells the points and the log records of a request apart, in both versions. */
function namesOf(file: string, bytes: Buffer): readonly string[] {
  if (!file.endsWith('-logs'))
    return otlpPoints(oracleDecodeMetrics(bytes)).map(point =>
      [point.serviceId, point.scope, point.metric, point.attributes, point.timeNs].join('|'),
    );
  return otlpLogs(oracleDecodeLogs(bytes)).map(({ resource, record }) =>
    [
      attributesOf(resource)['service.instance.id'],
      record.timeUnixNano,
      record.body?.stringValue,
      attributesText(record.attributes),
    ].join('|'),
  );
}

describe.skipIf(skip !== null)('a package', () => {
  let machine: Machine;
  let cloneFolder: string;

  beforeAll(async () => {
    const clone = await sharedClone();
    cloneFolder = clone.folder;
    for (const command of builtCommandsOf('systemd').slice(0, 2)) await clone.once(command);
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
  });

  async function inMachine(command: string): Promise<string> {
    const { code, stdout, stderr } = await machine.run('bash', '-ec', `cd /root/clone\n${command}`);
    if (code !== 0) throw new Error(`cannot run ${command}: ${code}\n${stdout}${stderr}`);
    return stdout.trim();
  }

  /** Gives the machine a package in /root/clone; returns its name. */
  function give(path: string): string {
    copyFileSync(path, join(machine.root, 'root/clone', basename(path)));
    return basename(path);
  }

  async function build(format: 'deb' | 'rpm', folder = cloneFolder): Promise<string> {
    const command = `sh deploy/packages/build.sh ${format}`;
    const clone = await sharedClone();
    if (folder === cloneFolder) await clone.once(command);
    else
      await run('bash', ['-ec', command], { folder, env: clone.environment, timeoutMs: 600_000 });
    return give(globSync(join(folder, `prom2otlp[_-]*.${format}`))[0] ?? '');
  }

  /** The steps after the installation, by the section's own commands. The values are those of this machine. */
  async function configureAndStart(
    section: string,
    change = (text: string): string => text,
  ): Promise<void> {
    const place = {
      serviceUrl: `http://127.0.0.1:${PORT}`,
      otlpUrl: 'http://127.0.0.1:4318',
      serviceId: demoServices()[0]?.id ?? '',
    };
    const home = join(machine.root, 'root/clone');
    writeFileSync(join(home, 'api-key'), `${SIMULATED_KEY}\n`);
    const text = change(`${configurationFor(place)}telemetry: {enabled: false}\n`);
    writeFileSync(join(home, 'prom2otlp.yaml'), `${text}# mine\n`);
    await inMachine('echo "# mine" >> /etc/default/prom2otlp');
    const own = /^(?:install -D|runuser|systemctl enable)/;
    for (const command of commandsOf(section).filter(line => own.test(line))) {
      await inMachine(command);
    }
  }

  /** The earlier version's has no `configuration`. */
  async function state(): Promise<
    Pick<StatusReport, 'version' | 'account' | 'configuration'> | undefined
  > {
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
    await expectNoCrash();
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

  /**
   * Stops the daemon while the back end takes everything, and compares the account with what arrived. `readings`: how
   * often the logs were read.
   */
  async function compare(readings: number): Promise<string> {
    await expectNoCrash();
    await inMachine('rm /root/down && systemctl stop prom2otlp');
    const inspect = 'runuser --user prom2otlp -- prom2otlp queue inspect --json';
    const { account } = JSON.parse(await inMachine(inspect)) as StatusReport;
    const { made, accepted, queued } = account.total.points;
    const folder = join(machine.root, 'root/received');
    const requests = globSync('*', { cwd: folder });
    const [points, records] = [false, true].map(isLogs =>
      requests
        .filter(name => name.endsWith('-logs') === isLogs)
        .flatMap(name => namesOf(name, readFileSync(join(folder, name)))),
    ) as [string[], string[]];
    const arrived = points.length + records.length;
    expect({
      lost: made - queued - arrived,
      ofPoint: copiesOf(points),
      ofRecord: copiesOf(records),
    }).toEqual({
      lost: 0,
      ofPoint: 1,
      ofRecord: readings,
    });
    expect(accepted).toBe(arrived);
    return `${made} made, ${points.length} points and ${records.length} log records delivered, ${queued} queued, 0 lost`;
  }

  async function expectNoCrash(): Promise<void> {
    expect(await inMachine('systemctl show --property NRestarts --value prom2otlp')).toBe('0');
  }

  async function fresh(): Promise<void> {
    await inMachine('rm -rf /root/received/* && touch /root/down');
  }

  test.skipIf(withoutEarlier !== null)(
    '.deb: an upgrade from 0.1.0 and a way back lose nothing; remove keeps files, purge deletes them',
    async () => {
      const { path, version: old } = await need(earlierDeb);
      const [older, newer] = [give(path), await build('deb')];
      // The machine reaches no network: dpkg does what apt-get does after its downloads.
      const install = (step: 'upgrade' | 'go back', name: string) => () =>
        inMachine(
          changeOf('Debian package', step)
            .replace(/apt-get install (?:--allow-downgrades )?/, 'dpkg --force-confold --install ')
            .replace(/prom2otlp_(?:NEW|OLD)_amd64\.deb/, name),
        );
      await fresh();
      await install('upgrade', older)();
      await configureAndStart('Debian package', withFormerKeys);
      console.log('.deb, upgrade:', await step(version, install('upgrade', newer)));
      console.log('.deb, back:', await step(old, install('go back', older)));
      console.log('.deb, again:', await step(version, install('upgrade', newer)));
      await fixConfiguration();
      // 0.1.0 does not know the newer position in the logs, and reads them once more.
      console.log('.deb:', await compare(2));
      await inMachine('dpkg --remove prom2otlp');
      const kept =
        '/etc/prom2otlp/prom2otlp.yaml /etc/prom2otlp/api-key /var/lib/prom2otlp/queue.sqlite';
      await inMachine(`ls ${kept} /etc/default/prom2otlp`);
      await inMachine('dpkg --purge prom2otlp');
      await inMachine(
        'test ! -e /etc/prom2otlp -a ! -e /var/lib/prom2otlp -a ! -e /etc/default/prom2otlp',
      );
    },
  );

  /** The deprecated keys work, are named, and are rewritten in the file, which the daemon then reads. */
  async function fixConfiguration(): Promise<void> {
    const check = 'runuser --user prom2otlp -- prom2otlp check 2>&1';
    const file = '/etc/prom2otlp/prom2otlp.yaml';
    const rights = `stat --format '%U %G %a' ${file}`;
    const [warnings, owner] = [await inMachine(check), await inMachine(rights)];
    expect(warnings).toContain('otlp.compression: the value `auto` is deprecated since 0.2.0');
    expect(warnings).toContain('logs.window.day_close_grace: deprecated since 0.2.0');
    const loadedAt = (await state())?.configuration?.loadedAt;
    await inMachine('prom2otlp check --fix');
    expect(await inMachine(rights)).toBe(owner);
    expect(await inMachine(check)).not.toContain('deprecated');
    const rewritten = await inMachine(`cat ${file}`);
    expect(rewritten).toContain('  compression: gzip\n');
    expect(rewritten).toContain(REWRITTEN);
    const isRead = async (): Promise<boolean> =>
      (await state())?.configuration?.loadedAt !== loadedAt;
    await until('the daemon reads the rewritten file', isRead, STEP_MS);
  }

  const hasRpm = findProgram('rpmbuild') !== null;
  if (!hasRpm) console.warn('skipped: rpmbuild is not installed');

  test.skipIf(!hasRpm)('.rpm: so do these; erase keeps the queue and changed files', async () => {
    const oldFolder = join(await runFolder('older-version'), 'clone');
    copyAsOlder(cloneFolder, oldFolder);
    const [older, newer] = [await build('rpm', oldFolder), await build('rpm')];
    rmSync(oldFolder, { recursive: true, force: true });
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
    console.log('.rpm, back:', await step(OLD_RPM, change(back, older)));
    console.log('.rpm:', await compare(0));
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
  writeFileSync(manifest, text.replace(`"version": "${version}"`, `"version": "${OLD_RPM}"`));
  appendFileSync(join(to, 'deploy/systemd/prom2otlp.default'), '# Of the older version.\n');
}

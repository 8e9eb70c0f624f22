// The systemd unit is valid, denies the daemon nearly everything that it does not need, and starts. The start is a real
// one, by the commands of docs/operate/install.md, on a machine that runs its own systemd.

import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SIMULATED_KEY } from '../../src/cli/simulate.ts';
import { demoServices } from '../../src/simulator/world.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import { checkoutFolder } from '../real/support/folder.ts';
import { reasonToSkip } from '../real/support/part.ts';
import { findProgram, run, runAny } from '../real/support/process.ts';
import { until } from '../support/program.ts';
import { type Clone, sharedClone } from './support/clone.ts';
import {
  builtCommandsOf,
  commandsOf,
  configurationFor,
  readmeCommand,
  version,
} from './support/install-document.ts';
import { type Machine, machinePart, startMachine } from './support/machine.ts';

const skip = await reasonToSkip([machinePart]);
const unit = join(checkoutFolder, 'deploy/systemd/prom2otlp.service');

/** docs/operate/runbooks.md, which has the commands to run beside the stopped unit. */
const runbooks = readFileSync(join(checkoutFolder, 'docs/operate/runbooks.md'), 'utf8');

/** On systemd's scale from 0 (locked down) to 10. */
const EXPOSURE_MAX = 1.5;
const PORT = 18_080;

describe.skipIf(skip !== null)('the unit', () => {
  test('is valid, according to systemd', async () => {
    const { code, stdout, stderr } = await runAny('systemd-analyze', ['verify', '--man=no', unit]);
    expect([code, stdout]).toEqual([0, '']);
    // systemd before 254 does not know growing pauses.
    const unknown =
      /^.*: Unknown key (?:name )?'(RestartSteps|RestartMaxDelaySec)' .*, ignoring\.\n/gm;
    expect(stderr.replaceAll(unknown, '')).toBe('');
  });

  test('restarts after 75, with growing pauses, and not after 2', () => {
    const text = readFileSync(unit, 'utf8');
    const valueOf = (key: string): string | undefined =>
      new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1];
    expect(valueOf('Restart')).toBe('on-failure');
    expect(valueOf('RestartPreventExitStatus')).toBe('2');
    expect(valueOf('RestartSec')).toBe('5s');
    expect(Number(valueOf('RestartSteps'))).toBeGreaterThan(1);
    expect(valueOf('RestartMaxDelaySec')).toBe('60s');
  });

  test(`exposes at most ${EXPOSURE_MAX} of 10`, async () => {
    const threshold = `--threshold=${EXPOSURE_MAX * 10}`;
    const args = ['security', '--offline=yes', '--no-pager', threshold, unit];
    const { code, stdout } = await runAny('systemd-analyze', args);
    console.log(stdout.trim().split('\n').at(-1));
    expect(code).toBe(0);
  });
});

describe.skipIf(skip !== null)('on a machine, by the commands of docs/operate/install.md', () => {
  let machine: Machine;
  let clone: Clone;

  beforeAll(async () => {
    clone = await sharedClone();
    for (const command of builtCommandsOf('systemd').slice(0, 2)) await clone.once(command);
    machine = await startMachine();
    copyFileSync(process.execPath, join(machine.root, 'usr/bin/node'));
    await bring();
    const simulator = `/usr/bin/node bin/prom2otlp.js simulate --port ${PORT} --refresh 1s`;
    await inMachine(
      `mkdir /root/simulator && tar -xf prom2otlp-${version}.tgz -C /root/simulator --strip-components 1`,
    );
    await inMachine(`cd /root/simulator && systemd-run --same-dir --quiet ${simulator}`);
  });
  afterAll(async () => {
    await machine?.stop();
  });

  /** Downloads the program, and writes the two files of the reader. */
  async function bring(): Promise<void> {
    const home = join(machine.root, 'root/clone');
    mkdirSync(home, { recursive: true });
    await download(commandsOf('systemd')[0]);
    writeFileSync(join(home, 'api-key'), `${SIMULATED_KEY}\n`);
    const place = {
      serviceUrl: `http://127.0.0.1:${PORT}`,
      otlpUrl: 'http://127.0.0.1:4318',
      serviceId: demoServices()[0]?.id ?? '',
    };
    writeFileSync(join(home, 'prom2otlp.yaml'), configurationFor(place));
  }

  /** Runs the command of a download: the machine reaches no network, and the clone stands for the page of the release. */
  async function download(curl = ''): Promise<void> {
    const folder = join(machine.root, 'root/clone');
    const env = { RELEASE: `file://${clone.folder}` };
    await run('bash', ['-ec', curl], { folder, env });
  }

  async function inMachine(command: string): Promise<string> {
    const { code, stdout, stderr } = await machine.run('bash', '-ec', `cd /root/clone\n${command}`);
    if (code !== 0) throw new Error(`cannot run ${command}: ${code}\n${stdout}${stderr}`);
    return stdout.trim();
  }

  const property = (name: string): Promise<string> =>
    inMachine(`systemctl show --property ${name} --value prom2otlp`);

  /** The queued points, and whether the service is up; undefined while the daemon does not answer. */
  async function state(node = 'node'): Promise<{ points: number; isUp: boolean } | undefined> {
    const ask = `fetch('http://127.0.0.1:9464/status.json').then(a => a.text()).then(console.log)`;
    const { stdout } = await machine.run(node, '-e', ask);
    if (!stdout.startsWith('{')) return undefined;
    const { queue, services } = JSON.parse(stdout) as StatusReport;
    const points = queue.find(({ signal }) => signal === 'metrics')?.points ?? 0;
    return { points, isUp: services[0]?.isUp === true };
  }

  test('it starts, scrapes with a key that nobody else can read, and queues', async () => {
    for (const command of commandsOf('systemd').slice(1)) await inMachine(command);
    expect(await property('ActiveState')).toBe('active');
    await until('points wait', async () => {
      const found = await state();
      return found !== undefined && found.isUp && found.points > 0;
    });
    expect(await inMachine('stat -c "%U %a" /etc/prom2otlp/api-key')).toBe('root 640');
    expect(await inMachine('stat -c %G /etc/prom2otlp/api-key')).toBe('prom2otlp');
    expect(await inMachine('stat -c "%U %a" /var/lib/prom2otlp')).toBe('prom2otlp 700');
    expect(await inMachine('systemctl is-enabled prom2otlp')).toBe('enabled');
  });

  test('it runs as its own user, without capabilities and with a filter on system calls', async () => {
    const process = await inMachine(`cat /proc/${await property('MainPID')}/status`);
    expect(process).toMatch(/^Uid:\t(?!0\t)\d+/m);
    expect(process).toMatch(/^CapBnd:\t0+$/m);
    expect(process).toMatch(/^NoNewPrivs:\t1$/m);
    expect(process).toMatch(/^Seccomp:\t2$/m);
    const journal = await inMachine('journalctl --no-pager --unit prom2otlp');
    expect(journal).toContain('started');
    expect(journal).not.toContain(SIMULATED_KEY);
  });

  test('it stops cleanly, and has its queue after the next start', async () => {
    const before = await state();
    await inMachine('systemctl stop prom2otlp');
    expect([await property('Result'), await property('ExecMainStatus')]).toEqual(['success', '0']);
    await inMachine('systemctl start prom2otlp');
    const after = await until('it answers', state);
    expect(after.points).toBeGreaterThanOrEqual(before?.points ?? Number.NaN);
  });

  test('a new key needs no restart', async () => {
    await inMachine('echo another-key > /etc/prom2otlp/api-key && systemctl restart prom2otlp');
    await until('the key is refused', async () => (await state())?.isUp === false);
    const pid = await property('MainPID');
    const install = commandsOf('systemd').find(command => command.includes('--target-directory'));
    await inMachine(install ?? '');
    await until('the key is taken', async () => (await state())?.isUp === true);
    expect(await property('MainPID')).toBe(pid);
  });

  test('beside the stopped unit, its user checks the configuration and delivers the queue', async () => {
    await inMachine('systemctl stop prom2otlp');
    const [inspect = '', drain = ''] = runbooks.match(/(?<=`)runuser [^`]*/g) ?? [];
    await expect(inMachine('prom2otlp queue drain')).rejects.toThrow(/prom2otlp/);
    expect(await inMachine(inspect)).toContain('metrics');
    const receiver = `require('http').createServer((q, s) => q.resume().on('end', () => s.end())).listen(4318)`;
    await inMachine(`systemd-run --quiet --unit=receiver node -e "${receiver}"`);
    await inMachine(drain);
    await inMachine('systemctl stop receiver');
    await inMachine('systemctl start prom2otlp');
    await until('it answers', state);
  });

  test('a port that stays taken ends it with 75, and it restarts until the port is free', async () => {
    await inMachine('systemctl stop prom2otlp');
    const taker = `require('net').createServer().listen(9464, '127.0.0.1')`;
    await inMachine(`systemd-run --quiet --unit=taker node -e "${taker}"`);
    await inMachine('systemctl start prom2otlp');
    const isPausing = async (): Promise<boolean> => (await property('SubState')) === 'auto-restart';
    await until('it has given up and will be started again', isPausing, 90_000);
    expect(await property('ExecMainStatus')).toBe('75');
    await inMachine('systemctl stop taker');
    await until('it answers', state, 90_000);
    expect(await property('NRestarts')).not.toBe('0');
    const journal = await inMachine('journalctl --no-pager --unit prom2otlp');
    expect(journal).toMatch(/cannot listen on 127\.0\.0\.1:9464: the port is in use/);
  });

  test('a mistake in the configuration ends it with 2, and it does not restart', async () => {
    await inMachine('echo "metrics: {intervall: 1s}" > /etc/prom2otlp/prom2otlp.yaml');
    await machine.run('systemctl', 'restart', 'prom2otlp');
    await until('it has failed', async () => (await property('ActiveState')) === 'failed');
    expect([await property('ExecMainStatus'), await property('NRestarts')]).toEqual(['2', '0']);
    expect(await inMachine('journalctl --no-pager --unit prom2otlp')).toContain('intervall');
  });

  test('the clone contained the whole package', () => {
    expect(existsSync(join(machine.root, 'opt/prom2otlp/dist/main.js'))).toBe(true);
  });

  test('the .deb takes its place, starts with a Node.js of its own, and leaves nothing when purged', async () => {
    await inMachine('systemctl disable --now --quiet prom2otlp');
    const left = '/opt/prom2otlp /etc/prom2otlp /var/lib/prom2otlp /usr/bin/node';
    await inMachine(`rm -r ${left} /etc/systemd/system/prom2otlp.service`);
    for (const command of builtCommandsOf('Debian package').slice(0, 2)) await clone.once(command);
    const [curl, ...rest] = commandsOf('Debian package');
    await download(curl);
    const [inReadme, install = ''] = readmeCommand('Debian').split(' && ');
    await download(inReadme);
    await inMachine(offline(install));
    const remove = rest.splice(rest.findIndex(command => command.includes('remove')));
    for (const command of rest) await inMachine(offline(command));
    expect(await property('ActiveState')).toBe('active');
    expect(await property('ExecStart')).toContain('/usr/lib/prom2otlp/node');
    await until(
      'points wait',
      async () => ((await state('/usr/lib/prom2otlp/node'))?.points ?? 0) > 0,
    );
    expect(await inMachine('prom2otlp version')).toContain(`node ${process.version}`);
    expect(await inMachine('stat -c "%U %a" /var/lib/prom2otlp')).toBe('prom2otlp 700');
    const shared = ['man/man1/prom2otlp.1.gz', 'bash-completion/completions/prom2otlp'];
    for (const file of shared) await inMachine(`test -s /usr/share/${file}`);
    const sample = await inMachine(
      'dpkg-deb --fsys-tarfile prom2otlp_*.deb | tar -xO ./etc/prom2otlp/prom2otlp.yaml',
    );
    const [, schema = ''] = /\$schema=(\S+)$/m.exec(sample) ?? [];
    expect(await inMachine(`grep -c urn:prom2otlp:configuration ${schema}`)).toBe('1');
    for (const command of remove) await inMachine(offline(command));
    expect(await property('ActiveState')).toBe('inactive');
    expect(await inMachine('ls /usr/bin/prom2otlp 2>&1 || true')).toContain('No such file');
    expect(await inMachine('ls /etc/prom2otlp 2>&1 || true')).toContain('No such file');
    await inMachine(
      'test ! -e /usr/share/doc/prom2otlp/examples && test ! -e /etc/default/prom2otlp',
    );
  });

  const withoutRpm = findProgram('rpmbuild') === null ? 'rpmbuild is not installed' : null;
  if (withoutRpm !== null) console.warn(`skipped: ${withoutRpm}`);

  test.skipIf(withoutRpm !== null)(
    'so does the .rpm, which keeps the queue and a changed file when erased',
    async () => {
      for (const command of builtCommandsOf('RPM').slice(0, 2)) await clone.once(command);
      const [curl, install = '', ...rest] = commandsOf('RPM');
      await download(curl);
      // The machine has no rpm: the host's works on its root, where the scripts of the package run.
      const [program = '', action = '', file = ''] = install.split(' ');
      const [name = ''] = globSync(file, { cwd: clone.folder });
      const rpm = async (...args: readonly string[]): Promise<void> => {
        await run(program, ['--root', machine.root, ...args], { folder: clone.folder });
        await inMachine('systemctl daemon-reload');
      };
      await rpm('--nodeps', action, name);
      for (const command of rest) await inMachine(command);
      await until(
        'points wait',
        async () => ((await state('/usr/lib/prom2otlp/node'))?.points ?? 0) > 0,
      );
      expect(await inMachine('stat -c "%U %a" /var/lib/prom2otlp')).toBe('prom2otlp 700');
      await inMachine('test -s /usr/share/doc/prom2otlp/examples/alerts/prom2otlp.rules.yaml');
      await inMachine('test ! -e /usr/lib/prom2otlp/deploy');
      await inMachine('systemctl disable --now --quiet prom2otlp');
      await rpm('--erase', 'prom2otlp');
      expect(await inMachine('ls /usr/bin/prom2otlp 2>&1 || true')).toContain('No such file');
      expect(await inMachine('ls /etc/prom2otlp')).toContain('prom2otlp.yaml.rpmsave');
      await inMachine('test -s /var/lib/prom2otlp/queue.sqlite');
    },
  );
});

/** The machine reaches no network: dpkg does what apt-get does after its downloads. */
function offline(command: string): string {
  return command
    .replace('apt-get install ./', 'dpkg --install ')
    .replace('apt-get purge', 'dpkg --purge')
    .replace('apt-get remove', 'dpkg --remove');
}

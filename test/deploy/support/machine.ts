// A machine that runs its own systemd: a Debian root in separate namespaces (processes, mounts, host name, control
// groups, network), booted to basic.target. It writes only to a copy of the root, which stop() removes. It sees nothing
// of the host but the processor, and has no network but its own loopback interface.

import { globSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runFolder } from '../../real/support/folder.ts';
import { need, type Preparable, type Running } from '../../real/support/part.ts';
import { findProgram, run, runAny, startServer } from '../../real/support/process.ts';
import { type Finished, until } from '../../support/program.ts';
import { debianRoot } from './debian-root.ts';

export interface Machine extends Running {
  /** The path of the machine's root on the host, to write files before a command reads them. */
  readonly root: string;
  /** Runs a command in the machine as root, with only PATH in the environment. */
  run(command: string, ...args: readonly string[]): Promise<Finished>;
}

export const machinePart: Preparable = {
  name: 'a machine with systemd',
  prepare: () => {
    const missing = ['unshare', 'nsenter', 'systemd-analyze'].filter(name => !findProgram(name));
    return missing.length > 0
      ? Promise.resolve({ absent: `${missing.join(', ')} not installed` })
      : debianRoot('systemd', ['ca-certificates', 'systemd', 'systemd-sysv']);
  },
};

const CGROUP = '/sys/fs/cgroup/systemd';
const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const STOP_MS = 10_000;

/**
 * Runs as the first process of the namespaces, and becomes systemd. $1 is the root. Uses pivot_root, since a unit with
 * PrivateUsers does not start in a chroot.
 */
const BOOT = `set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
mount -t tmpfs -o mode=755 tmpfs "$1/sys/fs/cgroup"
mkdir "$1${CGROUP}"
mount -t cgroup -o none,name=systemd,xattr cgroup "$1${CGROUP}"
ip link set lo up
cd "$1"
pivot_root . mnt
umount --lazy /mnt
mount --make-rshared /
exec /usr/bin/env -i container=test ${PATH} \\
  /lib/systemd/systemd --log-target=console systemd.unit=basic.target
`;

export async function startMachine(): Promise<Machine> {
  const { path } = await need(machinePart);
  const folder = await runFolder('machine');
  const root = join(folder, 'root');
  await run('cp', ['-a', path, root]);
  await writeFile(join(folder, 'boot.sh'), BOOT);
  // The machine's control group, which looks like the whole tree in the machine's own namespace.
  const group = join(CGROUP, `prom2otlp-test-${process.pid}`);
  await mkdir(group, { recursive: true });
  const inMachine = (command: string, args: readonly string[]): Promise<Finished> => {
    const where = [
      '--target',
      initOf(group),
      '--all',
      '--root',
      '--wd',
      '/usr/bin/env',
      '-i',
      PATH,
    ];
    return runAny('nsenter', [...where, command, ...args]);
  };
  const namespaces = '--pid --mount --uts --ipc --net --cgroup';
  const unshare = `exec unshare --fork --kill-child=SIGKILL ${namespaces} bash boot.sh "$1"`;
  const server = await startServer({
    name: 'machine',
    command: 'bash',
    args: ['-c', `echo $$ > "$2/cgroup.procs"\n${unshare}`, 'machine', root, group],
    folder,
    isReady: async () => (await inMachine('systemctl', ['is-system-running'])).code === 0,
  });
  return {
    root,
    run: (command, ...args) => inMachine(command, args),
    stop: async () => {
      await server.stop('SIGKILL');
      await until('all processes have ended', () => processesOf(group).length === 0, STOP_MS);
      await run('find', [group, '-depth', '-type', 'd', '-delete']);
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** The processes in the group and below it, by the host's numbers. */
function processesOf(group: string): string[] {
  const groups = [group, ...globSync('**/', { cwd: group }).map(name => join(group, name))];
  return groups.flatMap(
    name => readFileSync(join(name, 'cgroup.procs'), 'utf8').match(/\d+/g) ?? [],
  );
}

/** The first process of the machine, which is number 1 in its own namespace. */
function initOf(group: string): string {
  const init = processesOf(group).find(pid =>
    /^NSpid:\t\d+\t1$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')),
  );
  if (init === undefined) throw new Error(`cannot find the first process in ${group}`);
  return init;
}

// A real MariaDB server that has worked for some seconds: a primary, a replica, or a cluster of one node. Server and
// client are the machine's own or, as root, installed from its Debian. The plugins and the cluster library are unpacked
// in the folder of the real parts. Sockets and temporary tables are in the system's temporary folder.

import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installDebian, OWN_SUITE, unpackDebian } from '../support/debian.ts';
import { runFolder } from '../support/folder.ts';
import { need, type Part, type Preparable, type Running } from '../support/part.ts';
import { freePort, run, runAny, startServer, type RunningServer } from '../support/process.ts';

type Settings = Readonly<Record<string, string | number>>;

export interface MariadbOptions {
  /** By default, a primary without a replica. */
  readonly role?: 'primary' | 'cluster' | { readonly replicaOf: MariadbRunning };
  /** Runs mariadb-load.sql; default true, but never on a replica. */
  readonly isLoaded?: boolean;
}

export interface MariadbRunning extends Running {
  readonly port: number;
  /** The path of its slow query log, which has each statement over 50 ms. */
  readonly slowLog: string;
  /** Runs statements as root, and continues after failures. Returns their output, tab-separated, without headings. */
  sql(text: string): Promise<string>;
  /** Ends the server, as an outage does, and keeps its data. */
  halt(signal?: NodeJS.Signals): Promise<void>;
  resume(): Promise<void>;
}

const replicaUser = { name: 'replica', password: 'replica-password' };
export const exporterUser = { name: 'exporter', password: 'exporter-password' };

const loadFile = join(import.meta.dirname, 'mariadb-load.sql');
const isRoot = process.getuid?.() === 0;

export const mariadb: Part<MariadbOptions, MariadbRunning> = {
  name: 'mariadb',
  // The core packages have only the programs: no service, no user, nothing that starts.
  prepare: () =>
    installDebian({
      programs: ['mariadbd', 'mariadb', 'mariadb-install-db'],
      packages: ['mariadb-server-core', 'mariadb-client-core'],
      versionArgs: ['--no-defaults', '--version'],
      version: /Ver ([\d.]+)/,
    }),
  start: startMariadb,
};

/** The plugins of the server package. Without them, the server runs without audit log and histogram. */
export const mariadbPlugins: Preparable = {
  name: 'mariadb plugins',
  prepare: () => unpackDebian('mariadb-server', [OWN_SUITE]),
};

/** The library that a server of the role `cluster` needs. */
export const mariadbCluster: Preparable = {
  name: 'mariadb cluster',
  prepare: () => unpackDebian('galera-4', [OWN_SUITE]),
};

let serversStarted = 0;

async function startMariadb(options: MariadbOptions): Promise<MariadbRunning> {
  const { path } = await need(mariadb);
  const role = options.role ?? 'primary';
  const folder = await runFolder('mariadb');
  // The path of a socket may have at most 107 bytes, and the path of a checkout may be longer.
  const socketFolder = await mkdtemp(join(tmpdir(), 'mariadb-'));
  const data = join(folder, 'data');
  await mkdir(data);
  const asRoot = isRoot ? { user: 'root' } : {};
  // A starting server deletes all temporary tables in its tmpdir: in a shared folder, also those of another server.
  const own = { datadir: data, tmpdir: socketFolder, ...asRoot };
  const install = { ...own, 'auth-root-authentication-method': 'normal' };
  await run('mariadb-install-db', ['--no-defaults', '--skip-test-db', ...flags(install)]);

  const port = await freePort();
  const settings = {
    ...own,
    port,
    'bind-address': '127.0.0.1',
    socket: join(socketFolder, 'socket'),
    'server-id': ++serversStarted,
    'log-error': join(folder, 'error.log'),
    'slow-query-log-file': join(folder, 'slow.log'),
    ...commonSettings,
    ...(await roleSettings(role)),
    ...(await pluginSettings(folder)),
  };
  const client = (text: string): Promise<string> => queryAsRoot(port, text);
  const launch = (): Promise<RunningServer> =>
    startServer({
      name: 'mariadb',
      command: path,
      args: ['--no-defaults', ...flags(settings)],
      folder,
      isReady: async () => (await client('select 1')).startsWith('1'),
    });
  let server = await launch();
  if (typeof role === 'object') await followPrimary(client, role.replicaOf);
  else if (options.isLoaded !== false) await client(await readFile(loadFile, 'utf8'));
  return {
    port,
    slowLog: settings['slow-query-log-file'],
    sql: client,
    halt: signal => server.stop(signal),
    resume: async () => {
      server = await launch();
    },
    stop: async () => {
      await server.stop();
      await rm(data, { recursive: true, force: true });
      await rm(socketFolder, { recursive: true, force: true });
    },
  };
}

const commonSettings: Settings = {
  'log-warnings': 2,
  'log-bin': 'binlog',
  'binlog-format': 'ROW',
  'log-slave-updates': 'ON',
  'innodb-buffer-pool-size': '64M',
  'innodb-monitor-enable': 'all',
  'performance-schema': 'ON',
  userstat: 'ON',
  'slow-query-log': 'ON',
  'long-query-time': 0.05,
  'log-slow-verbosity': 'query_plan,explain',
};

/** Settings for the audit log, and for the plugin of the only histogram that the exporter reads from a server. */
async function pluginSettings(folder: string): Promise<Record<string, string>> {
  const plugins = await mariadbPlugins.prepare();
  if ('absent' in plugins) return {};
  return {
    'plugin-dir': join(plugins.path, 'usr/lib/mysql/plugin'),
    'plugin-load-add': 'server_audit;query_response_time',
    'server-audit-logging': 'ON',
    'server-audit-events': 'CONNECT,QUERY,TABLE',
    'server-audit-output-type': 'file',
    'server-audit-file-path': join(folder, 'audit.log'),
    'query-response-time-stats': 'ON',
  };
}

async function roleSettings(role: MariadbOptions['role']): Promise<Settings> {
  if (typeof role === 'object') return { 'read-only': 'ON' };
  if (role !== 'cluster') return {};
  const { path } = await need(mariadbCluster);
  const [groupPort, transferPort] = [await freePort(), await freePort()];
  return {
    'wsrep-on': 'ON',
    'wsrep-provider': join(path, 'usr/lib/galera/libgalera_smm.so'),
    'wsrep-cluster-address': 'gcomm://',
    'wsrep-cluster-name': 'real',
    'wsrep-node-name': 'one',
    'wsrep-node-address': `127.0.0.1:${groupPort}`,
    'wsrep-provider-options': `gmcast.listen_addr=tcp://127.0.0.1:${groupPort};ist.recv_addr=127.0.0.1:${transferPort}`,
    'default-storage-engine': 'InnoDB',
    'innodb-autoinc-lock-mode': 2,
  };
}

/** Starts the replication, and resolves once the replica has everything that the primary had at the call. */
async function followPrimary(
  client: (text: string) => Promise<string>,
  primary: MariadbRunning,
): Promise<void> {
  const { name, password } = replicaUser;
  const position = (await primary.sql('select @@gtid_binlog_pos')).trim();
  await client(`
    change master to master_host = '127.0.0.1', master_port = ${primary.port},
      master_user = '${name}', master_password = '${password}', master_use_gtid = slave_pos;
    start slave;
    select master_gtid_wait('${position}', 30);`);
}

async function queryAsRoot(port: number, text: string): Promise<string> {
  const where = flags({ host: '127.0.0.1', port, user: 'root' });
  const how = ['--batch', '--skip-column-names', '--force', '--comments'];
  const { stdout } = await runAny('mariadb', ['--no-defaults', ...where, ...how], { input: text });
  return stdout;
}

function flags(settings: Settings): string[] {
  return Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
}

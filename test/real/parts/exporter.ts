// The stock mysqld_exporter in front of a MariaDB: Debian's newest, or the one of the machine's own release.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OWN_SUITE, unpackDebian } from '../support/debian.ts';
import { runFolder } from '../support/folder.ts';
import { need, type Part, type Prepared, type Running } from '../support/part.ts';
import { freePort, isUp, runAny, startServer } from '../support/process.ts';
import { exporterUser } from './mariadb.ts';

export interface ExporterOptions {
  readonly databasePort: number;
  /** Runs all collectors of the exporter instead of its defaults: four times as many series. */
  readonly hasAllCollectors?: boolean;
}

export interface ExporterRunning extends Running {
  /** The address of its metrics page. */
  readonly url: string;
}

export const exporter: Part<ExporterOptions, ExporterRunning> = {
  name: 'mysqld_exporter',
  prepare: prepareExporter,
  start: startExporter,
};

async function prepareExporter(): Promise<Prepared> {
  const unpacked = await unpackDebian('prometheus-mysqld-exporter', ['forky', OWN_SUITE]);
  if ('absent' in unpacked) return unpacked;
  return { ...unpacked, path: join(unpacked.path, 'usr/bin/prometheus-mysqld-exporter') };
}

async function startExporter(options: ExporterOptions): Promise<ExporterRunning> {
  const { path } = await need(exporter);
  const folder = await runFolder('exporter');
  const credentials = join(folder, 'my.cnf');
  const { name, password } = exporterUser;
  const lines = ['[client]', `user=${name}`, `password=${password}`, 'host=127.0.0.1'];
  await writeFile(credentials, [...lines, `port=${options.databasePort}`, ''].join('\n'));
  const port = await freePort();
  const server = await startServer({
    name: 'exporter',
    command: path,
    args: [
      `--config.my-cnf=${credentials}`,
      `--web.listen-address=127.0.0.1:${port}`,
      ...(options.hasAllCollectors === true ? await collectorFlags(path) : []),
    ],
    // Version 0.14 needs this variable, although the file has the same data.
    env: { DATA_SOURCE_NAME: `${name}:${password}@(127.0.0.1:${options.databasePort})/` },
    folder,
    isReady: () => isUp(`http://127.0.0.1:${port}/`),
  });
  return { url: `http://127.0.0.1:${port}/metrics`, stop: () => server.stop() };
}

/** Collectors for features of other database servers, which log an error at each scrape. */
const FOREIGN = /tokudb|rocksdb|replication_|replica_host|slave_hosts|sys\.user_summary/;

/** The flags that switch a collector on: those whose help line begins "Collect". */
async function collectorFlags(path: string): Promise<string[]> {
  const { stdout, stderr } = await runAny(path, ['--help']);
  const help = (stdout + stderr).replaceAll(/\n {20,}/g, ' ');
  const flags = [...help.matchAll(/^ +--(?:\[no-\])?(collect\.[\w.]+) +Collect /gm)];
  return flags.map(match => `--${match[1]}`).filter(flag => !FOREIGN.test(flag));
}

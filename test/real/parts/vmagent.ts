// A real vmagent from Debian, for the comparison in the bench. It scrapes with its own configuration and sends
// Prometheus remote write, not OTLP.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runFolder } from '../support/folder.ts';
import { need, type Part, type Running } from '../support/part.ts';
import { freePort, isUp, startServer } from '../support/process.ts';
import { prepareProgram } from './victoria-metrics.ts';

export interface VmagentOptions {
  /** A Prometheus scrape configuration as YAML. */
  readonly scrapeConfig: string;
  readonly remoteWriteUrl: string;
  readonly flags: readonly string[];
}

export interface VmagentRunning extends Running {
  readonly pid: number;
  readonly url: string;
}

export const vmagent: Part<VmagentOptions, VmagentRunning> = {
  name: 'vmagent',
  prepare: () => prepareProgram('vmagent'),
  start: startVmagent,
};

async function startVmagent(options: VmagentOptions): Promise<VmagentRunning> {
  const { path } = await need(vmagent);
  const folder = await runFolder('vmagent');
  await writeFile(join(folder, 'scrape.yaml'), options.scrapeConfig);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    name: 'vmagent',
    command: path,
    args: [
      `-httpListenAddr=127.0.0.1:${port}`,
      '-promscrape.config=scrape.yaml',
      `-remoteWrite.url=${options.remoteWriteUrl}`,
      '-remoteWrite.tmpDataPath=queue',
      ...options.flags,
    ],
    folder,
    isReady: () => isUp(`${url}/health`),
  });
  return { pid: server.pid, url, stop: () => server.stop() };
}

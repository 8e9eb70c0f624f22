// What a release needs besides Node.js: cosign, a registry of images and charts on loopback, and the linter of workflows.

import { join } from 'node:path';
import { checkoutFolder, runFolder } from '../../real/support/folder.ts';
import { goBuild } from '../../real/support/go-build.ts';
import { need, type Preparable, type Running } from '../../real/support/part.ts';
import { freePort, isUp, startServer } from '../../real/support/process.ts';

const built = (
  name: string,
  path: string,
  versionOf: string,
  sources: readonly string[] = [],
): Preparable => ({
  name,
  prepare: () => {
    const moduleFolder = join(checkoutFolder, 'test/deploy/go-release');
    return goBuild({ name, moduleFolder, package: path, versionOf, sources });
  },
});

export const cosign: Preparable = built('cosign', './cosign', 'github.com/sigstore/cosign/v2', [
  'cosign/main.go',
]);

export const actionlint: Preparable = built(
  'actionlint',
  'github.com/rhysd/actionlint/cmd/actionlint',
  'github.com/rhysd/actionlint',
);

export const imageRegistry: Preparable = built(
  'registry',
  'github.com/google/go-containerregistry/cmd/registry',
  'github.com/google/go-containerregistry',
);

export interface RegistryRunning extends Running {
  /** `127.0.0.1:PORT`: clients take plain HTTP for it. */
  readonly address: string;
}

/** Starts a registry that keeps images in memory. */
export async function startImageRegistry(): Promise<RegistryRunning> {
  const { path } = await need(imageRegistry);
  const port = await freePort();
  const server = await startServer({
    name: 'registry',
    command: path,
    args: ['-port', String(port)],
    folder: await runFolder('registry'),
    isReady: () => isUp(`http://127.0.0.1:${port}/v2/`),
  });
  return { address: `127.0.0.1:${port}`, stop: () => server.stop() };
}

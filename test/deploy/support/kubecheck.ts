// test/deploy/go/kubecheck: builds a kustomization and checks its objects against the API of Kubernetes, offline.

import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { checkoutFolder } from '../../real/support/folder.ts';
import { goBuild } from '../../real/support/go-build.ts';
import { need, type Preparable } from '../../real/support/part.ts';
import { runAny } from '../../real/support/process.ts';

export const kubecheck: Preparable = {
  name: 'kubecheck',
  prepare: () =>
    goBuild({
      name: 'kubecheck',
      moduleFolder: join(checkoutFolder, 'test/deploy/go'),
      package: './kubecheck',
      versionOf: 'k8s.io/client-go',
      sources: ['kubecheck/main.go'],
    }),
};

export interface CheckedObjects {
  /** One line for each thing that the API would refuse or ignore. */
  readonly problems: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: as deep as the API of Kubernetes
  // oxlint-disable-next-line typescript/no-explicit-any -- as deep as the API of Kubernetes
  readonly objects: readonly any[];
}

export async function checkKustomization(folder: string): Promise<CheckedObjects> {
  const { path } = await need(kubecheck);
  const { stdout, stderr } = await runAny(path, [folder]);
  const problems = stderr.split('\n').filter(line => line !== '');
  return { problems, objects: parseAllDocuments(stdout).map(document => document.toJS()) };
}

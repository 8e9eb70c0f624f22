// test/deploy/go/kubecheck: builds a kustomization, or renders a chart with Helm's own packages, and checks the objects
// against the API of Kubernetes, offline.

import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { checkoutFolder } from '../../real/support/folder.ts';
import { goBuild } from '../../real/support/go-build.ts';
import { need, type Preparable } from '../../real/support/part.ts';
import { run, runAny } from '../../real/support/process.ts';
import { tempDirectory } from '../../support/program.ts';

export const kubecheck: Preparable = {
  name: 'kubecheck',
  prepare: () =>
    goBuild({
      name: 'kubecheck',
      moduleFolder: join(checkoutFolder, 'test/deploy/go'),
      package: './kubecheck',
      versionOf: 'k8s.io/client-go',
      sources: ['kubecheck/chart.go', 'kubecheck/main.go'],
    }),
};

export interface CheckedObjects {
  /** One line for each thing that the API would refuse or ignore. */
  readonly problems: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: as deep as the API of Kubernetes
  // oxlint-disable-next-line typescript/no-explicit-any -- as deep as the API of Kubernetes
  readonly objects: readonly any[];
}

/** The first object of a kind. */
export const kindOf = (
  objects: CheckedObjects['objects'],
  kind: string,
): CheckedObjects['objects'][number] => objects.find(object => object.kind === kind);

/** Checks a folder with a kustomization, or a file of objects. */
export async function checkObjects(path: string): Promise<CheckedObjects> {
  const program = await need(kubecheck);
  const { stdout, stderr } = await runAny(program.path, [path]);
  const problems = stderr.split('\n').filter(line => line !== '');
  return { problems, objects: parseAllDocuments(stdout).map(document => document.toJS()) };
}

/** Runs a command of Helm (kubecheck/chart.go lists them). Throws the command's message if it fails. */
export async function helm(...args: readonly string[]): Promise<string> {
  return run((await need(kubecheck)).path, ['helm', ...args]);
}

/** Renders a chart with these values, and checks the objects. */
export async function checkChart(chart: string, values: object = {}): Promise<CheckedObjects> {
  using files = tempDirectory();
  const valuesFile = files.write('values.yaml', JSON.stringify(values));
  const command = ['template', 'metrics', chart, '--namespace', 'prom2otlp'];
  const text = await helm(...command, '--values', valuesFile);
  return await checkObjects(files.write('objects.yaml', text));
}

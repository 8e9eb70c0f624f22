// The objects of the kustomizations are valid for the API of Kubernetes, to the last field, and have the properties
// that docs/operate/install.md promises. Objects with mistakes show that the check finds them.

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load.ts';
import { reasonToSkip } from '../real/support/part.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type CheckedObjects, checkObjects, kindOf, kubecheck } from './support/kubecheck.ts';

const skip = await reasonToSkip([kubecheck]);
const source = join(import.meta.dirname, '../../deploy/kubernetes');

type Objects = CheckedObjects['objects'];

/** The daemon's container and its pod, wherever they are. */
function bridgeOf(objects: Objects): { pod: Objects[number]; container: Objects[number] } {
  const workload = kindOf(objects, 'StatefulSet') ?? kindOf(objects, 'Deployment');
  const pod = workload.spec.template.spec;
  const all: Objects = [...pod.containers, ...(pod.initContainers ?? [])];
  return { pod, container: all.find(({ name }) => name === 'prom2otlp') };
}

const folders = ['stand-alone', 'shards', 'sidecar'];

describe.skipIf(skip !== null).each(folders)('deploy/kubernetes/%s', folder => {
  const checked = skip === null ? checkObjects(join(source, folder)) : null;
  const objects = async (): Promise<Objects> => (await checked)?.objects ?? [];

  test('is valid for the API', async () => {
    expect((await checked)?.problems).toEqual([]);
    expect((await objects()).length).toBeGreaterThan(1);
  });

  test('runs locked down, bounded and watched', async () => {
    const { pod, container } = bridgeOf(await objects());
    expect(container.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const effective = { ...pod.securityContext, ...container.securityContext };
    expect(effective).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'status' });
    if (folder === 'sidecar') {
      // The containers of the workload wait for a startup probe, and its group holds for all volumes of the pod.
      expect(container).not.toHaveProperty('startupProbe');
      expect(container.livenessProbe.initialDelaySeconds).toBe(1800);
      expect(pod).not.toHaveProperty('securityContext');
    } else {
      const { httpGet, periodSeconds, failureThreshold } = container.startupProbe;
      expect(httpGet).toEqual({ path: '/healthz', port: 'status' });
      expect(periodSeconds * failureThreshold).toBe(1800);
      expect(pod.securityContext.fsGroup).toBe(1000);
    }
    expect(container.ports).toContainEqual({ name: 'status', containerPort: 9464 });
    expect(container.resources.requests).toHaveProperty('memory');
    expect(container.resources.limits).toHaveProperty('memory');
    const [, memory] = /^(\d+)Mi$/.exec(container.resources.limits.memory) ?? [];
    expect(Number(memory)).toBeLessThanOrEqual(256);
  });

  test('shows the reason of an exit in `kubectl describe pod`', async () => {
    const { container } = bridgeOf(await objects());
    const { terminationMessagePath: file } = container;
    expect(container.env).toContainEqual({ name: 'PROM2OTLP_TERMINATION_MESSAGE', value: file });
    expect(file).toBe('/dev/termination-log');
    // For an end without a message, such as a kill for lack of memory.
    expect(container.terminationMessagePolicy).toBe('FallbackToLogsOnError');
  });

  test('has every volume that it mounts, and the Secret in the folder that the configuration names', async () => {
    const all = await objects();
    const { pod, container } = bridgeOf(all);
    const claims: Objects = kindOf(all, 'StatefulSet')?.spec.volumeClaimTemplates ?? [];
    const volumes: Objects = [
      ...pod.volumes,
      ...claims.map(({ metadata }) => ({ name: metadata.name })),
    ];
    const mounts: Objects = container.volumeMounts;
    expect(volumes.map(({ name }) => name)).toEqual(
      expect.arrayContaining(mounts.map(({ name }) => name)),
    );
    const configMap = kindOf(all, 'ConfigMap');
    expect(volumes).toContainEqual(
      expect.objectContaining({ configMap: { name: configMap.metadata.name } }),
    );
    const secret = volumes.find(volume => volume.secret !== undefined);
    expect(secret.secret.secretName).toBe('prom2otlp');
    // When the Secret changes, a file in a mounted folder changes too; a file mounted by subPath does not.
    const mount = mounts.find(({ name }) => name === secret.name);
    expect(mount).not.toHaveProperty('subPath');
    const text: string = configMap.data['prom2otlp.yaml'];
    const files = [...text.matchAll(/\$\{file:([^}]+)\}/g)].map(([, file = '']) => file);
    expect(files).toEqual([`${mount.mountPath}/api-key`, `${mount.mountPath}/status-token`]);
  });

  test('has a valid configuration', async () => {
    const text: string = kindOf(await objects(), 'ConfigMap').data['prom2otlp.yaml'];
    const secrets = text.replaceAll(/\$\{file:[^}]+\}/g, 'a-secret-of-some-length');
    const environment = { SHARD: '2', SHARDS: '3' };
    const config = parseConfig(secrets, { file: 'prom2otlp.yaml', environment });
    expect(config.status.port).toBe(9464);
    expect(config.queue.directory).toBe('/var/lib/prom2otlp');
  });
});

describe.skipIf(skip !== null)('in particular', () => {
  test('only one pod sends a series: never two replicas of the same share', async () => {
    const alone = await checkObjects(join(source, 'stand-alone'));
    expect(kindOf(alone.objects, 'StatefulSet').spec.replicas).toBe(1);
    const sidecar = await checkObjects(join(source, 'sidecar'));
    expect(kindOf(sidecar.objects, 'Deployment').spec).toMatchObject({
      replicas: 1,
      strategy: { type: 'Recreate' },
    });
    expect(bridgeOf(sidecar.objects).container.restartPolicy).toBe('Always');
  });

  test('the number of shards is that of the configuration, and the ordinal is their index', async () => {
    const { objects } = await checkObjects(join(source, 'shards'));
    const { spec } = kindOf(objects, 'StatefulSet');
    const text: string = kindOf(objects, 'ConfigMap').data['prom2otlp.yaml'];
    // The pod has the number as a variable, so that another number restarts every pod.
    expect(text).toContain(`count: \${env:SHARDS}\n`);
    expect(bridgeOf(objects).container.env).toContainEqual({
      name: 'SHARDS',
      value: String(spec.replicas),
    });
    expect(spec.podManagementPolicy).toBe('Parallel');
    expect(bridgeOf(objects).container.env).toContainEqual({
      name: 'SHARD',
      valueFrom: {
        fieldRef: { fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']" },
      },
    });
  });

  test('the network policy admits the status address, and lets name resolution, HTTPS and OTLP out', async () => {
    const { objects } = await checkObjects(join(source, 'stand-alone'));
    const { spec } = kindOf(objects, 'NetworkPolicy');
    expect(spec.podSelector).toEqual({ matchLabels: { 'app.kubernetes.io/name': 'prom2otlp' } });
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(spec.ingress.flatMap((rule: Objects[number]) => rule.ports)).toEqual([
      { protocol: 'TCP', port: 'status' },
    ]);
    const out: Objects = spec.egress.flatMap((rule: Objects[number]) => rule.ports);
    expect(out.map(({ port }) => port)).toEqual([53, 53, 443, 4317, 4318]);
  });
});

interface Mistake {
  readonly what: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly says: RegExp;
}

const mistakes: readonly Mistake[] = [
  {
    what: 'a field that the API does not have',
    file: 'base/stateful-set.yaml',
    from: 'replicas:',
    to: 'replicaz:',
    says: /unknown field "spec.replicaz"/,
  },
  {
    what: 'a field of another kind of object',
    file: 'base/stateful-set.yaml',
    from: 'readOnlyRootFilesystem: true',
    to: 'fsGroup: 1000',
    says: /unknown field .*securityContext.fsGroup"/,
  },
  {
    what: 'a value of the wrong type',
    file: 'base/stateful-set.yaml',
    from: 'containerPort: 9464',
    to: 'containerPort: status',
    says: /cannot unmarshal string .*containerPort/,
  },
  {
    what: 'a missing field',
    file: 'base/stateful-set.yaml',
    from: 'name: status, containerPort: 9464',
    to: 'name: status',
    says: /missing field "\.spec\.template\.spec\.containers\[0\]\.ports\[0\]\.containerPort"/,
  },
  {
    what: 'a file that is not there',
    file: 'base/kustomization.yaml',
    from: 'service.yaml',
    to: 'servise.yaml',
    says: /servise\.yaml/,
  },
];

describe.skipIf(skip !== null)('the check finds', () => {
  test.each(mistakes)('$what', async ({ file, from, to, says }) => {
    const copy = temporaryDirectory();
    cpSync(source, copy, { recursive: true });
    const path = join(copy, file);
    const text = readFileSync(path, 'utf8');
    expect(text).toContain(from);
    writeFileSync(path, text.replace(from, to));
    const { problems } = await checkObjects(join(copy, 'stand-alone'));
    expect(problems.join('\n')).toMatch(says);
  });
});

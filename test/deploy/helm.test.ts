// The objects that the chart renders are valid for the API of Kubernetes, in each variant that
// docs/operate/install.md names, and have the properties of the kustomizations.

import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import { checkoutFolder, runFolder } from '../real/support/folder.ts';
import { reasonToSkip } from '../real/support/part.ts';
import { run } from '../real/support/process.ts';
import { lackOfHistory, unpackEarlier } from './support/earlier-version.ts';
import { cloneInto, version, yamlWith } from './support/install-document.ts';
import {
  checkChart as renderChart,
  type CheckedObjects,
  checkObjects,
  helm,
  kindOf,
  kubecheck,
} from './support/kubecheck.ts';

const skip = await reasonToSkip([kubecheck]);
const chart = join(checkoutFolder, 'deploy/helm');

type Objects = CheckedObjects['objects'];

const kindsOf = (objects: Objects): string[] => objects.map(({ kind }) => String(kind)).sort();

/** The values of docs/operate/install.md: the chart has no default for these. */
const own = parse(yamlWith('repository: registry.example.com')) as { config: object };
const checkChart = (
  path: string,
  { config = {}, ...values }: Values = {},
): Promise<CheckedObjects> =>
  renderChart(path, { ...values, config: { ...own.config, ...config } });

type Values = Record<string, unknown> & { readonly config?: object };

const EVERYTHING = {
  shards: 3,
  existingSecret: 'my-secret',
  image: { repository: 'registry.example.com/prom2otlp', digest: `sha256:${'a'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  serviceMonitor: {
    enabled: true,
    timeout: '20s',
    labels: { release: 'prometheus' },
    relabelings: [{ targetLabel: 'cluster', replacement: 'one' }],
  },
  prometheusRule: {
    enabled: true,
    labels: { release: 'prometheus' },
    runbooks: 'https://wiki.example.com/runbooks',
  },
  dashboards: {
    enabled: true,
    annotations: { grafana_folder: 'Databases' },
    files: ['prom2otlp', 'services-with-suffixes'],
  },
  persistence: { size: '10Gi', storageClass: 'fast', annotations: { note: 'text' } },
  extraEnv: [{ name: 'REGION', value: 'north' }],
  extraEnvFrom: [{ secretRef: { name: 'more' } }],
  extraVolumes: [{ name: 'ca', configMap: { name: 'company-ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca', readOnly: true }],
  extraObjects: [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one' } },
    'apiVersion: v1\nkind: Secret\nmetadata: {name: "{{ .Release.Name }}-two"}\n',
  ],
  service: { annotations: { 'example.com/scrape': 'true' } },
  serviceAccount: { name: 'reader', annotations: { 'example.com/role': 'reader' } },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { team: 'data' } },
    },
  ],
  podLabels: { team: 'data' },
  podAnnotations: { note: 'text' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'data', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  priorityClassName: 'high',
};

function configIn(objects: Objects): ReturnType<typeof parseConfig> {
  const text: string = kindOf(objects, 'ConfigMap').data['prom2otlp.yaml'];
  const secrets = text.replaceAll(/\$\{file:[^}]+\}/g, 'a-secret-of-some-length');
  const pod = kindOf(objects, 'StatefulSet')?.spec.template.spec;
  const env: Objects = pod?.containers[0].env ?? [];
  const SHARDS = env.find(({ name }) => name === 'SHARDS')?.value as string | undefined;
  return parseConfig(secrets, { file: 'prom2otlp.yaml', environment: { SHARD: '2', SHARDS } });
}

const withoutEarlier = skip ?? (await lackOfHistory());

describe.skipIf(skip !== null)('deploy/helm', () => {
  test('passes the linter', async () => {
    expect(await helm('lint', chart)).toContain('0 chart(s) failed');
  });

  test('makes what the kustomization stand-alone makes, and a PodDisruptionBudget', async () => {
    const { problems, objects } = await checkChart(chart);
    expect(problems).toEqual([]);
    const kustomized = await checkObjects(join(checkoutFolder, 'deploy/kubernetes/stand-alone'));
    expect(kindsOf(objects)).toEqual(
      [...kindsOf(kustomized.objects), 'PodDisruptionBudget'].sort(),
    );
    const { spec } = kindOf(objects, 'StatefulSet');
    const { spec: other } = kindOf(kustomized.objects, 'StatefulSet');
    const [container] = spec.template.spec.containers;
    const [otherContainer] = other.template.spec.containers;
    // The names of volumes may differ, and so may the level (pod or container) of the rules about users.
    // Without `Parallel`, a pod that never gets ready keeps the StatefulSet from rolling out a correction.
    expect([spec.podManagementPolicy, other.podManagementPolicy]).toEqual(['Parallel', 'Parallel']);
    const same = ['ports', 'env', 'resources', 'startupProbe', 'livenessProbe', 'readinessProbe'];
    for (const key of same) expect(container[key]).toEqual(otherContainer[key]);
    expect({ ...spec.template.spec.securityContext, ...container.securityContext }).toEqual({
      ...other.template.spec.securityContext,
      ...otherContainer.securityContext,
    });
    expect(spec.replicas).toBe(1);
    const { spec: policy } = kindOf(objects, 'NetworkPolicy');
    const { spec: otherPolicy } = kindOf(kustomized.objects, 'NetworkPolicy');
    expect(policy.ingress).toEqual(otherPolicy.ingress);
    expect(policy.egress.flatMap((rule: Objects[number]) => rule.ports)).toEqual(
      otherPolicy.egress.flatMap((rule: Objects[number]) => rule.ports),
    );
  });

  test('mounts folders and keeps names: the daemon loads a change, and no pod restarts', async () => {
    const one = await checkChart(chart);
    const two = await checkChart(chart, { config: { metrics: { interval: '30s' } } });
    const [before, after] = [one, two].map(({ objects }) => kindOf(objects, 'StatefulSet'));
    expect(after).toEqual(before);
    expect(configIn(two.objects).metrics.intervalMs).toBe(30_000);
    const { volumeMounts } = before.spec.template.spec.containers[0];
    expect(volumeMounts).toHaveLength(4);
    for (const mount of volumeMounts) expect(mount).not.toHaveProperty('subPath');
  });

  test('another number of shards restarts every pod: each divides by it', async () => {
    const templates = [3, 4].map(async shards => {
      const { objects } = await checkChart(chart, { shards });
      expect(configIn(objects).shard.count).toBe(shards);
      return kindOf(objects, 'StatefulSet').spec.template;
    });
    const [three, four] = await Promise.all(templates);
    expect(three).not.toEqual(four);
  });

  test('has a valid configuration, in which the values win', async () => {
    const { objects } = await checkChart(chart, {
      config: {
        api: { base_url: 'https://a.example', timeout: '5s' },
        status: { listen: '0.0.0.0:9999' },
      },
    });
    const config = configIn(objects);
    expect(config.status.port).toBe(9999);
    const { spec } = kindOf(objects, 'StatefulSet');
    expect(spec.template.spec.containers[0].ports).toEqual([
      { name: 'status', containerPort: 9999 },
    ]);
    expect(config.services.map(({ name }) => name)).toEqual(['orders']);
  });

  test('with everything: shards, an own Secret, the Prometheus operator, dashboards', async () => {
    const { problems, objects } = await checkChart(chart, EVERYTHING);
    expect(problems).toEqual([]);
    const { spec } = kindOf(objects, 'StatefulSet');
    const pod = spec.template.spec;
    expect(spec.replicas).toBe(3);
    expect(configIn(objects).shard).toMatchObject({ index: 2, count: 3 });
    expect(pod.containers[0].env).toContainEqual({
      name: 'SHARD',
      valueFrom: { fieldRef: { fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']" } },
    });
    expect(pod.containers[0].image).toMatch(/^registry\.example\.com\/prom2otlp@sha256:a{64}$/);
    expect(pod.volumes).toContainEqual({
      name: 'prom2otlp-secrets',
      secret: { secretName: 'my-secret', defaultMode: 0o444 },
    });
    const [endpoint] = kindOf(objects, 'ServiceMonitor').spec.endpoints;
    expect(endpoint.authorization.credentials).toEqual({ name: 'my-secret', key: 'status-token' });
    expect(endpoint).toMatchObject({
      honorLabels: true,
      relabelings: [
        {
          sourceLabels: ['__meta_kubernetes_namespace', '__meta_kubernetes_pod_name'],
          separator: '/',
          targetLabel: 'instance',
        },
        { targetLabel: 'cluster', replacement: 'one' },
      ],
      scrapeTimeout: '20s',
    });
    const service = kindOf(objects, 'Service').metadata.labels;
    expect(service).toMatchObject(kindOf(objects, 'ServiceMonitor').spec.selector.matchLabels);
    const { groups } = kindOf(objects, 'PrometheusRule').spec;
    expect(groups[0].rules[0].annotations.runbook_url).toMatch(
      /^https:\/\/wiki\.example\.com\/runbooks#\w+$/,
    );
    const dashboards = objects.filter(({ metadata }) => metadata.labels?.grafana_dashboard === '1');
    expect(dashboards.flatMap(({ data }) => Object.keys(data)).sort()).toEqual([
      'prom2otlp.json',
      'services-with-suffixes.json',
    ]);
    for (const { metadata } of dashboards)
      expect(metadata.annotations).toEqual({ grafana_folder: 'Databases' });
    for (const { data } of dashboards)
      for (const text of Object.values(data))
        expect(JSON.parse(String(text))).toHaveProperty('panels');
  });

  test('adds what the values add to the pod and the release', async () => {
    const { objects } = await checkChart(chart, EVERYTHING);
    const { spec } = kindOf(objects, 'StatefulSet');
    const pod = spec.template.spec;
    const [container] = pod.containers;
    expect(container.env).toContainEqual({ name: 'REGION', value: 'north' });
    expect(container.envFrom).toEqual(EVERYTHING.extraEnvFrom);
    expect(container.volumeMounts).toContainEqual(EVERYTHING.extraVolumeMounts[0]);
    expect(pod.volumes).toContainEqual(EVERYTHING.extraVolumes[0]);
    expect(pod.topologySpreadConstraints).toEqual(EVERYTHING.topologySpreadConstraints);
    expect(pod.serviceAccountName).toBe('reader');
    expect(kindOf(objects, 'ServiceAccount').metadata).toMatchObject(EVERYTHING.serviceAccount);
    expect(kindOf(objects, 'Service').metadata).toMatchObject(EVERYTHING.service);
    expect(spec.volumeClaimTemplates[0].metadata.annotations).toEqual({ note: 'text' });
    const secrets = objects.filter(({ kind }) => kind === 'Secret');
    expect(secrets.map(({ metadata }) => metadata.name)).toEqual(['one', 'metrics-two']);
  });

  test('without a volume of its own: an emptyDir, or a claim that exists', async () => {
    const none = await checkChart(chart, { persistence: { enabled: false } });
    const claimed = await checkChart(chart, { persistence: { existingClaim: 'old-queue' } });
    const queues = [none, claimed].map(({ objects, problems }) => {
      expect(problems).toEqual([]);
      const { spec } = kindOf(objects, 'StatefulSet');
      expect(spec).not.toHaveProperty('volumeClaimTemplates');
      const volumes: Objects = spec.template.spec.volumes;
      return volumes.find(({ name }) => name === 'prom2otlp-queue');
    });
    expect(queues).toEqual([
      { name: 'prom2otlp-queue', emptyDir: { sizeLimit: '3Gi' } },
      { name: 'prom2otlp-queue', persistentVolumeClaim: { claimName: 'old-queue' } },
    ]);
    const two = checkChart(chart, { shards: 2, persistence: { existingClaim: 'old-queue' } });
    await expect(two).rejects.toThrow(/existingClaim is for one shard/);
  });

  test('has no ids where the platform assigns them, and an account that exists', async () => {
    const { problems, objects } = await checkChart(chart, {
      podSecurityContext: { fsGroup: null },
      securityContext: { runAsUser: null, runAsGroup: null },
      serviceAccount: { create: false },
    });
    expect(problems).toEqual([]);
    const pod = kindOf(objects, 'StatefulSet').spec.template.spec;
    expect(JSON.stringify(pod)).not.toMatch(/fsGroup"|runAsUser|runAsGroup/);
    expect(pod.containers[0].securityContext).toMatchObject({ runAsNonRoot: true });
    expect(pod.serviceAccountName).toBe('default');
    expect(objects.map(({ kind }) => kind)).not.toContain('ServiceAccount');
  });

  // The same metrics under two instances would double every sum on a dashboard.
  test.each([
    ['no ServiceMonitor', {}, true],
    ['a ServiceMonitor', { serviceMonitor: { enabled: true } }, false],
    [
      'a ServiceMonitor, but no pods of its own',
      { serviceMonitor: { enabled: true }, workload: { enabled: false } },
      true,
    ],
    [
      'both, if the values say so',
      { serviceMonitor: { enabled: true }, config: { telemetry: { enabled: true } } },
      true,
    ],
  ])('with %s', async (_what, values, isSent) => {
    const { objects } = await checkChart(chart, values);
    expect(configIn(objects).telemetry.isEnabled).toBe(isSent);
  });

  test.each([
    ['an own name', { fullnameOverride: `${'n'.repeat(51)}-${'n'.repeat(20)}` }],
    ['a name after the release', { nameOverride: 'n'.repeat(70) }],
    [
      'dashboards that nothing finds',
      { dashboards: { enabled: true, labels: { grafana_dashboard: null } } },
    ],
  ])('is valid with %s', async (_what, values) => {
    const { problems, objects } = await checkChart(chart, values);
    expect(problems).toEqual([]);
    // A pod gets this name plus eleven characters as a label, and a label has at most 63.
    expect(kindOf(objects, 'StatefulSet').metadata.name).toMatch(/^[a-z0-9-]{1,51}[a-z0-9]$/);
  });

  test('the network policy lets out to the port of every address in the configuration', async () => {
    const proxied = { id: 'dbpgf23456789', api: { proxy: 'http://user:pass@[fd00::1]:3128' } };
    const { objects } = await checkChart(chart, {
      config: {
        services: [proxied],
        otlp: {
          endpoint: 'http://store:8428/opentelemetry',
          logs_endpoint: 'https://logs/v1/logs',
        },
      },
      networkPolicy: { egressPorts: [443, 8428] },
    });
    const out: Objects = kindOf(objects, 'NetworkPolicy').spec.egress[0].ports;
    expect(out.map(({ port }) => port)).toEqual([53, 53, 443, 8428, 3128]);
    const alone = { id: 'dbpgf23456789', api: { proxy: 'http://user:pass@[fd00::1]' } };
    const cases = [
      { config: { otlp: { endpoint: 'http://gateway' } }, want: [80] },
      { config: { services: [alone] }, want: [4318, 80] },
    ];
    for (const { config, want } of cases) {
      const plain = await checkChart(chart, { config, networkPolicy: { egressPorts: [443] } });
      const [{ ports }] = kindOf(plain.objects, 'NetworkPolicy').spec.egress;
      expect((ports as Objects).map(({ port }) => port)).toEqual([53, 53, 443, ...want]);
    }
  });

  test('is the same in the package of npm', async () => {
    const folder = await runFolder('helm-npm');
    const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
    const name = (await run('npm', pack, { folder: checkoutFolder })).trim();
    await run('tar', ['--extract', '--file', join(folder, name), '--directory', folder]);
    const packed = await checkChart(join(folder, 'package/deploy/helm'), EVERYTHING);
    expect(packed).toEqual(await checkChart(chart, EVERYTHING));
    await rm(folder, { recursive: true, force: true });
  });

  test('is complete when Helm packages it', async () => {
    const folder = await runFolder('helm-package');
    const saved = await helm('package', chart, '--destination', folder);
    expect(saved).toBe(
      `Successfully packaged chart and saved it to: ${folder}/prom2otlp-${version}.tgz\n`,
    );
    const packaged = await checkChart(join(folder, `prom2otlp-${version}.tgz`), EVERYTHING);
    expect(packaged).toEqual(await checkChart(chart, EVERYTHING));
    await rm(folder, { recursive: true, force: true });
  });

  test('is complete in the archive of a release', async () => {
    const folder = await runFolder('helm-release');
    await cloneInto(folder);
    await run('sh', ['deploy/packages/build.sh', 'chart'], { folder });
    const archive = join(folder, `prom2otlp-chart-${version}.tgz`);
    expect(await checkChart(archive, EVERYTHING)).toEqual(await checkChart(chart, EVERYTHING));
    await rm(folder, { recursive: true, force: true });
  });

  test('is a sidecar in the chart of a workload, as docs/operate/install.md shows', async () => {
    const shop = await runFolder('helm-shop');
    cpSync(join(import.meta.dirname, 'fixtures/shop'), shop, { recursive: true });
    mkdirSync(join(shop, 'charts'));
    mkdirSync(join(shop, 'templates'), { recursive: true });
    cpSync(chart, join(shop, 'charts/prom2otlp'), { recursive: true });
    await writeFile(join(shop, 'templates/shop.yaml'), yamlWith('initContainers:'));
    await writeFile(join(shop, 'values.yaml'), yamlWith('workload: {enabled: false}'));
    const { problems, objects } = await renderChart(shop);
    expect(problems).toEqual([]);
    expect(kindsOf(objects)).toEqual(['ConfigMap', 'Deployment']);
    const { spec } = kindOf(objects, 'Deployment');
    expect(spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
    const [container] = spec.template.spec.initContainers;
    expect(container).toMatchObject({ name: 'prom2otlp', restartPolicy: 'Always' });
    // The containers of the workload wait for it.
    expect(container).not.toHaveProperty('startupProbe');
    expect(container.livenessProbe.initialDelaySeconds).toBe(1800);
    // A limit of ephemeral storage would hold for the whole pod: the kubelet would evict it although the queue is far
    // below the limit of its volume.
    expect(container.resources).toEqual({
      requests: { cpu: '20m', memory: '128Mi', 'ephemeral-storage': '64Mi' },
      limits: { memory: '256Mi' },
    });
    const volumes: Objects = spec.template.spec.volumes;
    const mounts: Objects = container.volumeMounts;
    expect(new Set(volumes.map(({ name }) => name))).toEqual(
      new Set(mounts.map(({ name }) => name)),
    );
    await rm(shop, { recursive: true, force: true });
  });

  test.each([
    ['a value that the chart does not have', { replicas: 3 }, /replicas/],
    [
      'a key that the configuration does not have',
      { config: { otlp: { endpont: 'x' } } },
      /endpont/,
    ],
    ['a wrong type', { shards: 'three' }, /shards/],
    ['a dashboard that there is not', { dashboards: { files: ['none'] } }, /dashboards/],
    ['a tag in the place of a digest', { image: { digest: '1.0' } }, /digest/],
  ])('refuses %s', async (_what, values, says) => {
    await expect(checkChart(chart, values)).rejects.toThrow(says);
  });

  test.each([
    ['api', {}, 'set config.api.base_url to the address of the service'],
    ['services', [], 'set config.services to a list of your database services, or to auto'],
    ['otlp', { protocol: 'grpc' }, 'set config.otlp.endpoint to the address of your back end'],
  ])('has no default for an address that gets the key: %s', async (name, value, says) => {
    const { [name]: _, ...rest } = own.config as Record<string, object>;
    await expect(renderChart(chart, { config: rest })).rejects.toThrow(says);
    await expect(checkChart(chart, { config: { [name]: value } })).rejects.toThrow(says);
  });

  test.skipIf(withoutEarlier !== null)(
    'upgrades that of an earlier version: it changes no field that the API lets nobody change',
    async () => {
      const folder = await runFolder('earlier-chart');
      await unpackEarlier(folder, 'deploy/helm');
      const [older, newer] = [
        await checkChart(join(folder, 'deploy/helm')),
        await checkChart(chart),
      ];
      expect(older.objects).not.toEqual(newer.objects);
      expect(fixedFields(newer.objects)).toEqual(fixedFields(older.objects));
    },
  );

  test('has the version of the program', () => {
    const text = readFileSync(join(chart, 'Chart.yaml'), 'utf8');
    expect(text).toContain(`\nversion: ${version}\n`);
    expect(text).toContain(`\nappVersion: ${version}\n`);
  });
});

/** What an API server lets change in the spec of a StatefulSet: its refusal of another change lists these. */
const CHANGEABLE = new Set([
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]);

/** The kinds and names of all objects, and the other fields of the StatefulSet: an upgrade that changes them is refused. */
function fixedFields(objects: Objects): object {
  const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
  const spec = Object.entries(kindOf(objects, 'StatefulSet').spec as object);
  return { names, spec: Object.fromEntries(spec.filter(([key]) => !CHANGEABLE.has(key))) };
}

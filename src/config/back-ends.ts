// What back ends demand, as data: one profile for each value of `otlp.backend`. A profile has the values of keys that the
// back end needs, each with its reason, and what a person must set. Where the vendor publishes nothing, nothing is here.
// profile.ts applies it; docs/back-ends has a page for each.

export interface ProfileValue {
  /** The path of the key, such as `otlp.max_points`. */
  readonly key: string;
  /** As the YAML would have it. */
  readonly value: string | number;
  /** Completes `KEY is VALUE: …`. */
  readonly reason: string;
}

export interface ProfileNeed {
  /** What is missing: `the token`. */
  readonly what: string;
  /** Any of these keys is enough; names of headers do not depend on case. */
  readonly anyOf: readonly string[];
  /** What to write. */
  readonly hint: string;
  /** The signal that needs it; both, if there is none. */
  readonly signal?: 'metrics' | 'logs';
}

export interface Profile {
  /** The name of the back end in sentences. */
  readonly title: string;
  readonly values: readonly ProfileValue[];
  /** The form of the address where each account or installation has its own; without it, `values` or the default has one. */
  readonly endpoint?: { readonly keys: readonly string[]; readonly form: string };
  readonly needs: readonly ProfileNeed[];
  /** What to write below `otlp`, besides `backend`, in lines of YAML: `init` writes it, and the page shows it. */
  readonly example: readonly string[];
  /** What takes no logs at this address. */
  readonly takesNoLogs?: true;
  /** Under which condition it takes points that are older than its newest ones; absent: it refuses them, or nobody says. */
  readonly takesOlder?: string;
  /** Sentences that `check` repeats: what no key can mend. */
  readonly notes?: readonly string[];
}

const GZIP: ProfileValue = {
  key: 'otlp.compression',
  value: 'gzip',
  reason: 'it takes no zstd',
};
const PROTOBUF: ProfileValue = {
  key: 'otlp.protocol',
  value: 'http/protobuf',
  reason: 'it takes nothing else',
};

function temporality(value: 'cumulative' | 'delta', reason: string): ProfileValue {
  return { key: 'otlp.temporality', value, reason };
}

function own(form: string): NonNullable<Profile['endpoint']> {
  return { keys: ['otlp.endpoint'], form };
}

/** A header that holds a token. */
function header(name: string, text = '${file:token}'): ProfileNeed {
  return {
    what: `the header ${name}`,
    anyOf: [`otlp.headers.${name}`],
    hint: `write \`headers: {${name}: "${text}"}\``,
  };
}

function headerFor(signal: 'metrics' | 'logs', name: string, example: string): ProfileNeed {
  return {
    what: `the header ${name} for ${signal}`,
    anyOf: [`otlp.${signal}.headers.${name}`],
    hint: `write \`${signal}: {headers: {${name}: ${example}}}\``,
    signal,
  };
}

export const BACK_ENDS = {
  collector: {
    title: 'an OpenTelemetry Collector',
    values: [],
    example: ['endpoint: http://localhost:4318'],
    needs: [],
    notes: ['it answers before its exporters have delivered: give them a queue on disk'],
  },
  prometheus: {
    title: 'Prometheus',
    takesOlder: 'out_of_order_time_window reaches back that far',
    values: [
      {
        key: 'otlp.endpoint',
        value: 'http://localhost:9090/api/v1/otlp',
        reason: 'its receiver for OTLP is there',
      },
      { ...GZIP, reason: 'it answers 400 to zstd' },
      temporality('cumulative', 'it refuses delta unless a feature flag is set'),
    ],
    example: ['endpoint: http://localhost:9090/api/v1/otlp'],
    needs: [],
    takesNoLogs: true,
    notes: [
      'it refuses samples older than its newest ones: set out_of_order_time_window to the longest outage whose data you want',
    ],
  },
  'victoria-metrics': {
    title: 'VictoriaMetrics',
    takesOlder: '-retentionPeriod reaches back that far',
    values: [
      {
        key: 'otlp.endpoint',
        value: 'http://localhost:8428/opentelemetry',
        reason: 'its receiver for OTLP is there',
      },
      temporality('cumulative', 'it drops delta points'),
    ],
    example: ['endpoint: http://localhost:8428/opentelemetry'],
    needs: [],
    takesNoLogs: true,
    notes: [
      'the dashboards need `job` and `instance`: give it -relabelConfig with deploy/victoria-metrics/relabel.yaml',
    ],
  },
  'grafana-cloud': {
    title: 'Grafana Cloud',
    values: [GZIP, temporality('cumulative', 'its store is that of Prometheus')],
    endpoint: own('https://otlp-gateway-ZONE.grafana.net/otlp'),
    example: [
      'endpoint: https://otlp-gateway-prod-eu-west-0.grafana.net/otlp',
      'auth:',
      '  basic:',
      '    user: "123456"   # the instance id',
      '    password: ${file:token}',
    ],
    needs: [
      {
        what: 'the instance id and the token',
        anyOf: ['otlp.auth.basic', 'otlp.headers.authorization'],
        hint: 'write `auth: {basic: {user: "INSTANCE ID", password: "${file:token}"}}`',
      },
    ],
  },
  datadog: {
    title: 'Datadog',
    values: [
      { ...PROTOBUF, reason: 'it takes logs in no other form' },
      temporality('delta', 'it takes only delta'),
      {
        key: 'otlp.max_request',
        value: '500kB',
        reason: 'it takes 500 KB compressed; so many before compression never exceed that',
      },
    ],
    endpoint: { keys: ['otlp.metrics_endpoint'], form: 'https://otlp.SITE/v1/metrics' },
    example: [
      'metrics_endpoint: https://otlp.datadoghq.com/v1/metrics',
      'logs_endpoint: https://http-intake.logs.datadoghq.com/v1/logs',
      'headers:',
      '  dd-api-key: ${file:token}',
      '  dd-otel-metric-config: \'{"resource_attributes_as_tags": true}\'',
    ],
    needs: [header('dd-api-key')],
    notes: [
      'attributes of a Resource become tags only with the header dd-otel-metric-config: \'{"resource_attributes_as_tags": true}\'',
    ],
  },
  dynatrace: {
    title: 'Dynatrace',
    values: [
      PROTOBUF,
      temporality('delta', 'it refuses monotonic cumulative sums'),
      {
        key: 'otlp.max_points',
        value: 15_000,
        reason: 'it drops a larger request whole',
      },
      { key: 'otlp.max_request', value: '4MB', reason: 'it takes 4 MB before compression' },
      {
        key: 'otlp.max_attribute_length',
        value: 255,
        reason: 'it cuts longer values itself, uncounted',
      },
      { key: 'metrics.summaries', value: 'quantiles', reason: 'it takes no summaries' },
    ],
    endpoint: own('https://ENVIRONMENT.live.dynatrace.com/api/v2/otlp'),
    example: [
      'endpoint: https://abc12345.live.dynatrace.com/api/v2/otlp',
      'headers:',
      '  Authorization: Api-Token ${file:token}',
    ],
    needs: [header('Authorization', 'Api-Token ${file:token}')],
    notes: ['it takes at most 50 dimensions of a metric'],
  },
  'new-relic': {
    title: 'New Relic',
    values: [
      {
        key: 'otlp.endpoint',
        value: 'https://otlp.nr-data.net',
        reason: 'the address of its region US; each other region has its own',
      },
      temporality('delta', 'it recommends delta'),
      { key: 'otlp.max_request', value: '1MB', reason: 'it takes 1,000,000 bytes' },
      {
        key: 'otlp.max_attribute_length',
        value: 4095,
        reason: 'a longer value costs its record, after the answer',
      },
    ],
    example: [
      'endpoint: https://otlp.nr-data.net   # https://otlp.eu01.nr-data.net for the region EU',
      'headers:',
      '  api-key: ${file:token}',
    ],
    needs: [header('api-key')],
  },
  honeycomb: {
    title: 'Honeycomb',
    values: [
      {
        key: 'otlp.endpoint',
        value: 'https://api.honeycomb.io',
        reason: 'the address of its region US; each other region has its own',
      },
    ],
    example: [
      'endpoint: https://api.honeycomb.io   # https://api.eu1.honeycomb.io for the region EU',
      'headers:',
      '  x-honeycomb-team: ${file:token}',
      'metrics:',
      '  headers:',
      '    x-honeycomb-dataset: databases',
    ],
    needs: [header('x-honeycomb-team'), headerFor('metrics', 'x-honeycomb-dataset', 'databases')],
  },
  elastic: {
    title: 'Elastic',
    values: [temporality('delta', 'it drops cumulative histograms')],
    endpoint: own('https://NAME.ingest.REGION.elastic.cloud'),
    example: [
      'endpoint: https://my-project.ingest.eu-west-1.aws.elastic.cloud',
      'headers:',
      '  Authorization: ApiKey ${file:token}',
    ],
    needs: [header('Authorization', 'ApiKey ${file:token}')],
  },
  google: {
    title: "Google's Telemetry API",
    values: [
      {
        key: 'otlp.endpoint',
        value: 'https://telemetry.googleapis.com',
        reason: 'all projects have this address',
      },
      temporality('cumulative', 'it takes only cumulative'),
      { key: 'otlp.max_points', value: 200, reason: 'it refuses a larger request' },
    ],
    example: [
      'endpoint: https://telemetry.googleapis.com',
      'auth:',
      '  google:',
      '    credentials_file: service-account.json',
    ],
    needs: [
      {
        what: 'the key of a service account',
        anyOf: ['otlp.auth.google', 'otlp.headers.authorization'],
        hint: 'write `auth: {google: {credentials_file: service-account.json}}`',
      },
    ],
  },
  cloudwatch: {
    title: 'AWS CloudWatch',
    values: [
      GZIP,
      { key: 'otlp.max_points', value: 1000, reason: 'it refuses a larger request' },
      { key: 'otlp.max_request', value: '1MB', reason: 'it takes 1 MB before compression' },
    ],
    endpoint: {
      keys: ['otlp.metrics_endpoint'],
      form: 'https://monitoring.REGION.amazonaws.com/v1/metrics',
    },
    example: [
      'metrics_endpoint: https://monitoring.eu-west-1.amazonaws.com/v1/metrics',
      'logs_endpoint: https://logs.eu-west-1.amazonaws.com/v1/logs',
      'headers:',
      '  Authorization: Bearer ${file:token}',
      'logs:',
      '  headers:',
      '    x-aws-log-group: databases',
      '    x-aws-log-stream: prom2otlp',
    ],
    needs: [
      header('Authorization', 'Bearer ${file:token}'),
      headerFor('logs', 'x-aws-log-group', 'databases'),
      headerFor('logs', 'x-aws-log-stream', 'prom2otlp'),
    ],
  },
  'azure-monitor': {
    title: 'Azure Monitor',
    values: [temporality('delta', 'its dashboards need delta')],
    endpoint: {
      keys: ['otlp.metrics_endpoint'],
      form: 'the URL for metrics of the data collection rule',
    },
    example: [
      'metrics_endpoint: https://example.westeurope-1.metrics.ingest.monitor.azure.com/METRICS   # of your rule',
      'logs_endpoint: https://example.westeurope-1.ingest.monitor.azure.com/LOGS   # of your rule',
      'auth:',
      '  oauth2:',
      '    token_url: https://login.microsoftonline.com/TENANT/oauth2/v2.0/token',
      '    client_id: CLIENT',
      '    client_secret: ${file:client-secret}',
      '    scopes: ["https://monitor.azure.com/.default"]',
    ],
    needs: [
      {
        what: 'the client that may write',
        anyOf: ['otlp.auth.oauth2', 'otlp.headers.authorization'],
        hint: 'write `auth: {oauth2: {token_url, client_id, client_secret, scopes: ["https://monitor.azure.com/.default"]}}`',
      },
    ],
  },
  splunk: {
    title: 'Splunk Observability',
    values: [{ ...PROTOBUF, reason: 'it takes no metrics over gRPC' }],
    endpoint: {
      keys: ['otlp.metrics_endpoint'],
      form: 'https://ingest.REALM.signalfx.com/v2/datapoint/otlp',
    },
    example: [
      'metrics_endpoint: https://ingest.eu0.signalfx.com/v2/datapoint/otlp',
      'headers:',
      '  X-SF-Token: ${file:token}',
    ],
    needs: [header('X-SF-Token')],
    takesNoLogs: true,
  },
  chronosphere: {
    title: 'Chronosphere',
    values: [
      { key: 'otlp.protocol', value: 'grpc', reason: 'it is its only documented protocol' },
      { ...GZIP, reason: 'it is its only documented compression' },
    ],
    endpoint: own('https://TENANT.chronosphere.io:443'),
    example: [
      'endpoint: https://tenant.chronosphere.io:443',
      'headers:',
      '  API-Token: ${file:token}',
    ],
    needs: [header('API-Token')],
  },
  signoz: {
    title: 'SigNoz',
    values: [],
    endpoint: own('https://ingest.REGION.signoz.cloud'),
    example: [
      'endpoint: https://ingest.eu.signoz.cloud',
      'headers:',
      '  signoz-ingestion-key: ${file:token}',
    ],
    needs: [header('signoz-ingestion-key')],
  },
  clickstack: {
    title: 'ClickStack',
    values: [],
    example: ['endpoint: http://localhost:4318', 'headers:', '  authorization: ${file:token}'],
    needs: [header('authorization')],
  },
} as const satisfies Readonly<Record<string, Profile>>;

export type BackEndName = keyof typeof BACK_ENDS;

export const BACK_END_NAMES = Object.keys(BACK_ENDS) as readonly BackEndName[];

/** The profile of a name; undefined for any other value. */
export function profileOf(name: unknown): Profile | undefined {
  return typeof name === 'string' && Object.hasOwn(BACK_ENDS, name)
    ? BACK_ENDS[name as BackEndName]
    : undefined;
}

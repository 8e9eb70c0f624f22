// Every key of the configuration, in the order of the example: its name in the YAML, the kind of its value, its default,
// and what it is for. On the left is its name in the program, with the unit: Ms or Bytes. The keys of the
// service's API are in endpoints.ts. The types of the values follow (config.ts has their names). After a change, run
// `node tools/config-schema.ts`: it writes the example, the JSON Schema and the table of keys. A test compares them.

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/clock.ts';
import { BACK_END_NAMES } from './back-ends.ts';
import { RESTORABLE_TYPES, RESTORE_METHODS } from './backup-words.ts';
import {
  block,
  key,
  list,
  mapOf,
  optionalKey,
  orNull,
  orUnlimited,
  requiredKey,
  showValue,
  type Block,
  type Key,
  type Kind,
  type Refusal,
  type ValueOf,
} from './declare.ts';
import { backupEndpoints, historyPath, inventoryPath, metricsPath } from './endpoints.ts';
import {
  certificates,
  headerValue,
  headers,
  httpUrl,
  listenAddress,
  privateKey,
  proxyUrl,
  secretText,
  serviceAccount,
  tokenUrl,
} from './http-kinds.ts';
import { choice, duration, expression, flag, integer, share, size, text } from './kinds.ts';
import { logs } from './log-keys.ts';
import { isPlainMap } from './paths.ts';
import { ExpandedText } from './secrets.ts';

const WEEK_MS = 604_800_000;
const MILLION = 1_000_000;

/** Headers that the client of the service sets itself, besides those that no client can set (http-kinds.ts). */
const REFUSED_HEADERS: Readonly<Record<string, string>> = {
  'x-api-key': 'use `key` instead',
  accept: 'remove it; the program sets it itself',
  'accept-encoding': 'remove it; the program sets it itself',
  'proxy-authorization': 'write user and password into the URL of `proxy`',
};

const apiKeys = {
  baseUrl: requiredKey(
    'base_url',
    httpUrl('the http or https URL of the service', true),
    'https://api.example.com',
  ).about(`The service's address. All paths below are appended to it.`),
  key: optionalKey('key', headerValue('the API key'), '${file:/run/secrets/api-key}').about(`
    The API key. It goes to this address only, in the header X-API-Key, and never appears in any
    output. Best \`\${file:/path}\` or \`\${env:NAME}\`. When the service refuses the key,
    prom2otlp reads the file again: to rotate the key, replace the file. Required, unless every
    entry of \`services\` has its own key.`),
  headers: key('headers', headers(REFUSED_HEADERS), {}).about(`
    Further request headers, for example to choose a region: {X-Region: eu-1}. Their values are
    kept secret.`),
  timeoutMs: key('timeout', duration({ max: HOUR_MS }), '10s').about(`
    The timeout of one request. It must not exceed metrics.interval; if the interval is shorter,
    so is the default.`),
  ca: key('ca', orNull(certificates()), null).about(`
    A PEM file with the certificates to trust instead of the usual ones, which are those of Node.js
    and of the system's store (SSL_CERT_FILE and SSL_CERT_DIR name another). An intermediate
    authority alone is enough.`),
  proxy: key('proxy', orNull(proxyUrl()), null).about(`
    An HTTP proxy for requests to the service: http://proxy.example:3128. It may contain a user
    and a password. If you leave it out, the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply, but
    not to loopback, link-local addresses and names inside a cluster.`),
  isInsecureAllowed: key('insecure', flag(), false).about(`
    Plain http shows the key to everybody on the network path. So prom2otlp refuses http for
    addresses beyond this machine. true allows it.`),
};

export const api = block(apiKeys);

type Api = ValueOf<typeof api>;

/** One entry's own keys of `api`. */
export type ApiKeys = { readonly [Name in keyof Api]: Api[Name] | undefined };

/** The same keys without defaults: the global block has the value of a key that an entry leaves out. */
const ownApi: Block<ApiKeys> = block(
  Object.fromEntries(
    Object.entries<Key<unknown>>(apiKeys).map(([property, { name, kind, text }]) => [
      property,
      optionalKey(name, kind, undefined).about(text),
    ]),
  ) as Block<ApiKeys>['keys'],
);

/** Attributes of a Resource, but for its name and instance, with what to do instead of setting these. */
function resourceAttributes(
  name: string,
  instance: string,
): Kind<Readonly<Record<string, string>>> {
  const hints = new Map([
    ['service.name', name],
    ['service.instance.id', instance],
  ]);
  const judge = (name: string): Refusal | undefined => {
    const hint = hints.get(name);
    return hint === undefined ? undefined : { problem: `${name} cannot be set here`, hint };
  };
  return mapOf(judge, text({ isEmptyLegal: true }));
}

function judgeLabel(name: string): Refusal | undefined {
  if (/^[A-Za-z_][\w.]*$/.test(name)) return undefined;
  return { problem: 'this cannot be the name of a label' };
}

const serviceId = text({ expected: 'the id of a database service', pattern: /^[^\s,]+$/ });
const attributes = resourceAttributes(
  'use `name` of the entry',
  'it is always the id of the entry',
);
const ATTRIBUTES_EXAMPLE = { 'deployment.environment.name': 'production' };

export const service = block({
  id: requiredKey('id', serviceId, 'dbpgf12345678').about(`
    The id of the database service: the label \`namespace\` of its series.`),
  name: optionalKey('name', text(), 'orders').about(`
    The name that your back end shows (service.name). The default is the id.`),
  attributes: key('attributes', attributes, {}, ATTRIBUTES_EXAMPLE).about(`
    Further attributes of all data of this service. Values are texts: put numbers in quotes. They
    override the global \`attributes\`.`),
  api: key('api', ownApi).about(`
    Any key of the global \`api\`, for this service alone: another address, another key. Headers
    here add to the global ones. Keys that you leave out have the global values.`),
});

/** One entry of `services` before it is merged with the global `api`. */
export type ServiceEntry = ValueOf<typeof service>;

/** The keys of `services: auto`, which takes each service that the API key sees. */
const auto = block({
  include: key('include', list(expression()), []).about(`
    Take only the services whose whole id or name matches one of these regular expressions. Empty:
    all.`),
  exclude: key('exclude', list(expression()), []).about(`
    Never take the services whose whole id or name matches one of these regular expressions. exclude
    beats include.`),
  goneAfterMs: key('gone_after', duration({ min: 1000 }), '1h').about(`
    A service is gone after it was absent for this time from good, complete pages; until then its
    \`up\` is 0.`),
  keepMs: key('keep', duration({ min: 1000 }), '30d').about(`
    The state of a service that is gone (log cursors, backups) is kept for this time, in case it
    returns.`),
  servicesMax: key('max_services', integer({ min: 1, max: 100_000 }), 1000).about(`
    Services to take. Further ones are left out and counted.`),
  apis: key('api', list(ownApi), [], [{ headers: { 'X-Region': 'eu-1' } }]).about(`
    Several APIs or regions for one daemon: each entry has its own keys of the global \`api\`, such
    as a header that selects a region. Headers here add to the global ones. Empty: the global \`api\`
    alone.`),
});

const listed = list(service);
const automatic = block({
  auto: requiredKey('auto', auto, {}).about('The services on the metrics page, instead of a list.'),
});

const services: Kind<readonly ServiceEntry[] | ValueOf<typeof auto>> = {
  ...listed,
  expected: 'one entry per database service, as `services: [{id: dbpgf12345678}]`',
  instead: automatic,
  json: () => ({ anyOf: [listed.json(), { const: 'auto' }, automatic.json()] }),
  read: (value, path, report) => {
    const text = value instanceof ExpandedText ? value.text : value;
    if (text === 'auto') return auto.read({}, path, report);
    if (isPlainMap(value) && 'auto' in value) return automatic.read(value, path, report)?.auto;
    if (typeof text !== 'string') return listed.read(value, path, report);
    const problem = `expected a list of services, or \`auto\`, got ${showValue(value, true)}`;
    report({ path, problem, hint: 'put the services in brackets: `[{id: dbpgf12345678}]`' });
    return undefined;
  },
};

const prefix = list(
  text({ expected: 'the beginning of a metric name', pattern: /^[A-Za-z_:][\w:]*$/ }),
);

export const prefixes = block({
  engine: key('engine', prefix, ['engine_']).about('The database engine.'),
  multimaster: key('multimaster', prefix, ['engine_multimaster_']).about(`
    Replication among several masters.`),
  dist: key('dist', prefix, ['engine_dist_']).about('The distributed storage.'),
  proxy: key('proxy', prefix, ['proxy_']).about('The proxy before the engine.'),
});

const OVERRIDE_TYPES = ['counter', 'gauge', 'info', 'stateset', 'updowncounter'] as const;
const seriesName = text({ expected: 'the name of a series', pattern: /^[A-Za-z_:][\w:.]*$/ });
const anyText = orNull(text({ isEmptyLegal: true }));

const override = block({
  match: requiredKey('match', expression(), 'engine_my_own_events').about(`
    A regular expression for the whole name.`),
  type: key('type', orNull(choice(OVERRIDE_TYPES)), null).about('The true type of the series.'),
  unit: key('unit', anyText, null).about('The unit, as UCUM has it.'),
  description: key('description', anyText, null).about('The description that your back end shows.'),
  uptimeSeries: key('uptime_series', orNull(seriesName), null).about(`
    The name of the series with the uptime of the process that counts.`),
});

const labelName = text({ expected: 'the name of a label', pattern: /^[A-Za-z_][\w.]*$/ });
const namedFreely = mapOf(judgeLabel, labelName);

const rename = block({
  match: requiredKey('match', expression(), 'engine_global_status_threads_(running)').about(`
    A regular expression for the whole name on the page.`),
  name: key(
    'name',
    orNull(text({ expected: 'the name of a metric', pattern: /^[A-Za-z_:$][\w.:/$-]*$/ })),
    null,
  ).about('The name to send. $1 is the first group of the expression. null: the name stays.'),
  labels: key('labels', namedFreely, {}).about('Labels to send under other names: {state: kind}.'),
  attributes: key('attributes', mapOf(judgeLabel, text()), {}).about(`
    Labels to add, with their values: {kind: $1}.`),
});

export const pageLimits = block({
  memoryBytes: key('memory', orUnlimited(size()), null).about(`
    Memory for pages and series, by estimate. null: half of what the process has.`),
  bodyBytes: key('body', size(), '512MiB').about('One page, unpacked.'),
  samples: key('samples', integer({ min: 1, max: 1000 * MILLION }), 2_000_000).about(`
    Samples of one page.`),
  serviceSamples: key('service_samples', integer({ min: 1, max: 1000 * MILLION }), 50_000).about(`
    Series of one service on a page.`),
  series: key('series', integer({ min: 1, max: 1000 * MILLION }), 3_000_000).about(`
    Series to remember, of all services together: those of the last pages, and those that ended
    within the hour.`),
  labels: key('labels', integer({ min: 1, max: 4096 }), 64).about('Labels of one sample.'),
  nameBytes: key('name', size({ max: MILLION }), '1KiB').about(`
    Length of the name of a metric or label.`),
  valueBytes: key('value', size({ max: 16 * MILLION }), '8KiB').about(`
    Length of the value of a label. A HELP that is longer is left out.`),
});

const backfill = block({
  isEnabled: key('enabled', flag(), false).about(`
    After a downtime of prom2otlp, send what the service has stored of it, before the first new page.`),
  maxMs: key('max', duration({ min: MINUTE_MS, max: WEEK_MS }), '24h').about(`
    The longest downtime that is filled; of a longer one, its end.`),
  path: historyPath,
  label: key('label', text({ expected: 'the name of a label' }), 'service_name').about(`
    The label of stored series that has the name of the service.`),
});

export const metrics = block({
  isEnabled: key('enabled', flag(), true).about('Scrape metrics.'),
  intervalMs: key('interval', duration({ min: 1000, max: WEEK_MS }), '60s').about(`
    The scrape interval. The service updates its page about once a minute; more frequent scrapes
    return the same values. At least 1s.`),
  path: metricsPath,
  mapping: key('mapping', choice(['semantic', 'strict']), 'semantic').about(`
    semantic: the catalog gives each series its true type, whatever type the page declares.
    strict: exactly the mapping of the OpenTelemetry specification.`),
  namespace: key('namespace', choice(['resource', 'prefix']), 'resource').about(`
    resource: each database service has its own Resource, and names do not change. prefix: the
    name contains the id, as \`<id>.<name>\`, for dashboards that expect such names.`),
  prefixes: key('prefixes', prefixes).about(`
    The prefixes of the names in each family of series. The longest match wins. The catalog
    applies to names with these prefixes. To apply it to another page, add that page's prefix:
    \`engine: [engine_, mysql_]\`. A prefix belongs to one family only.`),
  overrides: key('overrides', list(override), []).about(`
    Overrides of the catalog for the series that \`match\`; the first match wins. \`match\` is a
    regular expression for the whole name. Each entry sets any of type (counter, gauge,
    updowncounter, info, stateset), unit, description, and uptime_series: the series with the
    uptime of the process that counts. For example {match: engine_my_own_events, type: counter,
    unit: "{event}"}.`),
  rename: key('rename', list(rename), []).about(`
    Other names for series and labels, for dashboards that expect them; the first match wins. Types,
    units and filters follow from the name on the page. A series never replaces one that has the name
    on the page: it is dropped, and counted as \`duplicate\`; nor does a label replace one that the
    series has: it keeps its own name, which is counted and told.
    config/collector-names.yaml has rules for the names of the OpenTelemetry Collector's receiver for
    this kind of database.`),
  include: key('include', list(expression()), []).about(`
    Send only the series whose whole name matches one of these regular expressions. Empty: all.`),
  exclude: key('exclude', list(expression()), []).about(`
    Never send the series whose whole name matches one of these regular expressions. exclude beats
    include.`),
  dropLabels: key('drop_labels', list(text({ expected: 'the name of a label' })), []).about(`
    Labels to remove from all points. Make sure that the remaining labels still identify each
    series.`),
  units: key('units', choice(['catalog', 'page', 'none']), 'catalog').about(`
    The source of units: catalog (the page if the catalog has no unit), page, or none.`),
  honorTimestamps: key('honor_timestamps', flag(), true).about(`
    true: points have the timestamps of the page. false: points have the time of the scrape.`),
  startTimes: key('start_times', flag(), true).about(`
    Derive the start time of a counter from the uptime series of its process.`),
  staleMarkers: key('stale_markers', flag(), true).about(`
    Send a marker when a series ends, so that graphs stop instead of continuing as a flat line.
    Some back ends show these markers as 0: turn the markers off for them. prom2otlp's own metrics
    and the backup gauges always have them.`),
  summaries: key('summaries', choice(['send', 'quantiles', 'drop']), 'send').about(`
    For back ends without summaries. quantiles: each quantile is a gauge; the counts and sums are
    dropped and counted. drop: so is all of a summary.`),
  staleAfterMs: key('stale_after', duration(), '5m').about(`
    A series ends when its timestamp has not changed for this time.`),
  badShare: key('bad_share', share(), 0.5).about(`
    One bad line costs only that line. If more than this share of a service's lines is bad, the
    service's scrape fails. Above 0, at most 1.`),
  backfill: key('backfill', backfill).about(`
    The service's own history, for gaps; also for the verb \`backfill\`.`),
  limits: key('limits', pageLimits).about(`
    Limits of a page and of the series. They count what include and exclude keep. A page over body or
    samples fails as a whole. Over series, service_samples or memory, new series are dropped, counted
    as \`series_limit\` and named by family; those that are known go on. What you leave out is the
    smaller of the default and a share of the memory that the process has: body 1/4, memory 1/2, one
    of series for each KiB. \`prom2otlp check\` shows the limits.`),
});

const wholeUrl = httpUrl('an http or https URL', false);
const OTLP_ENDPOINT = 'http://localhost:4318';

export const otlpTls = block({
  ca: key('ca', orNull(certificates()), null).about(`
    A PEM file with the certificates to trust instead of the usual ones, as in api.ca.`),
  cert: key('cert', orNull(certificates()), null).about(`
    A PEM file with the client certificate.`),
  key: key('key', orNull(privateKey()), null).about(`
    A PEM file with the private key of the client certificate, without a passphrase.`),
});

const basicAuth = block({
  user: requiredKey(
    'user',
    text({ expected: 'a user, without `:`', pattern: /^[^:]+$/ }),
    'me',
  ).about('The user, for many back ends the number of an account.'),
  password: requiredKey(
    'password',
    secretText('the password'),
    '${file:/run/secrets/password}',
  ).about('The password or token.'),
});

const oauth2 = block({
  tokenUrl: requiredKey('token_url', tokenUrl(), 'https://login.example.com/token').about(`
    The token endpoint: https, or http on this machine.`),
  clientId: requiredKey('client_id', text(), 'prom2otlp').about('The client.'),
  clientSecret: requiredKey(
    'client_secret',
    secretText('the secret of the client'),
    '${file:/run/secrets/client-secret}',
  ).about('Its secret.'),
  scopes: key('scopes', list(text()), []).about('The scopes to ask for.'),
});

const GOOGLE_SCOPES = ['monitoring.write', 'logging.write'].map(
  name => `https://www.googleapis.com/auth/${name}`,
);

const google = block({
  credentialsFile: requiredKey(
    'credentials_file',
    serviceAccount(),
    '/run/secrets/service-account.json',
  ).about('The JSON file with the key of a service account.'),
  scopes: key('scopes', list(text()), GOOGLE_SCOPES).about('The scopes to ask for.'),
});

export const otlpAuth = block({
  basic: key('basic', orNull(basicAuth), null).about('Basic authentication.'),
  oauth2: key('oauth2', orNull(oauth2), null).about(`
    OAuth 2.0 with client credentials: a token is fetched, renewed before it expires, and after a 401.`),
  google: key('google', orNull(google), null).about(`
    The same with the signed assertion of a Google service account.`),
});

function headersOf(signal: string) {
  return block({
    headers: key('headers', headers(), {}).about(`
      Request headers for ${signal} alone. They add to \`otlp.headers\`, and replace those of the same
      name.`),
  });
}

export const otlp = block({
  backend: key('backend', orNull(choice(BACK_END_NAMES)), null).about(`
    The back end whose profile gives other keys their defaults: docs/back-ends has a page for each.
    \`prom2otlp check\` tells what it sets and why, and what is missing.`),
  endpoint: key(
    'endpoint',
    httpUrl('the http or https URL of an OTLP receiver', true),
    OTLP_ENDPOINT,
  ).about(`
    The OTLP receiver. prom2otlp appends /v1/metrics and /v1/logs. With grpc: its address alone. An
    address without a port means port 443 or 80; without this key, it is localhost:4317.`),
  metricsEndpoint: key('metrics_endpoint', orNull(wholeUrl), null).about(`
    A full URL for metrics, used unchanged.`),
  logsEndpoint: key('logs_endpoint', orNull(wholeUrl), null).about(`
    A full URL for logs, used unchanged.`),
  protocol: key('protocol', choice(['http/protobuf', 'http/json', 'grpc']), 'http/protobuf').about(`
    http/protobuf, http/json or grpc. Every receiver supports http/protobuf, not all support the
    others.`),
  compression: key('compression', choice(['gzip', 'zstd', 'none']), 'gzip').about(`
    gzip, zstd or none; with grpc, gzip or none. Every receiver takes gzip. \`prom2otlp check --probe\`
    tells whether the back end takes zstd, and what it would save.`),
  headers: key('headers', headers(), {}).about(`
    Request headers, for example {Authorization: "Bearer \${file:token}"}. Their values are kept
    secret.`),
  metrics: key('metrics', headersOf('metrics')).about('What is for metrics alone.'),
  logs: key('logs', headersOf('logs')).about('What is for logs alone.'),
  auth: key('auth', orNull(otlpAuth), null).about(`
    The header Authorization, as one of {basic: {user, password}}, {oauth2: {token_url, client_id,
    client_secret, scopes}} and {google: {credentials_file, scopes}}. For a fixed key or token,
    \`headers\` is enough.`),
  proxy: key('proxy', orNull(proxyUrl()), null).about(`
    An HTTP proxy for requests to the back end, and to the token endpoint of \`auth\`. It may contain a
    user and a password. If you leave it out, the variables apply as for api.proxy.`),
  timeoutMs: key('timeout', duration({ max: HOUR_MS }), '10s').about('The timeout of one request.'),
  concurrency: key('concurrency', integer({ min: 1, max: 64 }), 1).about(`
    The number of concurrent requests. Points arrive in time order only with 1, and most back ends
    need that.`),
  maxRequestBytes: key('max_request', size({ min: 1024, max: 64 * 2 ** 20 }), '4MiB').about(`
    The largest request, before compression. At most 64MiB.`),
  maxPoints: key('max_points', orNull(integer({ min: 1, max: 10 * MILLION })), null).about(`
    The most data points or log records of one request. Without it, prom2otlp learns the limit when
    the back end refuses a request, until the restart.`),
  maxAttributeLength: key(
    'max_attribute_length',
    orNull(integer({ min: 128, max: MILLION })),
    null,
  ).about(`
    Attribute values with more characters are cut, and counted.`),
  stuckAfterMs: key('stuck_after', duration({ min: MINUTE_MS, max: DAY_MS }), '15m').about(`
    A batch that the back end refuses, or fails on, for this long is put to the test: only if the
    back end then accepts another batch and refuses this one again does its content count as bad.`),
  temporality: key(
    'temporality',
    choice(['cumulative', 'delta', 'lowmemory']),
    'cumulative',
  ).about(`
    cumulative: counters keep their values. delta: points contain the growth since the previous
    point; Prometheus accepts that only if it is configured for it. lowmemory: the same as
    cumulative for scraped metrics.`),
  tls: key('tls', otlpTls).about(`
    Certificates for the connection to the back end. Set both cert and key, or none.`),
});

const backups = block({
  isEnabled: key('enabled', flag(), false).about('Read backup schedules.'),
  intervalMs: key('interval', duration({ min: 1000, max: WEEK_MS }), '15m').about(`
    The interval between reads.`),
  restorable: key(
    'restorable',
    list(text({ expected: 'the name of a type of backups' })),
    RESTORABLE_TYPES,
  ).about(`
    The types of backups that restore by themselves, in your service's words. The alerts and the
    status page are about these.`),
  methods: key('methods', list(text({ expected: 'the name of a method' })), RESTORE_METHODS).about(`
    The methods that your service's restores take, for completion and against typing mistakes. Another
    word is sent as it is.`),
  endpoints: key('endpoints', backupEndpoints).about(`
    The shape of the backup API, also for the verbs \`backups\` and \`restores\`. Change these
    keys only if your service's API differs. Paths are below base_url.`),
});

/** What the inventory knows of a service and may become an attribute of its Resource. */
const FACTS = ['provider', 'region', 'tier', 'topology', 'version', 'tags'] as const;

const inventory = block({
  isEnabled: key('enabled', flag(), true).about(`
    Read the list of services. Where the key has no right to it, prom2otlp says so once and works
    without it.`),
  intervalMs: key('interval', duration({ min: 1000, max: WEEK_MS }), '15m').about(`
    The interval between reads. While a service is missing from the page, it is a minute at most.`),
  path: inventoryPath,
  attributes: key('attributes', list(choice(FACTS)), ['provider', 'region']).about(`
    What the list says that all data of a service carries: provider (cloud.provider), region
    (cloud.region), tier (database.tier), topology (database.topology), version (service.version),
    tags (database.tag.NAME). In many back ends a new value begins new series: so those that change
    are left out. \`prom2otlp_service_info\` has all but the tags.`),
});

const queue = block({
  directory: key(
    'directory',
    orNull(text({ expected: 'a directory' })),
    '/var/lib/prom2otlp',
  ).aboutFixed(`
    A directory for this process alone. null: memory only; the queued data is lost when the
    process ends.`),
  metrics: key(
    'metrics',
    block({
      maxBytes: key('max_bytes', size(), '1GiB').about(`
        If full, the queue drops and counts the oldest metrics.`),
      maxAgeMs: key('max_age', duration(), '72h').about(`
        The queue drops and counts metrics older than this.`),
    }),
  ).about(`The queue's share for metrics.`),
  logs: key(
    'logs',
    block({
      maxBytes: key('max_bytes', size(), '1GiB').about(`
        If full, pulling stops until there is room. The service keeps the logs.`),
    }),
  ).about(`The queue's share for logs.`),
});

export const status = block({
  listen: key('listen', listenAddress(), '127.0.0.1:9464').aboutFixed(`
    host:port. Put an IPv6 address in brackets: [::1]:9464. Port 0 takes a free one.`),
  token: key('token', orNull(headerValue('the token of the status page')), null).about(`
    Clients must send this token as \`Authorization: Bearer …\`, except for /healthz and /readyz. In a
    browser it is the password, with any user name. Required if other machines can reach \`listen\`.`),
  strictAfterMs: key('strict_after', duration({ min: 1000, max: WEEK_MS }), '5m').about(`
    \`/readyz?strict=1\` and \`health --strict\` fail while an error on the status page lasts longer than this.`),
});

const telemetry = block({
  isEnabled: key('enabled', flag(), true).about("Send prom2otlp's own metrics."),
  intervalMs: key('interval', duration({ min: 1000, max: WEEK_MS }), '60s').about(`
    The interval between sends.`),
  serviceName: key('service_name', text(), 'prom2otlp').about(`
    The service.name of these metrics.`),
  attributes: key(
    'attributes',
    resourceAttributes('use `service_name`', 'remove it; the program sets it itself'),
    {},
  ).about('Further attributes of these metrics.'),
});

export const shard = block({
  index: key('index', integer({ min: 0, max: 9999 }), 0).about(`
    Which of the shards this process is, from 0.`),
  count: key('count', integer({ min: 1, max: 10_000 }), 1).about(`
    The number of processes that divide the services.`),
});

const log = block({
  level: key('level', choice(['trace', 'debug', 'info', 'warn', 'error', 'silent']), 'info').about(`
    The least important messages to show: trace, debug, info, warn, error or silent.`),
  format: key('format', choice(['auto', 'json', 'text']), 'auto').about(`
    json for machines, text for people. auto: text if stderr is a terminal, else json.`),
});

export const CONFIG = block({
  api: key('api', api).about('The service that prom2otlp reads metrics and logs from.'),
  attributes: key('attributes', attributes, {}).about(`
    Further attributes of all data of all services, for example
    {deployment.environment.name: production}. Those of an entry of \`services\` override them.`),
  services: requiredKey('services', services, [{}]).about(`
    The database services to read: one entry for each, at least one. Or \`auto\`: each service that
    the key sees on the metrics page, under its name there. \`{auto: {exclude: [test-.*]}}\` selects by
    id and name.`),
  unconfiguredServices: key('unconfigured_services', choice(['drop', 'send']), 'drop').about(`
    One answer holds every service that the key can see. This key sets what happens to services
    without an entry: drop leaves them out, send sends them under their ids. A service that two keys
    can see is then sent twice. prom2otlp counts them in both cases.`),
  metrics: key('metrics', metrics).about('The metrics of the database services.'),
  logs: key('logs', logs).about(`
    The logs of the database services, pulled on a schedule. Every line arrives at least once.`),
  backups: key('backups', backups).about('The state of backup schedules, as metrics.'),
  inventory: key('inventory', inventory).about(`
    The list of the database services of the key: provider, region, version; which of them are
    stopped, and which are in maintenance.`),
  otlp: key('otlp', otlp).about(`
    The OpenTelemetry back end. If you leave out a key, the standard variables
    OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _PROTOCOL, _COMPRESSION, _TIMEOUT, _CERTIFICATE,
    _CLIENT_CERTIFICATE and _CLIENT_KEY apply (also those for one signal, such as
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT), and OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE;
    then these defaults. A key set here overrides the variables. A variable whose word or number is
    not understood is ignored, with a warning.`),
  queue: key('queue', queue).about(`
    The queue holds data until the back end accepts it. It survives a crash.`),
  status: key('status', status).about(`
    The status server: /healthz, /readyz, /metrics, /status.json and a page at /.`),
  telemetry: key('telemetry', telemetry).about(`
    prom2otlp's own metrics, sent to the same back end. If you leave out a key, the standard
    variables OTEL_SDK_DISABLED, OTEL_METRIC_EXPORT_INTERVAL, OTEL_SERVICE_NAME and
    OTEL_RESOURCE_ATTRIBUTES apply: they describe this program, not the database services.`),
  shard: key('shard', shard).about(`
    Divides the services among several processes with the same configuration. This is process
    \`index\` (from 0) of \`count\`, for example {index: "\${env:SHARD}", count: 3}.`),
  log: key('log', log).about(`
    prom2otlp's own log, on stderr. If you leave out \`level\`, the standard variable OTEL_LOG_LEVEL
    applies.`),
});

/** The keys as read for one signal, before load.ts merges `api` into services, and the signals. */
export type ConfigKeys = ValueOf<typeof CONFIG>;

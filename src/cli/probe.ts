// `check --probe`: scrapes each target once, translates the page without sending it, and sends one point to
// the back end, an empty request to its endpoint for logs, and one more of each in zstd.

import { type Config, type OtlpSignalConfig, type Secret, tokenUrlOf } from '../config/config.ts';
import { Discovery } from '../daemon/discovery.ts';
import { reportDrift } from '../daemon/drift-report.ts';
import { runInSlices } from '../daemon/target-states.ts';
import { translationOf } from '../daemon/targets.ts';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import { Counters } from '../lib/counters.ts';
import { formatBytes, formatDuration } from '../lib/format.ts';
import { silentLogger, ThrottledLog } from '../lib/log.ts';
import { didYouMean } from '../lib/nearest.ts';
import { printableLine, printableUrl } from '../lib/printable.ts';
import { type Descriptor, readDescriptor } from '../logs/item.ts';
import { ENOUGH, isOfList, listPages } from '../logs/list.ts';
import { OWN_SERVICE, type Signal, SIGNALS } from '../model/batch.ts';
import { OUTCOME, SeriesTable } from '../model/series-table.ts';
import { translate, type Translated, type Translation } from '../pipeline.ts';
import type { ScrapeResult } from '../pipeline/collect/scrape.ts';
import { planTargets, type Target } from '../pipeline/collect/plan-targets.ts';
import { entriesOf, SeriesBudget } from '../pipeline/derive/options.ts';
import { writeGauges } from '../pipeline/encode/gauges.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import { compress } from '../pipeline/queue/compression.ts';
import { openAuthorization } from '../pipeline/send/authorization.ts';
import { openTransport } from '../pipeline/send/open-senders.ts';
import type { EndpointOptions, SendResult } from '../pipeline/send/transport.ts';
import { ServiceClient } from '../service/client.ts';
import { apisOf, type ServiceClients } from '../service/clients.ts';
import type { ServiceHttp } from '../service/http-client.ts';
import { type LogItem, LogsApi } from '../service/logs-api.ts';
import { KnownApis } from '../service/redact.ts';
import { errorLine, type ServiceError } from '../service/service-error.ts';
import { readBackups } from '../backups/known-backups.ts';
import { type BackupsRow, backupsTable } from './backups.ts';
import { cellOf, clientsOf } from './service-access.ts';
import { scrapeOnce } from './services.ts';
import { type Failure, listOf, type Part, ProbeCauses, likelyMistakes } from './probe-causes.ts';
import { labelsOf, renderTable, yesOrNo } from './table.ts';
import type { VerbContext } from './verb.ts';

/** True when every service is on a good page and every endpoint accepts. */
export async function probe(wanted: Config, context: VerbContext): Promise<boolean> {
  let config = wanted;
  const { clock } = context;
  let isGood = true;
  const sizes = { gzip: 0, zstd: 0 };
  const causes = new ProbeCauses();
  for await (const one of scrapeTargets(config, { clock })) {
    if (one.kind === 'failure') {
      causes.add(one);
      isGood = false;
      continue;
    }
    ({ config } = one);
    const { target, url, translation } = one;
    const { bytes, durationMs } = one.page;
    const { page, derived, batch } = one.translated;
    for (const encoding of ['gzip', 'zstd'] as const)
      sizes[encoding] += (await compress(encoding, batch.payload)).length;
    context.out.line(
      `service  ${target.name}: ${page?.samples ?? 0} samples, ${bytes.length} bytes in ${Math.round(durationMs)} ms from ${url}${proxyText(target.api.proxy)}`,
    );
    for (const { line, column, reason } of page?.problems.slice(0, 5) ?? [])
      context.out.line(`  line ${line}, column ${column}: ${reason}`);
    const labelOf = labelsOf(config);
    context.out.line(indent(serviceTable(translation, derived.services, labelOf)));
    for (const [reason, those] of Map.groupBy(derived.services, service => service.reason))
      if (reason !== '')
        context.out.line(`  ${listOf(those.map(({ id }) => labelOf(id)))}: ${reason}`);
    const absent = derived.services.filter(({ reason }) => reason === 'absent').map(({ id }) => id);
    const lines = [...unconfiguredLines(translation, config, absent), ...driftLines(translation)];
    for (const line of lines) context.out.line(`  ${line}`);
    if (derived.services.some(({ isUp, reason }) => !isUp && reason !== 'stopped')) isGood = false;
    if (config.auto !== null && derived.services.length === 0) isGood = false;
  }
  const { metrics, logs, backups } = config;
  if (!metrics.isEnabled && !logs.isEnabled && !backups.isEnabled)
    context.out.line('service  not asked: metrics, logs and backups are off');
  const clients = clientsOf(clock);
  const asked = { config, clients, causes };
  if (config.logs.isEnabled && !(await probeLogs(asked, context))) isGood = false;
  if (config.backups.isEnabled && !(await probeBackups(asked, context))) isGood = false;
  await clients.close();
  causes.print(context.out);
  const isBackEndGood = await probeBackEnd(config, sizes, context);
  return isGood && isBackEndGood;
}

/** What the probes of logs and backups need. */
interface Asked {
  readonly config: Config;
  readonly clients: ServiceClients;
  readonly causes: ProbeCauses;
}

type ScrapedPage = Extract<ScrapeResult, { kind: 'page' }>;

/** One page, or one sentence on why there is none, and whose page it is. */
type Scraped =
  | (Failure & { readonly kind: 'failure' })
  | (ScrapedPage & {
      /** With `services: auto`, it includes the services of the pages so far. */
      readonly config: Config;
      readonly target: Target;
      readonly url: string;
      readonly translation: Translation;
      readonly translated: Translated;
    });

export interface ScrapeOptions {
  readonly clock: Clock;
  readonly serviceId?: string | undefined;
  /** Gets the page of a target; by default from the service. */
  readonly scrape?: typeof scrapeOnce;
}

/** Scrapes each target once, or only the one with this service, and translates its page. Nothing is sent. */
export async function* scrapeTargets(
  wanted: Config,
  { clock, serviceId, scrape = scrapeOnce }: ScrapeOptions,
): AsyncGenerator<Scraped> {
  let config = wanted;
  const clients = clientsOf(clock);
  const targets = config.metrics.isEnabled ? planTargets(config) : [];
  // Limits are shared as in the daemon: by all targets.
  const budget = new SeriesBudget(config.metrics.limits);
  for (const [place, target] of targets.entries()) {
    const isKnown = serviceId === undefined || target.configured.has(serviceId);
    if (!isKnown && config.auto === null) continue;
    const client = clients.get(target.api);
    const result = await scrape(target, client, { config, clock });
    const url = printableUrl(`${target.api.baseUrl}${config.metrics.path}`);
    if (result.kind !== 'page') {
      const { reason, message, hint } = result;
      const by = proxyText(target.api.proxy);
      const line = `cannot scrape ${url}${by} (${reason}): ${message}; ${hint}`;
      const { origin } = new URL(url);
      yield {
        kind: 'failure',
        part: 'metrics',
        who: target.name,
        origin,
        reason,
        hint,
        message,
        line,
      };
      continue;
    }
    config = await withFound(config, { target, place }, result, clock);
    const found = config.auto === null ? target : (planTargets(config)[place] ?? target);
    const read = async (stopped: ReadonlySet<string>) => {
      const isStopped = (id: string): boolean => stopped.has(id);
      const table = new SeriesTable();
      const entries = entriesOf(config);
      const translation = translationOf(found, config, table, budget, entries, isStopped);
      return { translation, translated: await translatePage(translation, result) };
    };
    let looked = await read(new Set());
    if (looked.translated.derived.services.some(({ reason }) => reason === 'absent'))
      looked = await read(await stoppedServices(config, client));
    yield { ...result, config, target, url, ...looked };
  }
  await clients.close();
}

/** The services that the inventory calls stopped; none if the key may not read it. */
async function stoppedServices(
  { inventory }: Config,
  http: ServiceHttp,
): Promise<ReadonlySet<string>> {
  if (!inventory.isEnabled) return new Set();
  const list = await new ServiceClient({
    http,
    paths: { inventory: inventory.path },
  }).inventory.list();
  const services = list.ok ? list.services : [];
  return new Set(services.filter(({ isStopped }) => isStopped).map(({ id }) => id));
}

function translatePage(translation: Translation, result: ScrapedPage): Promise<Translated> {
  return runInSlices(translate(translation, result, new WireWriter()));
}

/** The configuration; with `services: auto`, with the services on the page that a first start would take. */
async function withFound(
  config: Config,
  { target, place }: { readonly target: Target; readonly place: number },
  result: ScrapedPage,
  clock: Clock,
): Promise<Config> {
  const { auto, shard, metrics, logs } = config;
  if (auto === null) return config;
  const log = new ThrottledLog(silentLogger, clock);
  const options = { config: { auto, shard, metrics, logs }, queue: null, clock, log };
  const discovery = await Discovery.prepare({ ...options, counters: new Counters() }, null);
  const translation = translationOf(target, config);
  discovery.note(place, translation.table, result, await translatePage(translation, result));
  const before = new Set(config.services.map(({ id }) => id));
  const found = discovery.services.filter(({ id }) => !before.has(id));
  return { ...config, services: [...config.services, ...found] };
}

function serviceTable(
  { table }: Translation,
  services: Translated['derived']['services'],
  labelOf: (id: string) => string,
): string {
  const head = ['SERVICE', 'UP', 'SAMPLES', 'COUNTER', 'UP-DOWN', 'GAUGE', 'OTHER', 'DROPPED'];
  const rows = services.map(({ id, isUp, samples }) => {
    const index = table.serviceById.get(id) ?? -1;
    const counts = { sum: 0, updown: 0, gauge: 0, other: 0, dropped: 0 };
    for (let row = 0; row < table.count; row++) {
      if (table.blocks[table.block[row] ?? 0]?.service !== index) continue;
      const kind = table.metrics[table.metric[row] ?? 0]?.kind ?? 'gauge';
      const outcome = table.outcome[row] ?? 0;
      if (outcome === OUTCOME.point)
        counts[kind === 'histogram' || kind === 'summary' ? 'other' : kind]++;
      else if (outcome > OUTCOME.consumed) counts.dropped++;
    }
    const { sum, updown, gauge, other, dropped } = counts;
    const numbers = [samples, sum, updown, gauge, other, dropped].map(String);
    return [labelOf(id), yesOrNo(isUp), ...numbers];
  });
  return renderTable([head, ...rows]);
}

/** `absent`: ids that are configured and not on the page. */
function unconfiguredLines(
  { table }: Translation,
  { auto, services }: Config,
  absent: readonly string[],
): readonly string[] {
  // The key of one target may also see services of another target.
  const configured = new Set(services.map(({ id }) => id));
  const ids = table.services
    .filter(({ configIndex, isElsewhere }) => configIndex < 0 && !isElsewhere)
    .map(({ id }) => id)
    .filter(id => !configured.has(id));
  if (ids.length === 0) return [];
  const shown = ids.slice(0, 10).map(id => (id === '' ? '(no namespace)' : printableLine(id)));
  const cause = auto === null ? 'not configured' : 'left out by services: auto';
  const meant = absent.flatMap(id => {
    const question = didYouMean(id, ids.map(printableLine));
    return question === '' ? [] : [`${id} is not on the page: ${question}`];
  });
  return [`on the page but ${cause}: ${shown.join(', ')}${ids.length > 10 ? ', …' : ''}`, ...meant];
}

function driftLines({ table, derive }: Translation): readonly string[] {
  const drift = reportDrift(table, derive)?.families ?? [];
  return [...drift].flatMap(([family, { appeared, vanished, contradicted, mangled }]) => {
    const parts = [
      [appeared.count, 'not in the catalog'],
      [vanished.count, 'of the catalog missing'],
      [contradicted.count, 'declared otherwise than the catalog knows'],
      [mangled.count, 'under a damaged name'],
    ] as const;
    const counts = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
    return counts.length === 0 ? [] : [`${family}: ${counts.join(', ')}`];
  });
}

/** The compressed bytes of the pages of this probe. */
interface Sizes {
  readonly gzip: number;
  readonly zstd: number;
}

/**
 * One point, because some back ends refuse a request without any; for logs an empty request. It shows whether address, key
 * and protocol are right.
 */
async function probeBackEnd(config: Config, sizes: Sizes, context: VerbContext): Promise<boolean> {
  const hasLogs = config.logs.isEnabled || config.backups.isEnabled;
  const { auth } = config.otlp;
  const tokenUrl = auth === null ? null : tokenUrlOf(auth);
  if (tokenUrl !== null)
    context.out.line(
      `token    from ${printableUrl(tokenUrl)}${proxyText(auth?.tokenProxy ?? null)}`,
    );
  const authorization = await openAuthorization(auth, context.clock, config.otlp.metrics.timeoutMs);
  const failed = new Map<string, FailedEnd[]>();
  for (const signal of hasLogs ? SIGNALS : (['metrics'] as const)) {
    const settings = config.otlp[signal];
    const apis = new KnownApis(apisOf(config));
    const options = { apis, clock: context.clock, authorization };
    const result = await sendProbe(signal, settings, options);
    const place = `${signal} ${printableUrl(settings.endpoint)}${proxyText(settings.proxy)}`;
    if (result.kind !== 'accepted') {
      const text = outcomeText(result);
      failed.set(text, [...(failed.get(text) ?? []), { place, settings, reason: result.reason }]);
      continue;
    }
    context.out.line(`back end ${place}: ${outcomeText(result)}`);
    if (settings.compression !== 'gzip' || settings.protocol === 'grpc') continue;
    const inZstd = await sendProbe(signal, { ...settings, compression: 'zstd' }, options);
    context.out.line(`  compression: gzip; ${zstdText(inZstd, signal, sizes)}`);
  }
  for (const [text, those] of failed) {
    context.out.line(`back end ${listOf(those.map(({ place }) => place))}: ${text}`);
    const likely = those.flatMap(({ settings, reason }) =>
      likelyMistakes(settings, reason, config.otlp.backend),
    );
    for (const mistake of new Set(likely)) context.out.line(`  likely: ${mistake}`);
  }
  return failed.size === 0;
}

/** A signal that the back end does not accept. */
interface FailedEnd {
  readonly place: string;
  readonly settings: OtlpSignalConfig;
  readonly reason: string;
}

async function sendProbe(
  signal: Signal,
  settings: OtlpSignalConfig,
  options: Pick<EndpointOptions, 'apis' | 'clock' | 'authorization'>,
): Promise<SendResult> {
  const transport = await openTransport(settings, { ...options, concurrency: 1 });
  const raw = signal === 'metrics' ? probePoint(options.clock.nowMs()) : Buffer.alloc(0);
  const { compression: encoding } = settings;
  const body = await compress(encoding, raw);
  const request = { signal, encoding, body, rawBytes: raw.length } as const;
  const result = await transport.send(request, new AbortController().signal);
  await transport.close();
  return result;
}

/** `up` of the program itself, with an attribute that tells where it came from. */
function probePoint(timeMs: number): Buffer {
  const writer = new WireWriter(256);
  const identity = { name: OWN_SERVICE, id: 'probe', attributes: {}, server: null };
  const owner = { identity, info: new Map<string, string>(), scope: OWN_SERVICE, prefix: '' };
  const points = [{ attributes: [['probe', 'true']], value: 1 }] as const;
  writeGauges(writer, owner, [{ name: 'up', description: '', unit: '', points }], timeMs);
  return Buffer.from(writer.written());
}

/** Whether the back end takes zstd, and what it would save of the pages that were just read. */
function zstdText(result: SendResult, signal: Signal, { gzip, zstd }: Sizes): string {
  if (result.kind !== 'accepted') return `zstd is not taken: ${result.reason}`;
  const share = Math.round((1 - zstd / gzip) * 100);
  const isSaving = signal === 'metrics' && share > 0;
  const saved = isSaving
    ? `, and saves ${String(share)} % of these pages: ${formatBytes(zstd)} instead of ${formatBytes(gzip)}`
    : '';
  return `the back end takes zstd, too${saved} (otlp.compression: zstd)`;
}

function outcomeText(result: SendResult): string {
  if (result.kind === 'accepted')
    return result.message === '' ? 'accepts' : `accepts, and says: ${result.message}`;
  const { kind, reason } = result;
  if (kind === 'retry') return `is not available now: ${reason}`;
  if (kind === 'unknown') return `fails: ${reason}`;
  if (kind === 'settings') return `refuses the request: ${reason}`;
  return `refuses the request: ${reason}; the path or the key may be wrong`;
}

/** Names the proxy, and the variable that it comes from. */
function proxyText(proxy: Secret | null): string {
  if (proxy === null) return '';
  const from = proxy.source === '' ? '' : ` (${proxy.source})`;
  return ` through the proxy ${printableUrl(proxy.reveal())}${from}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

// The probe of logs: asks each API for types, servers and one list, and shows how the answers were read. It downloads
// nothing.

const SHOWN_MAX = 5;
/** The Date header has whole seconds, and answers take their time. */
const SKEW_MS_MIN = 5000;

/** True when every API's list could be read; types and servers are only shown. */
async function probeLogs(
  { config, clients, causes }: Asked,
  context: VerbContext,
): Promise<boolean> {
  let isGood = true;
  for (const target of planTargets(config)) {
    const api = new LogsApi(clients.get(target.api), config.logs.endpoints);
    const { out, stop: signal } = context;
    const tell = (part: Part, error: ServiceError): void =>
      causes.add(failureOf(part, target, error));
    const types = await api.types({ signal });
    if (types.ok) {
      out.line(`logs     ${target.name}: types ${namesText(types.items, 'type')}`);
      printSkew(types.serverNowMs, context);
    } else tell('types of logs', types.error);
    const servers = await api.servers({ signal });
    if (servers.ok)
      out.line(`logs     ${target.name}: servers ${namesText(servers.items, 'server')}`);
    else tell('servers of logs', servers.error);
    const listError = await probeList(target, api, config, context);
    if (listError === null) continue;
    tell('logs', listError);
    isGood = false;
  }
  return isGood;
}

function failureOf(part: Part, { name: who, api }: Target, error: ServiceError): Failure {
  const { reason, hint, message } = error;
  const line = isOfList(error) ? message : errorLine(error);
  return { part, who, origin: new URL(api.baseUrl).origin, reason, hint, message, line };
}

/** Null when the list could be read. */
async function probeList(
  target: Target,
  api: LogsApi,
  config: Config,
  { clock, out, stop }: VerbContext,
): Promise<ServiceError | null> {
  const { types } = config.logs;
  const nowMs = clock.nowMs();
  const span = { fromMs: nowMs - DAY_MS, toMs: nowMs };
  const items: unknown[] = [];
  const query = { from: new Date(span.fromMs), to: new Date(nowMs), type: types[0], signal: stop };
  const end = await listPages(api, query, page => {
    items.push(...page);
    return items.length < 1000 ? null : ENOUGH;
  });
  if (!end.ok) return end.error;
  const what = `${types[0] ?? 'any type'}: ${items.length} archives`;
  out.line(`logs     ${target.name}: list of the last day, ${what}`);
  const { services, otherShards } = target;
  const otherServiceCount = otherShards.serviceCount;
  const of = { pointers: api.pointers, services, otherServiceCount, types };
  const read = items.map(item => readDescriptor(item, of, span));
  const refused = read.filter(one => typeof one === 'string');
  for (const [reason, those] of Map.groupBy(refused, reason => reason))
    out.line(`  ${those.length} are left alone: ${REFUSALS[reason] ?? reason}`);
  const archives = read.filter(one => typeof one !== 'string');
  if (archives.length > 0) out.line(indent(archiveTable(archives)));
  return null;
}

const REFUSALS: Readonly<Record<string, string>> = {
  no_id: 'no id at logs.endpoints.pointers.id',
  no_time: 'no time at logs.endpoints.pointers.start, and no date in the name',
  type: 'not a type of logs.types',
  service: 'not of a service that is configured',
  out_of_window: 'not of the time that was asked for',
};

function archiveTable(archives: readonly Descriptor[]): string {
  const head = ['ARCHIVE', 'SERVICE', 'SOURCE', 'TYPE', 'SIZE', 'DAY'];
  const rows = archives
    .slice(0, SHOWN_MAX)
    .map(({ id, partition, size, dayMs }) => [
      id,
      partition.service.id,
      partition.source,
      partition.type,
      size === null ? '?' : String(size),
      new Date(dayMs).toISOString().slice(0, 10),
    ]);
  const more = archives.length > SHOWN_MAX ? `\n… and ${archives.length - SHOWN_MAX} more` : '';
  return renderTable([head, ...rows]) + more;
}

function namesText(items: readonly LogItem[], what: string): string {
  const names = items.map(item => {
    const member = [what, 'name', 'value'].find(name => name in item);
    return printableLine(cellOf(member === undefined ? item : item[member]));
  });
  const more = names.length > SHOWN_MAX ? `, … (${names.length})` : '';
  return names.length === 0 ? 'none' : `${names.slice(0, SHOWN_MAX).join(', ')}${more}`;
}

function printSkew(serverNowMs: number | null, { clock, out }: VerbContext): void {
  const skewMs = (serverNowMs ?? Number.NaN) - clock.nowMs();
  if (!(Math.abs(skewMs) > SKEW_MS_MIN)) return;
  const how = skewMs > 0 ? 'ahead of' : 'behind';
  out.line(`  its clock is ${formatDuration(Math.abs(skewMs))} ${how} ours; logs go by its clock`);
}

// The probe of backups: reads the schedules of each service as the daemon does. It sends and stores nothing.

/** True when the schedules of every service could be read. */
async function probeBackups(
  { config, clients, causes }: Asked,
  { clock, out, stop }: VerbContext,
): Promise<boolean> {
  const rows: BackupsRow[] = [];
  let isGood = true;
  const { endpoints: paths, restorable } = config.backups;
  for (const target of planTargets(config)) {
    const client = new ServiceClient({ http: clients.get(target.api), paths });
    for (const service of target.services) {
      const asked = {
        client,
        serviceId: service.id,
        restorable,
        before: null,
        clock,
        signal: stop,
      };
      const read = await readBackups(asked);
      if (read.ok) rows.push({ service, known: read.known, error: read.backupsError });
      else causes.add(failureOf('backups', target, read.error));
      isGood &&= read.ok;
    }
  }
  if (rows.length === 0) return isGood;
  out.line('backups');
  out.line(indent(backupsTable(rows, labelsOf(config), clock.nowMs())));
  return isGood;
}

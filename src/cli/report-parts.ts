// What a report holds: versions, the configuration, and of the running daemon its problems, numbers, account and the shape
// of the last pages. No secret, no name of a service or host, no value of a label, no text of a log: placeholders.ts
// takes them out. It asks the daemon alone; what cannot be found out is said, and is no failure.

import { existsSync } from 'node:fs';
import { effectiveValues } from '../config/examine.ts';
import { judgeFile } from '../config/load.ts';
import { type Mistake, OperatorError } from '../errors.ts';
import { formatAge } from '../lib/format.ts';
import { isObject } from '../lib/json.ts';
import { programCommit, programVersion } from '../lib/version.ts';
import type { AccountNumbers } from '../status/account-report.ts';
import type { StatusProblem } from '../status/problem.ts';
import { type PageShape, PAGES_MAX, type ShapeReport } from '../status/shape-report.ts';
import type { StatusDocument } from '../status/status-report.ts';
import { askDaemon, daemonOf, type OwnDaemon } from './own-daemon.ts';
import { isOwn, Placeholders } from './placeholders.ts';
import { askStatus, numbersOf } from './status.ts';
import type { VerbContext } from './verb.ts';

type Environment = VerbContext['environment'];

/** The daemon walks over all series of its last pages. */
const TIMEOUT_MS = 10_000;
const ANSWER_LENGTH_MAX = 2 ** 20;
/** An issue of a tracker takes 65,536 characters. */
const VALUES_MAX = 200;

export interface Report {
  readonly version: string;
  readonly commit: string;
  readonly node: string;
  readonly system: {
    readonly platform: string;
    readonly arch: string;
    /** Such as `glibc 2.36`; `other` is usually musl. */
    readonly libc: string;
    /** What this command runs in; null where nothing shows it. */
    readonly container: string | null;
    readonly hasSystemd: boolean;
  };
  readonly configuration: ConfigurationPart;
  /** Null if none answers; `noDaemon` says why. */
  readonly daemon: DaemonPart | null;
  readonly noDaemon: string;
}

export interface ConfigurationPart {
  /** Null with `services: auto`, and with a mistake. */
  readonly services: number | null;
  /** The keys that differ from their defaults, but for ids and names of services; VALUES_MAX at most. */
  readonly values: readonly { readonly key: string; readonly value: string }[];
  readonly valuesLeftOut: number;
  readonly mistakes: readonly string[];
}

export interface DaemonPart {
  readonly version: string;
  readonly state: StatusDocument['state'];
  /** Such as `3 min ago`. */
  readonly started: string;
  readonly isConfigurationStale: boolean;
  readonly numbers: ReturnType<typeof numbersOf>;
  readonly problems: readonly (Pick<
    StatusProblem,
    'severity' | 'subject' | 'message' | 'since' | 'lastSeen'
  > & { readonly services: number })[];
  /** What a request holds at most, as refusals have taught. */
  readonly learned: readonly (NonNullable<StatusDocument['senders'][number]['learned']> & {
    readonly signal: string;
  })[];
  readonly account: AccountNumbers;
  readonly targets: readonly TargetPart[];
  readonly targetsLeftOut: number;
  /** Null if the daemon does not say it, such as one of another version. */
  readonly shape: Omit<ShapeReport, 'pages'> | null;
}

interface TargetPart {
  readonly name: string;
  readonly state: string;
  /** A word of a closed set, such as `timeout`; '' after a good scrape. */
  readonly reason: string;
  readonly bodyBytes: number;
  readonly samples: number;
  readonly badLines: number;
  readonly series: number;
  /** Null if the daemon does not say it. */
  readonly page: PageShape | null;
}

/** `file`: the configuration, or why none is named. */
export async function reportOf(file: string | Mistake, environment: Environment): Promise<Report> {
  const placeholders = new Placeholders();
  const configuration = configurationPart(file, environment, placeholders);
  const told = await askAll(file, environment);
  return {
    version: programVersion(),
    commit: programCommit(),
    node: process.version,
    system: systemOf(environment),
    configuration,
    daemon: told.ok ? daemonPart(told, placeholders) : null,
    noDaemon: told.ok ? '' : placeholders.text(told.cause, [told.foreign]),
  };
}

function systemOf(environment: Environment): Report['system'] {
  // The report of Node.js has no member for musl.
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const { glibcVersionRuntime: glibc } = header;
  const isPod = environment['KUBERNETES_SERVICE_HOST'] !== undefined;
  const [, engine = null] = ENGINES.find(([path]) => existsSync(path)) ?? [];
  return {
    platform: process.platform,
    arch: process.arch,
    libc: glibc === undefined ? 'other' : `glibc ${glibc}`,
    container: isPod ? 'kubernetes' : engine,
    hasSystemd: existsSync('/run/systemd/system'),
  };
}

const ENGINES = [
  ['/.dockerenv', 'docker'],
  ['/run/.containerenv', 'podman'],
] as const;

// The configuration.

function configurationPart(
  file: string | Mistake,
  environment: Environment,
  placeholders: Placeholders,
): ConfigurationPart {
  try {
    if (typeof file !== 'string') throw new OperatorError([file]);
    const judgement = judgeFile({ file, environment });
    const { services, elsewhere, auto } = judgement.config;
    for (const { id, name } of [...services, ...elsewhere]) placeholders.name('service', id, name);
    const values = effectiveValues(judgement)
      .filter(({ key, isDefault }) => !isDefault && !/^services\[\d+\]\.(?:id|name)\b/.test(key))
      .map(({ key, value }) => ({
        key: placeholders.key(key),
        value: placeholders.value(key, value),
      }));
    return {
      services: auto === null ? services.length + elsewhere.length : null,
      values: values.slice(0, VALUES_MAX),
      valuesLeftOut: Math.max(values.length - VALUES_MAX, 0),
      mistakes: [],
    };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const mistakes = error.mistakes.map(mistake => mistakeText(mistake, placeholders));
    return { services: null, values: [], valuesLeftOut: 0, mistakes };
  }
}

/** Without the file, and without the hint, which may repeat what was written. */
function mistakeText(
  { line, column, key = '', message }: Mistake,
  placeholders: Placeholders,
): string {
  const place = line === undefined ? '' : `${[line, column].filter(Boolean).join(':')}: `;
  const path = key === '' ? '' : `${placeholders.key(key)}: `;
  return `${place}${path}${placeholders.text(message)}`;
}

// The daemon.

type Told =
  | { readonly ok: true; readonly document: StatusDocument; readonly shape: ShapeReport | null }
  /** `foreign`: the part of the cause that another program may have written. */
  | { readonly ok: false; readonly cause: string; readonly foreign: string };

async function askAll(file: string | Mistake, environment: Environment): Promise<Told> {
  const daemon = ownDaemon(file, environment);
  if (daemon === null)
    return { ok: false, cause: 'the configuration does not say where it listens', foreign: '' };
  const told = await askStatus(daemon);
  if (!told.ok) return { ok: false, cause: `${daemon.url}: ${told.cause}`, foreign: told.cause };
  return { ok: true, document: told.document, shape: await askShape(daemon) };
}

function ownDaemon(file: string | Mistake, environment: Environment): OwnDaemon | null {
  try {
    return typeof file === 'string' ? daemonOf(file, environment) : null;
  } catch (error) {
    if (error instanceof OperatorError) return null;
    throw error;
  }
}

async function askShape(daemon: OwnDaemon): Promise<ShapeReport | null> {
  const question = { path: 'shape.json', timeoutMs: TIMEOUT_MS, lengthMax: ANSWER_LENGTH_MAX };
  const told = await askDaemon(daemon, question);
  if (!told.ok || told.status !== 200 || told.isCut) return null;
  try {
    const found: unknown = JSON.parse(told.text);
    const isShape = isObject(found) && Array.isArray(found['metrics']);
    return isShape ? (found as unknown as ShapeReport) : null;
  } catch {
    return null;
  }
}

function daemonPart(
  { document, shape }: Extract<Told, { ok: true }>,
  placeholders: Placeholders,
): DaemonPart {
  const { version, state, startedAt, reportedAt, configuration, problems } = document;
  nameAll(document, placeholders);
  const foreign = foreignTexts(document);
  const targets = document.targets.map((target, index) => ({
    name: placeholders.name('target', target.name),
    state: target.state,
    reason: target.lastReason,
    bodyBytes: target.bodyBytes,
    samples: target.samples,
    badLines: target.badLines,
    series: target.series,
    page: shape?.pages[index] ?? null,
  }));
  return {
    version,
    state,
    started: formatAge(Date.parse(reportedAt) - Date.parse(startedAt)),
    isConfigurationStale: configuration?.isStale ?? false,
    numbers: numbersOf(document),
    problems: problems.map(({ severity, subject, message, since, lastSeen, services }) => ({
      severity,
      subject: placeholders.text(subject),
      message: placeholders.text(message, foreign),
      since,
      lastSeen,
      services: services.length,
    })),
    learned: document.senders.flatMap(({ signal, learned }) =>
      learned === null ? [] : [{ signal, ...learned }],
    ),
    account: document.account.total,
    targets: targets.slice(0, PAGES_MAX),
    targetsLeftOut: Math.max(targets.length - PAGES_MAX, 0),
    shape: shape && { metrics: shape.metrics, metricsLeftOut: shape.metricsLeftOut },
  };
}

/** Gives placeholders to whatever the document names. */
function nameAll(document: StatusDocument, placeholders: Placeholders): void {
  const { services, unconfigured, discovery, account, logs, targets, pulls, senders } = document;
  const found = [...services, ...(discovery?.absent ?? [])];
  for (const { id, name } of found) placeholders.name('service', id, name);
  for (const { id } of unconfigured) placeholders.name('service', id);
  for (const id of Object.keys(account.services)) placeholders.name('service', id);
  for (const { archive } of logs?.givenUp ?? []) placeholders.name('archive', archive);
  const logTypes = [...(logs?.partitions ?? []), ...(logs?.givenUp ?? [])].map(({ type }) => type);
  for (const type of logTypes) if (!isOwn(type)) placeholders.name('log', type);
  const addresses = [
    ...targets.map(({ url }) => url),
    // Without a scheme.
    ...pulls.map(({ origin }) => `https://${origin}`),
    ...senders.map(({ endpoint }) => endpoint),
  ];
  for (const address of addresses) placeholders.address(address);
  for (const { name } of targets) placeholders.name('target', name);
}

/** The texts of the document that repeat words of the service, the back end, the system or the configuration. */
function foreignTexts(document: StatusDocument): readonly string[] {
  const { senders, setAside, pulls, logs, backups, targets, queueTrouble, reload } = document;
  return [
    ...senders.map(({ lastError }) => lastError),
    ...setAside.map(({ reason }) => reason),
    ...pulls.flatMap(({ message, hint }) => [message, hint]),
    ...(logs?.partitions ?? []).map(({ lastError }) => lastError),
    ...(backups?.services ?? []).map(({ lastError }) => lastError),
    ...targets.map(({ lastMessage }) => lastMessage),
    queueTrouble,
    ...(reload?.mistakes ?? []),
  ].filter(text => text !== null);
}

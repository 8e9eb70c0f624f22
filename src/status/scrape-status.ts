// Scraping, as the status shows it: targets, services, drift from the catalog. One chapter holds all of a field: its
// declaration for /status.json, where it is read from, its problems, and its place on the page.

import type { FamilyDrift } from '../catalog/drift.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import type { Family } from '../model/metric.ts';
import type { Problem } from '../model/page.ts';
import { FATE, FATE_NAMES, type SeriesTable } from '../model/series-table.ts';
import type { ServiceOutcome } from '../pipeline/derive/derive.ts';
import { type Accounted, isDrop } from './account-report.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import {
  age,
  badge,
  countCell,
  numberList,
  type Reported,
  section,
  table,
  type Tone,
} from './page-parts.ts';
import { type Advice, counted, problem, sentence, type StatusProblem } from './problem.ts';
import { instant } from './times.ts';
import {
  CLOCK_SKEWED,
  isSkewed,
  NO_PAGE,
  type PageFacts,
  refusedReport,
  SERIES_REFUSED,
  type TargetLog,
  UPTIME_STUCK,
} from './target-log.ts';

const UNCONFIGURED_SHOWN_MAX = 50;

/** The fields of the status report that this file fills in. */
export interface ScrapeStatus {
  readonly targets: readonly TargetReport[];
  /** The configured services, in the order of the configuration. */
  readonly services: readonly ServiceReport[];
  /** Services on the last pages that no entry names, those with the most samples first; at most UNCONFIGURED_SHOWN_MAX. */
  readonly unconfigured: readonly UnconfiguredReport[];
  /** All others of them, together. */
  readonly unconfiguredRest: { readonly services: number; readonly samples: number };
}

/** An address that is polled with one key, for one or more services. */
export interface TargetReport extends PageFacts {
  readonly name: string;
  /** Without user, password and query. */
  readonly url: string;
  /** `waiting` before the first scrape; `auth` is down because the key was refused. */
  readonly state: 'waiting' | 'up' | 'down' | 'auth';
  readonly scrapeCount: number;
  readonly failureCount: number;
  readonly lastScrapeAt: string | null;
  readonly lastDurationMs: number | null;
  /** '' after a good scrape; else a word of a closed set, such as `timeout`. */
  readonly lastReason: string;
  /** `cannot <verb> <address>: <cause>`; '' after a good scrape. */
  readonly lastMessage: string;
  readonly nextScrapeAt: string | null;
  readonly firstProblem: Problem | null;
  /** Series that the table holds for the target now. */
  readonly series: number;
  /** New series of the last page that were dropped for want of room, in all and by family; null if there were none. */
  readonly refused: {
    readonly samples: number;
    readonly families: Readonly<Record<string, number>>;
  } | null;
  /** Where the last good page differs from the catalog, per family on it. */
  readonly drift: Readonly<Partial<Record<Family, FamilyDrift>>>;
}

/** One configured service as its target's last scrape left it. */
export interface ServiceReport extends Omit<ServiceOutcome, 'configIndex' | 'isUp'> {
  /** `service.name`. */
  readonly name: string;
  /** null before the first scrape. */
  readonly isUp: boolean | null;
  /** Series per family. */
  readonly families: Readonly<Partial<Record<Family, number>>>;
  /** Samples of the last page that made no point, by reason. */
  readonly droppedByReason: Readonly<Record<string, number>>;
}

interface UnconfiguredReport {
  readonly id: string;
  readonly samples: number;
  readonly isSent: boolean;
}

/** Targets and services as their last scrapes left them. */
export function scrapeStatus(daemon: Daemon): ScrapeStatus {
  const { targets, config } = daemon;
  const strangers = targets.flatMap(unconfiguredOf).sort((a, b) => b.samples - a.samples);
  const rest = strangers.slice(UNCONFIGURED_SHOWN_MAX);
  return {
    targets: targets.map((log, index) => targetReport(daemon, log, index)),
    services: config.services.map(({ id, name }) => serviceReport(targets, id, name)),
    unconfigured: strangers.slice(0, UNCONFIGURED_SHOWN_MAX),
    unconfiguredRest: {
      services: rest.length,
      samples: rest.reduce((sum, { samples }) => sum + samples, 0),
    },
  };
}

function targetReport(daemon: Daemon, log: TargetLog, index: number): TargetReport {
  const { target, last, table } = log;
  const reason = last?.reason ?? '';
  const [problem] = last?.problems ?? [];
  const isDown = reason === 'auth' ? 'auth' : 'down';
  return {
    name: target.name,
    url: `${target.api.baseUrl}${target.path}`,
    state: last === null ? 'waiting' : reason === '' ? 'up' : isDown,
    scrapeCount: log.scrapeCount,
    failureCount: log.failureCount,
    lastScrapeAt: last === null ? null : instant(last.atMs),
    lastDurationMs: last?.durationMs ?? null,
    lastReason: reason,
    lastMessage: reason === '' ? '' : (last?.message ?? ''),
    nextScrapeAt: instant(daemon.nextScrapeAtMs(index)),
    firstProblem: problem ?? null,
    series: table.count - table.free.length,
    refused: last === null || last.refused === null ? null : refusedReport(last.refused),
    ...(last?.facts ?? NO_PAGE),
    drift: Object.fromEntries(log.drift),
  };
}

/** Before the first scrape. */
const NO_OUTCOME: Omit<ServiceOutcome, 'id' | 'isUp'> & { readonly isUp: null } = {
  configIndex: -1,
  isUp: null,
  reason: '',
  samples: 0,
  badLines: 0,
  points: 0,
  stalePoints: 0,
  isSourceStale: false,
  stuckUptimes: 0,
};

function serviceReport(targets: readonly TargetLog[], id: string, name: string): ServiceReport {
  const log = targets.find(({ target }) => target.configured.has(id));
  const found = log?.last?.services.find(service => service.id === id);
  const { configIndex: _, ...outcome } = found ?? NO_OUTCOME;
  const dropped = (log?.last?.reads ?? [])
    .filter(({ service, fate }) => service === id && isDrop(fate))
    .map(({ fate, count }) => [fate, count]);
  return {
    id,
    name,
    ...outcome,
    families: log === undefined ? {} : familiesOf(log.table, id),
    droppedByReason: Object.fromEntries(dropped) as Record<string, number>,
  };
}

/** Series that are sent, per family; the bridge's own are counted with `other`. */
function familiesOf(table: SeriesTable, id: string): Partial<Record<Family, number>> {
  const service = table.serviceById.get(id);
  const counts: Partial<Record<Family, number>> = {};
  for (const row of table.order) {
    if (table.keyLength[row] === 0 || table.fate[row] === FATE.excluded) continue;
    if (table.blocks[table.block[row] ?? 0]?.service !== service) continue;
    const family = table.metrics[table.metric[row] ?? 0]?.family ?? 'other';
    counts[family] = (counts[family] ?? 0) + 1;
  }
  return counts;
}

function unconfiguredOf({ table, last }: TargetLog): readonly UnconfiguredReport[] {
  const unconfigured = FATE_NAMES[FATE.unconfigured];
  const samples = new Map<string, number>();
  const unsent = new Map<string, number>();
  for (const { service, fate, count } of last?.reads ?? []) {
    samples.set(service, (samples.get(service) ?? 0) + count);
    if (fate === unconfigured) unsent.set(service, count);
  }
  return table.services
    .filter(({ id, configIndex, isElsewhere }, index) => {
      const isStranger = configIndex < 0 && !isElsewhere;
      return isStranger && table.serviceById.get(id) === index;
    })
    .map(({ id, isSent }) => {
      const counts = isSent ? samples : unsent;
      return { id, samples: counts.get(id) ?? 0, isSent };
    });
}

// Problems. Reasons without advice here speak for themselves, or follow from the configuration.

/** Why a service is down on a page that is good. */
export const SERVICE_ADVICE: Readonly<Record<string, Advice>> = {
  absent: {
    message: 'the page is good but does not contain this service',
    hint: 'Check its id under services, and that the key may see it.',
  },
  bad_lines: {
    message: 'it has more bad lines than metrics.bad_share allows',
    hint: 'Save the page and run prom2otlp show decode on it.',
  },
  service_samples: {
    message: 'it has more samples than metrics.limits.service_samples',
    hint: 'Raise the limit if this many are expected.',
  },
};

/** Why samples of the last page made no point, where that is no plain consequence of the configuration. */
export const DROP_ADVICE: Readonly<Record<string, Advice>> = {
  time_backwards: {
    message: 'older than a sent sample of the same series',
    hint: 'A back end would refuse them. Two sources that share one id would do this.',
  },
  time_conflict: {
    message: 'with another value for a time that was already sent',
    hint: 'A back end would refuse them. Two sources that share one id would do this.',
  },
  time_future: {
    message: 'more than ten minutes ahead of our clock',
    hint: 'Check the clock of this machine; metrics.honor_timestamps: false uses ours instead.',
  },
  histogram_invalid: {
    message: 'of histograms whose buckets contradict each other',
    hint: 'This comes from the service; the other series are not affected.',
  },
  summary_invalid: {
    message: 'of summaries without a count',
    hint: 'This comes from the service; the other series are not affected.',
  },
  gauge_histogram: {
    message: 'of gauge histograms, which OTLP has no type for',
    hint: 'No action is needed; metrics.exclude hides it.',
  },
  duplicate: {
    message: 'that occur twice on the page',
    hint: 'Check metrics.drop_labels: it may remove labels that identify the series.',
  },
};

/** Its explicit timestamps have not moved for `metrics.stale_after`. */
const SOURCE_STALE: Advice = {
  message: 'its timestamps do not move: the service repeats the same values',
  hint: 'Its series are marked as ended until it moves again. Check the state of the service.',
};

/** Problems of targets and services, with notes worth knowing. */
export function scrapeProblems(status: ScrapeStatus): readonly StatusProblem[] {
  return [
    ...status.targets.flatMap(targetProblems),
    ...serviceProblems(status),
    ...unconfiguredNotes(status),
    ...status.targets.flatMap(driftNotes),
  ];
}

function targetProblems(target: TargetReport): readonly StatusProblem[] {
  const { name, state, lastReason, lastMessage, badLines, firstProblem, clockSkewMs } = target;
  const found: StatusProblem[] = [];
  if (state === 'down' || state === 'auth') {
    const message = lastMessage === '' ? `cannot be scraped: ${lastReason}` : lastMessage;
    found.push(problem('error', name, { message, hint: sentence(target.hint) }));
  }
  if (target.refused !== null) {
    const { samples, families } = target.refused;
    const named = Object.entries(families).map(([name, count]) => `${name} ${formatCount(count)}`);
    const message = `${SERIES_REFUSED.message}: ${counted(samples, 'sample')} of the last page, most of ${named.join(', ')}`;
    found.push(problem('warning', name, { message, hint: SERIES_REFUSED.hint }));
  }
  if (isSkewed(clockSkewMs)) {
    const where = clockSkewMs > 0 ? 'ahead' : 'behind';
    const message = `${CLOCK_SKEWED.message}: ours is ${formatDuration(Math.abs(clockSkewMs))} ${where}`;
    found.push(problem('warning', name, { message, hint: CLOCK_SKEWED.hint }));
  }
  if (badLines > 0) {
    const first =
      firstProblem === null
        ? ''
        : `; the first at line ${firstProblem.line}, column ${firstProblem.column}: ${firstProblem.reason}`;
    found.push(
      problem('warning', name, {
        message: `${counted(badLines, 'line')} of the last page cannot be read${first}`,
        hint: 'They are left out, the lines around them are used. Save the page and run prom2otlp show decode on it.',
      }),
    );
  }
  return found;
}

function serviceProblems({ targets, services }: ScrapeStatus): readonly StatusProblem[] {
  // A target that is down takes its services with it: one problem, the target's, is enough.
  const targetReasons = new Set(targets.map(target => target.lastReason));
  return services.flatMap(service => {
    const { name, isUp, reason, isSourceStale, stuckUptimes } = service;
    const isAlone = isUp === false && !targetReasons.has(reason);
    const advice = SERVICE_ADVICE[reason] ?? { message: `is down: ${reason}`, hint: '' };
    return [
      ...(isAlone ? [problem('error', name, advice)] : []),
      ...(isSourceStale ? [problem('warning', name, SOURCE_STALE)] : []),
      ...(stuckUptimes > 0 ? [problem('warning', name, UPTIME_STUCK)] : []),
      ...dropWarnings(service),
    ];
  });
}

function dropWarnings({ name, droppedByReason }: ServiceReport): readonly StatusProblem[] {
  return Object.entries(droppedByReason).flatMap(([reason, count]) => {
    const advice = DROP_ADVICE[reason];
    if (advice === undefined || count === 0) return [];
    const message = `${counted(count, 'sample')} of the last page dropped: ${advice.message}`;
    return [problem('warning', name, { message, hint: advice.hint })];
  });
}

/** One line sums up more of them. */
const STRANGERS_LISTED_MAX = 10;

function unconfiguredNotes(status: ScrapeStatus): readonly StatusProblem[] {
  const unsent = status.unconfigured.filter(({ isSent }) => !isSent);
  const { services, samples } = status.unconfiguredRest;
  if (unsent.length + services <= STRANGERS_LISTED_MAX)
    return unsent.map(({ id, samples }) =>
      problem('note', id, {
        message: `${counted(samples, 'sample')} of a service that no entry names are not sent`,
        hint: 'Add it to services, or set unconfigured_services: send.',
      }),
    );
  if (unsent.length === 0) return [];
  const all = unsent.reduce((sum, one) => sum + one.samples, samples);
  const message = `${counted(all, 'sample')} of ${counted(unsent.length + services, 'service')} that no entry names are not sent`;
  const hint =
    'They are listed under unconfigured. Add them to services, or set unconfigured_services: send.';
  return [problem('note', 'services', { message, hint })];
}

function driftNotes({ name, drift }: TargetReport): readonly StatusProblem[] {
  const families = Object.keys(drift) as Family[];
  return families.flatMap(family => {
    const { contradicted, mangled } = drift[family] ?? {};
    const hint = 'The names are listed under drift.';
    const notes: StatusProblem[] = [];
    if (contradicted !== undefined && contradicted.count > 0) {
      const message = `${counted(contradicted.count, 'series')} of ${family} declared otherwise than the catalog has it; the catalog's type is sent`;
      notes.push(problem('note', name, { message, hint: `${hint} metrics.overrides settles it.` }));
    }
    if (mangled !== undefined && mangled.count > 0) {
      const message = `${counted(mangled.count, 'series')} of ${family} came under a damaged name`;
      notes.push(problem('note', name, { message, hint }));
    }
    return notes;
  });
}

// The tables of the page. What needs attention comes first in each.

export function servicesSection(report: ScrapeStatus & Accounted): Html {
  const columns = [
    { title: 'Service' },
    { title: 'State' },
    { title: 'Samples', isNumber: true },
    { title: 'Points', isNumber: true },
    { title: 'Dropped', isNumber: true },
    { title: 'Series per family' },
    { title: 'Accepted in all', isNumber: true },
    { title: 'Waiting', isNumber: true },
    { title: 'Lost', isNumber: true },
  ];
  const sorted = [...report.services].sort((a, b) => serviceRank(a) - serviceRank(b));
  const rows = table(columns, sorted, service => serviceRow(service, report));
  return section('Services', 'samples and points of the last page', rows);
}

function serviceRow(service: ServiceReport, { account }: Accounted): Html {
  const { id, name, samples, points, badLines, droppedByReason, families } = service;
  const numbers = account.services[id]?.points;
  const dropped = numberList(droppedByReason);
  const droppedCount = Object.values(droppedByReason).reduce((sum, count) => sum + count, 0);
  const lost = numbers === undefined ? 0 : numbers.rejected + numbers.setAside + numbers.evicted;
  return html`<tr><th scope="row">${name}${name === id ? null : html` <small class="faint">${id}</small>`}</th>
<td>${serviceState(service)}</td>${countCell(samples)}${countCell(points)}
${countCell(droppedCount + badLines, dropped)}
<td class="text">${numberList(families) ?? '–'}</td>
${countCell(numbers?.accepted ?? 0)}${countCell(numbers?.queued ?? 0)}${countCell(lost)}</tr>
`;
}

function serviceState({ isUp, reason, isSourceStale }: ServiceReport): Html {
  if (isUp === null) return badge('busy', 'waiting');
  if (!isUp) return html`${badge('bad', 'down')}<small>${reason}</small>`;
  return isSourceStale
    ? html`${badge('warn', 'up')}<small>not moving</small>`
    : badge('good', 'up');
}

function serviceRank({ isUp, isSourceStale }: ServiceReport): number {
  if (isUp === false) return 0;
  return isSourceStale ? 1 : 2;
}

const TARGET_TONES: Readonly<Record<TargetReport['state'], Tone>> = {
  waiting: 'busy',
  up: 'good',
  down: 'bad',
  auth: 'bad',
};

export function targetsSection(report: ScrapeStatus & Reported): Html {
  const columns = [
    { title: 'Target' },
    { title: 'State' },
    { title: 'Last scrape' },
    { title: 'Next' },
    { title: 'Scrapes', isNumber: true },
    { title: 'Failed', isNumber: true },
    { title: 'Samples', isNumber: true },
    { title: 'Series', isNumber: true },
    { title: 'Page', isNumber: true },
    { title: 'Last error' },
  ];
  const isDown = ({ state }: TargetReport): boolean => state === 'down' || state === 'auth';
  const sorted = [...report.targets].sort((a, b) => Number(isDown(b)) - Number(isDown(a)));
  const rows = table(columns, sorted, target => targetRow(target, report));
  return section('Targets', 'an address that is polled for one or more services', rows);
}

function targetRow(target: TargetReport, report: Reported): Html {
  const { name, url, state, lastDurationMs, bodyBytes, path } = target;
  const word = state === 'auth' ? 'key refused' : state;
  const took =
    lastDurationMs === null ? null : html`<small>took ${formatDuration(lastDurationMs)}</small>`;
  return html`<tr><th scope="row">${name}<code class="faint">${url}</code></th>
<td>${badge(TARGET_TONES[state], word)}</td>
<td>${age(report, target.lastScrapeAt)}${took}</td><td>${age(report, target.nextScrapeAt)}</td>
${countCell(target.scrapeCount)}${countCell(target.failureCount)}
${countCell(target.samples)}${countCell(target.series)}
<td class="n">${formatBytes(bodyBytes)}${path === null ? null : html`<small>${path}</small>`}</td>
<td class="text">${lastErrorOf(target)}</td></tr>
`;
}

function lastErrorOf({
  lastReason,
  lastMessage,
  hint,
  badLines,
  firstProblem,
}: TargetReport): Html {
  if (lastReason !== '')
    return html`${badge('bad', lastReason)} ${lastMessage}${hint === '' ? null : html`<small>${hint}</small>`}`;
  if (badLines === 0 || firstProblem === null) return html`<span class="faint">none</span>`;
  const { line, column, reason } = firstProblem;
  return html`${badge('warn', `${formatCount(badLines)} bad lines`)} line ${line}, column ${column}: ${reason}`;
}

export function driftSection(targets: readonly TargetReport[]): Html | null {
  const blocks = targets.flatMap(({ name, drift }, index) =>
    Object.entries(drift).flatMap(([family, lists]) =>
      driftBlock(name, `${index}-${family}`, lists),
    ),
  );
  if (blocks.length === 0) return null;
  return section(
    'Drift',
    'what the pages have against the catalog; every series is sent all the same',
    blocks,
  );
}

/** `key` names the block, so that it stays open over a refresh. */
function driftBlock(target: string, key: string, drift: FamilyDrift): readonly Html[] {
  const { appeared, vanished, contradicted, mangled } = drift;
  const lists = [
    driftList('unknown to the catalog', appeared.count, appeared.items),
    driftList('missing, though others of their table are there', vanished.count, vanished.items),
    driftList(
      'declared otherwise than the catalog has them',
      contradicted.count,
      contradicted.items.map(({ name, declared }) => `${name} (${declared})`),
    ),
    driftList(
      'under a damaged name',
      mangled.count,
      mangled.items.map(({ name, original }) => `${name} (${original})`),
    ),
  ].filter(list => list !== null);
  if (lists.length === 0) return [];
  const family = key.slice(key.indexOf('-') + 1);
  const counts = lists.map(({ title }) => title).join('; ');
  return [
    html`<details id="drift-${key}"><summary>${target}, ${family}: ${counts}</summary>${lists.map(
      ({ content }) => content,
    )}</details>
`,
  ];
}

function driftList(
  what: string,
  count: number,
  names: readonly string[],
): { readonly title: string; readonly content: HtmlValue } | null {
  if (count === 0) return null;
  const title = `${formatCount(count)} ${what}`;
  const rest = count - names.length;
  const items = names.map(name => html`<li><code>${name}</code></li>`);
  if (rest > 0) items.push(html`<li class="faint">and ${formatCount(rest)} more</li>`);
  return { title, content: html`<p>${title}</p><ul class="names">${items}</ul>` };
}

// Targets, services and the drift from the catalog in /status.json and on the page. For each field,
// this file has its declaration, its source, its problems and its place on the page.

import type { FamilyDrift } from '../catalog/drift.ts';
import type { Daemon } from '../daemon/daemon.ts';
import { type Change, LEFT_OUT } from '../daemon/discovery.ts';
import {
  CLOCK_SKEWED,
  isSkewed,
  LABELS_TAKEN,
  seriesRefused,
  STATE_LOST,
  TIMES_EARLY,
  type TargetLog,
  type TargetStatus,
  UPTIME_LOST,
} from '../daemon/target-log.ts';
import { formatBytes, formatCount, formatDuration } from '../lib/format.ts';
import { didYouMean } from '../lib/nearest.ts';
import { printableUrl } from '../lib/printable.ts';
import type { Family } from '../model/metric.ts';
import { OUTCOME, OUTCOME_NAMES, ROLE, type SeriesTable } from '../model/series-table.ts';
import type { ServiceOutcome } from '../pipeline/derive/derive.ts';
import { isDrop } from './account-report.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { IN_MAINTENANCE, inventoryOf, type InventoryReport } from './inventory-status.ts';
import {
  age,
  badge,
  column,
  countColumn,
  countText,
  faint,
  numberList,
  remedy,
  type Reported,
  section,
  table,
  type Tone,
} from './page-parts.ts';
import { type Advice, counted, problem, type Finding } from './problem.ts';
import { instant, type Shown, shown } from './times.ts';

const UNCONFIGURED_SHOWN_MAX = 50;

export interface ScrapeStatus {
  readonly targets: readonly TargetReport[];
  /** All configured services, in the order of the configuration. */
  readonly services: readonly ServiceReport[];
  /** Services of the last pages without an entry in the configuration: the largest UNCONFIGURED_SHOWN_MAX. */
  readonly unconfigured: readonly UnconfiguredReport[];
  /** The sums of all other unconfigured services. */
  readonly unconfiguredRest: { readonly services: number; readonly samples: number };
  /** `services: auto`; null where the services are listed. */
  readonly discovery: DiscoveryReport | null;
}

/** How the list of services follows the pages. */
export interface DiscoveryReport {
  /** Services that the last good pages lack, the longest absent first; at most UNCONFIGURED_SHOWN_MAX. */
  readonly absent: readonly {
    readonly id: string;
    readonly name: string;
    readonly absentMs: number;
  }[];
  /** The latest changes, newest first. */
  readonly changes: readonly Shown<Change>[];
  /** The number of newcomers on the last page that are not taken. */
  readonly leftOut: number;
}

/** An address that is scraped with one key, for one or more services. */
export interface TargetReport extends Shown<TargetStatus> {
  readonly name: string;
  /** The URL without user, password and query. */
  readonly url: string;
  /** `waiting` before the first scrape; `auth` if the key was refused. */
  readonly state: 'waiting' | 'up' | 'down' | 'auth';
  readonly nextScrapeAt: string;
  /** Series in the table of the target. */
  readonly series: number;
  /** Differences between the last good page and the catalog, per family. */
  readonly drift: Readonly<Partial<Record<Family, FamilyDrift>>>;
}

/** A configured service after the last scrape of its target. */
export interface ServiceReport extends Omit<ServiceOutcome, 'configIndex' | 'isUp'> {
  /** The `service.name` of its Resource. */
  readonly name: string;
  /** null before the first scrape, and if metrics are not read. */
  readonly isUp: boolean | null;
  /** What the service's own list says; null where it says nothing. */
  readonly inventory: InventoryReport | null;
  /** Series of the page that are sent, per family. */
  readonly families: Readonly<Partial<Record<Family, number>>>;
  /** Series that prom2otlp adds, such as `up`. */
  readonly ownSeries: number;
  /** Samples of the last page that made no point, by reason. */
  readonly droppedByReason: Readonly<Record<string, number>>;
}

interface UnconfiguredReport {
  readonly id: string;
  readonly samples: number;
  readonly isSent: boolean;
}

/** The state after the last scrapes. With `isBrief`, series are not counted by family. */
export function scrapeStatus(daemon: Daemon, isBrief = false): ScrapeStatus {
  const { targets, config, discovery } = daemon;
  const found = new Map(targets.flatMap(log => servicesOf(log, isBrief)));
  // The key of one target may also see services of another target.
  const entries = new Set(config.services.map(({ id }) => id));
  const unconfigured = targets
    .flatMap(unconfiguredOf)
    .filter(({ id }) => !entries.has(id))
    .sort((a, b) => b.samples - a.samples);
  const rest = unconfigured.slice(UNCONFIGURED_SHOWN_MAX);
  return {
    targets: targets.map((log, index) => targetReport(daemon, log, index)),
    services: config.services.map(({ id, name }) => ({
      id,
      name,
      inventory: inventoryOf(daemon, id),
      ...(found.get(id) ?? { ...NO_OUTCOME, ...NO_SERIES, droppedByReason: {} }),
    })),
    unconfigured: unconfigured.slice(0, UNCONFIGURED_SHOWN_MAX),
    unconfiguredRest: {
      services: rest.length,
      samples: rest.reduce((sum, { samples }) => sum + samples, 0),
    },
    discovery: discovery && {
      absent: discovery.absent
        .toSorted((a, b) => b.absentMs - a.absentMs)
        .slice(0, UNCONFIGURED_SHOWN_MAX),
      changes: discovery.changes.map(shown),
      leftOut: discovery.leftOut,
    },
  };
}

function targetReport(daemon: Daemon, log: TargetLog, index: number): TargetReport {
  const { target, status, table, drift } = log;
  return {
    name: target.name,
    url: printableUrl(`${target.api.baseUrl}${target.path}`),
    state: stateOf(status),
    nextScrapeAt: instant(daemon.nextScrapeAtMs(index)),
    series: table.count - table.free.length,
    ...shown(status),
    drift: Object.fromEntries(drift),
  };
}

function stateOf({ scrapeCount, lastReason }: TargetStatus): TargetReport['state'] {
  if (scrapeCount === 0) return 'waiting';
  if (lastReason === '') return 'up';
  return lastReason === 'auth' ? 'auth' : 'down';
}

/** Before the first scrape. */
const NO_OUTCOME: Omit<ServiceOutcome, 'id' | 'isUp' | 'configIndex'> & { readonly isUp: null } = {
  isUp: null,
  reason: '',
  samples: 0,
  badLines: 0,
  points: 0,
  stalePoints: 0,
  isSourceStale: false,
  lostUptimes: 0,
};

/** The configured services of a target, by id. */
function servicesOf(
  { target, services, reads, table }: TargetLog,
  isBrief: boolean,
): readonly (readonly [id: string, report: Omit<ServiceReport, 'id' | 'name' | 'inventory'>])[] {
  const series = isBrief ? [] : seriesByService(table);
  const dropped = Map.groupBy(
    reads.filter(({ outcome }) => isDrop(outcome)),
    ({ service }) => service,
  );
  const outcomes = new Map(services.map(outcome => [outcome.id, outcome]));
  return [...target.configured.keys()].map(id => {
    const { configIndex: _, ...outcome } = outcomes.get(id) ?? { ...NO_OUTCOME, configIndex: -1 };
    const drops = (dropped.get(id) ?? []).map(({ outcome, count }) => [outcome, count]);
    const report = {
      ...outcome,
      ...(series[table.serviceById.get(id) ?? -1] ?? NO_SERIES),
      droppedByReason: Object.fromEntries(drops) as Record<string, number>,
    };
    return [id, report];
  });
}

type SeriesCounts = Pick<ServiceReport, 'families' | 'ownSeries'>;

const NO_SERIES: SeriesCounts = { families: {}, ownSeries: 0 };

/** By service index: the series that are sent. */
function seriesByService(table: SeriesTable): readonly SeriesCounts[] {
  const counts = table.services.map(() => ({
    families: {} as Partial<Record<Family, number>>,
    ownSeries: 0,
  }));
  for (const row of table.order) {
    if (table.keyLength[row] === 0 || table.outcome[row] === OUTCOME.excluded) continue;
    const count = counts[table.blocks[table.block[row] ?? 0]?.service ?? -1];
    if (count === undefined) continue;
    if (table.role[row] === ROLE.synthetic) {
      count.ownSeries++;
      continue;
    }
    const family = table.metrics[table.metric[row] ?? 0]?.family ?? 'other';
    count.families[family] = (count.families[family] ?? 0) + 1;
  }
  return counts;
}

function unconfiguredOf({ table, reads }: TargetLog): readonly UnconfiguredReport[] {
  const samples = new Map<string, number>();
  const unsent = new Map<string, number>();
  for (const { service, outcome, count } of reads) {
    samples.set(service, (samples.get(service) ?? 0) + count);
    if (outcome === OUTCOME_NAMES[OUTCOME.unconfigured]) unsent.set(service, count);
  }
  return table.services
    .filter(({ id, configIndex, isElsewhere }, index) => {
      const isUnconfigured = configIndex < 0 && !isElsewhere;
      return isUnconfigured && table.serviceById.get(id) === index;
    })
    .map(({ id, isSent }) => {
      const counts = isSent ? samples : unsent;
      return { id, samples: counts.get(id) ?? 0, isSent };
    });
}

// Problems. A reason without advice here is clear by itself, or follows from the configuration.

/** By the reason why a service is down although the page is good. */
export const SERVICE_ADVICE: Readonly<Record<string, Advice>> = {
  absent: {
    message: 'the page is good but does not contain this service',
    hint: 'Check its id under services, and that the key may see it.',
  },
  bad_lines: {
    message: 'it has more bad lines than metrics.bad_share allows',
    hint: 'Save the page and run prom2otlp show decode on it.',
  },
};

/** By the reason why samples made no point. Reasons that the configuration asks for are not problems. */
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
    message: 'more than a minute (or an interval) ahead of our clock',
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
  summary_dropped: {
    message: 'of summaries, as metrics.summaries says',
    hint: 'No action is needed; metrics.exclude hides it.',
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

/** The explicit timestamps of a service have not changed for `metrics.stale_after`. */
const SOURCE_STALE: Advice = {
  message: 'its timestamps do not move: the service repeats the same values',
  hint: 'Its series are marked as ended until it moves again. Check the state of the service.',
};

/** False with `metrics.enabled: false`: no service is up or down then. */
export function areMetricsRead({ targets }: Pick<ScrapeStatus, 'targets'>): boolean {
  return targets.length > 0;
}

/** True after a failed scrape. */
export function isDown({ state }: TargetReport): boolean {
  return state === 'down' || state === 'auth';
}

/** Problems of targets and services, and notes. */
export function scrapeProblems(status: ScrapeStatus): readonly Finding[] {
  return [
    ...status.targets.flatMap(targetProblems),
    ...serviceProblems(status),
    ...discoveryWarnings(status),
    ...unconfiguredNotes(status),
    ...status.targets.flatMap(driftNotes),
  ];
}

function targetProblems(target: TargetReport): readonly Finding[] {
  const { name, badLines, firstProblem, clockSkewMs } = target;
  const found: Finding[] = [];
  if (target.refused !== null) {
    const { limits, samples, families } = target.refused;
    const advice = seriesRefused(limits);
    const named = Object.entries(families).map(([name, count]) => `${name} ${formatCount(count)}`);
    const message = `${advice.message}: ${counted(samples, 'sample')} of the last page, most of ${named.join(', ')}`;
    const cause = `series refused ${name}`;
    found.push(problem('warning', name, { message, hint: advice.hint }, { cause }));
  }
  for (const [count, { message, hint }] of [
    [target.takenLabels, LABELS_TAKEN],
    [target.earlyTimes, TIMES_EARLY],
  ] as const) {
    const advice = { message: `${message}: ${formatCount(count)} on the last page`, hint };
    if (count > 0) found.push(problem('warning', name, advice, { cause: `${message} ${name}` }));
  }
  if (target.isStateLost) found.push(problem('warning', name, STATE_LOST, { cause: 'state' }));
  if (isSkewed(clockSkewMs)) {
    const where = clockSkewMs > 0 ? 'ahead' : 'behind';
    const message = `${CLOCK_SKEWED.message}: ours is ${formatDuration(Math.abs(clockSkewMs))} ${where}`;
    const about = { cause: 'clock', shared: CLOCK_SKEWED.message };
    found.push(problem('warning', name, { message, hint: CLOCK_SKEWED.hint }, about));
  }
  if (badLines > 0) {
    const first =
      firstProblem === null
        ? ''
        : `; the first at line ${firstProblem.line}, column ${firstProblem.column}: ${firstProblem.reason}`;
    const advice = {
      message: `${counted(badLines, 'line')} of the last page cannot be read${first}`,
      hint: 'They are left out, the lines around them are used. Save the page and run prom2otlp show decode on it.',
    };
    found.push(problem('warning', name, advice, { cause: `bad lines ${name}` }));
  }
  return found;
}

function serviceProblems({ targets, services, unconfigured }: ScrapeStatus): readonly Finding[] {
  const strangers = unconfigured.map(({ id }) => id);
  // All services of a failed target are down: the problem of the target is enough.
  const targetReasons = new Set(targets.map(target => target.lastReason));
  return services.flatMap(service => {
    const { name, isUp, reason, inventory } = service;
    const isAlone = isUp === false && reason !== 'stopped' && !targetReasons.has(reason);
    const isMaintained = reason === 'absent' && inventory?.isInMaintenance === true;
    const usual = SERVICE_ADVICE[reason] ?? { message: `is down: ${reason}`, hint: '' };
    const meant = reason === 'absent' ? didYouMean(service.id, strangers) : '';
    const advice =
      meant === '' ? usual : { ...usual, hint: `${usual.hint} ${meant.replace('did', 'Did')}` };
    const down = isMaintained
      ? problem('warning', name, IN_MAINTENANCE, { cause: 'maintenance' })
      : problem('error', name, advice, { cause: `down: ${reason}` });
    return [...(isAlone ? [down] : []), ...ownWarnings(service)];
  });
}

function ownWarnings(service: ServiceReport): readonly Finding[] {
  const { name, isSourceStale, lostUptimes } = service;
  return [
    ...(isSourceStale ? [problem('warning', name, SOURCE_STALE, { cause: 'source stale' })] : []),
    ...(lostUptimes > 0 ? [problem('warning', name, UPTIME_LOST, { cause: 'uptime' })] : []),
    ...dropWarnings(service),
  ];
}

function dropWarnings({ name, droppedByReason }: ServiceReport): readonly Finding[] {
  return Object.entries(droppedByReason).flatMap(([reason, count]) => {
    const advice = DROP_ADVICE[reason];
    if (advice === undefined || count === 0) return [];
    const message = `${counted(count, 'sample')} of the last page dropped: ${advice.message}`;
    const shared = `samples of the last page dropped: ${advice.message}`;
    const about = { cause: `dropped: ${reason}`, shared };
    return [problem('warning', name, { message, hint: advice.hint }, about)];
  });
}

/** More services without an entry are summed up in one line. */
const UNCONFIGURED_LISTED_MAX = 10;

function discoveryWarnings({ discovery }: ScrapeStatus): readonly Finding[] {
  if (discovery === null || discovery.leftOut === 0) return [];
  const about = { cause: 'services left out' };
  return [problem('warning', counted(discovery.leftOut, 'service'), LEFT_OUT, about)];
}

/** None with `services: auto`: the services that it leaves out are excluded on purpose, or have a warning. */
function unconfiguredNotes(status: ScrapeStatus): readonly Finding[] {
  if (status.discovery !== null) return [];
  // A page that could not be read has no samples of any service.
  const unsent = status.unconfigured.filter(({ isSent, samples }) => !isSent && samples > 0);
  const { services, samples } = status.unconfiguredRest;
  if (unsent.length + services <= UNCONFIGURED_LISTED_MAX)
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

function driftNotes({ name, drift }: TargetReport): readonly Finding[] {
  const families = Object.keys(drift) as Family[];
  return families.flatMap(family => {
    const { contradicted, mangled } = drift[family] ?? {};
    const hint = 'The names are listed under drift.';
    const notes: Finding[] = [];
    if (contradicted !== undefined && contradicted.count > 0) {
      const message = `${counted(contradicted.count, 'series')} of ${family} with another type on the page than in the catalog; the catalog's type is sent`;
      notes.push(problem('note', name, { message, hint: `${hint} metrics.overrides settles it.` }));
    }
    if (mangled !== undefined && mangled.count > 0) {
      const message = `${counted(mangled.count, 'series')} of ${family} with a damaged name`;
      notes.push(problem('note', name, { message, hint }));
    }
    return notes;
  });
}

// The tables of the page. Rows with a problem come first.

/** `isLinked`: each name leads to the page of its service. */
export function servicesSection(
  { services, targets }: Pick<ScrapeStatus, 'services' | 'targets'>,
  isLinked = true,
): Html {
  const areRead = areMetricsRead({ targets });
  const rows = table(
    services,
    [
      column(
        'Service',
        ({ id, name }) => [
          isLinked ? html`<a href="services/${encodeURIComponent(id)}">${name}</a>` : name,
          name === id ? null : faint(id),
        ],
        'head',
      ),
      column('State', service =>
        areRead ? serviceState(service) : badge('none', 'metrics not read'),
      ),
      countColumn('Samples', ({ samples }) => samples),
      countColumn('Points', ({ points }) => points),
      column('Dropped', droppedCell, 'n'),
      column('Series of the page', ({ families }) => numberList(families) ?? '–', 'text'),
      countColumn('Our own', ({ ownSeries }) => ownSeries),
    ],
    {
      id: 'services',
      noun: 'service',
      toneOf: service => (areRead ? serviceTone(service) : 'none'),
      anchorOf: ({ id }) => `s-${encodeURIComponent(id)}`,
    },
  );
  const content = services.length > 0 ? rows : html`<p class="faint">None is known yet.</p>`;
  return section('Services', 'samples and points of the last page', content);
}

/** The latest services that came or went; null if there are none. */
export function discoverySection({ discovery, reportedAt }: ScrapeStatus & Reported): Html | null {
  if (discovery === null || discovery.changes.length === 0) return null;
  // Services that come at once are one row.
  const groups = [...Map.groupBy(discovery.changes, ({ at, change }) => `${at} ${change}`)];
  const rows = table(
    groups.map(([, changes]) => changes),
    [
      column<Changes>('Service', changedNames, 'head'),
      column<Changes>('Change', ([first]) => first?.change ?? '', 'text'),
      column<Changes>('When', ([first]) => age({ reportedAt }, first?.at ?? null), 'text'),
    ],
    { id: 'changes', noun: 'change' },
  );
  return section('Coming and going', 'services that the key sees, by services: auto', rows);
}

type Changes = DiscoveryReport['changes'];

function changedNames(changes: Changes): HtmlValue {
  const [first, ...more] = changes;
  if (first === undefined) return null;
  if (more.length === 0) return [first.name, first.name === first.id ? null : faint(first.id)];
  return [counted(changes.length, 'service'), faint(changes.map(({ name }) => name).join(', '))];
}

/** Samples and lines of the last page that made no point, and why. */
function droppedCell({ badLines, droppedByReason }: ServiceReport): HtmlValue {
  const dropped = Object.values(droppedByReason).reduce((sum, count) => sum + count, 0);
  const reasons = numberList(droppedByReason);
  return [countText(dropped + badLines), reasons === null ? null : html`<small>${reasons}</small>`];
}

function serviceState(service: ServiceReport): Html {
  const { isUp, reason, inventory, isSourceStale } = service;
  if (isUp === null) return badge('busy', 'waiting');
  if (reason === 'stopped') return badge('none', 'stopped');
  const state = badge(serviceTone(service), isUp ? 'up' : 'down');
  const usual = isUp ? (isSourceStale ? 'not moving' : '') : reason;
  const why = inventory?.isInMaintenance === true ? 'maintenance' : usual;
  return why === '' ? state : html`${state}<small>${why}</small>`;
}

/** As severe as the worst problem that the service has by itself. */
function serviceTone(service: ServiceReport): Tone {
  const { isUp, reason, inventory, badLines } = service;
  if (isUp === null) return 'busy';
  if (reason === 'stopped') return 'none';
  if (!isUp) return inventory?.isInMaintenance === true ? 'warn' : 'bad';
  const isDoubtful = badLines > 0 || ownWarnings(service).length > 0;
  return isDoubtful ? 'warn' : 'good';
}

const TARGET_STATES: Readonly<Record<TargetReport['state'], readonly [tone: Tone, word: string]>> =
  {
    waiting: ['busy', 'waiting'],
    up: ['good', 'up'],
    down: ['bad', 'down'],
    auth: ['bad', 'key refused'],
  };

/** null if metrics are not read. */
export function targetsSection(report: ScrapeStatus & Reported): Html | null {
  if (!areMetricsRead(report)) return null;
  const rows = table(
    report.targets,
    [
      column('Target', ({ name, url }) => html`${name}<code class="faint">${url}</code>`, 'head'),
      column('State', target => badge(targetTone(target), TARGET_STATES[target.state][1])),
      column('Last scrape', ({ lastScrapeAt, lastDurationMs }) => [
        age(report, lastScrapeAt),
        lastDurationMs === null
          ? null
          : html`<small>took ${formatDuration(lastDurationMs)}</small>`,
      ]),
      column('Next', ({ nextScrapeAt }) => age(report, nextScrapeAt)),
      countColumn('Scrapes', ({ scrapeCount }) => scrapeCount),
      countColumn('Failed', ({ failureCount }) => failureCount),
      countColumn('Samples', ({ samples }) => samples),
      countColumn('Series', ({ series }) => series),
      column(
        'Page',
        ({ bodyBytes, path }) => [
          formatBytes(bodyBytes),
          path === null ? null : html`<small>${path}</small>`,
        ],
        'n',
        ({ bodyBytes }) => bodyBytes,
      ),
      column('Last error', lastErrorOf, 'text'),
    ],
    {
      id: 'targets',
      noun: 'target',
      toneOf: targetTone,
    },
  );
  return section('Targets', 'an address that is polled for one or more services', rows);
}

/** As severe as the worst problem of the target. */
function targetTone(target: TargetReport): Tone {
  const [tone] = TARGET_STATES[target.state];
  const isDoubtful = targetProblems(target).some(({ severity }) => severity === 'warning');
  return isDoubtful && tone !== 'bad' ? 'warn' : tone;
}

function lastErrorOf({
  lastReason,
  lastMessage,
  hint,
  badLines,
  firstProblem,
}: TargetReport): Html {
  if (lastReason !== '') return html`${badge('bad', lastReason)} ${lastMessage}${remedy(hint)}`;
  if (badLines === 0 || firstProblem === null) return html`<span class="faint">none</span>`;
  const { line, column, reason } = firstProblem;
  return html`${badge('warn', `${formatCount(badLines)} bad lines`)} line ${line}, column ${column}: ${reason}`;
}

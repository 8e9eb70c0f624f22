// The lower part of the status page, shown only where there is something to show: logs, backups, what was set
// aside, and what the pages have against the catalog (folded up, since it is long and rarely urgent).

import type { FamilyDrift } from '../catalog/drift.ts';
import { formatCount } from '../lib/format.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { age, badge, countCell, meterBar, section, table } from './page-parts.ts';
import type { BackupsReport, LogsReport, StatusReport, TargetReport } from './status-report.ts';

export function detailSections(report: StatusReport): readonly (Html | null)[] {
  const { logs, backups } = report;
  return [
    logs === null ? null : logsSection(logs, report),
    backups === null ? null : backupsSection(backups, report),
    report.setAside.length === 0 ? null : setAsideSection(report),
    driftSection(report.targets),
  ];
}

function logsSection(logs: LogsReport, report: StatusReport): Html {
  const { partitions, nextPullAt, catchUp, givenUp } = logs;
  const columns = [
    { title: 'Log' },
    { title: 'State' },
    { title: 'Done until' },
    { title: 'Records', isNumber: true },
    { title: 'Gaps', isNumber: true },
    { title: 'Last error' },
  ];
  const tones = { waiting: 'good', pulling: 'busy', failed: 'bad' } as const;
  const rows = table(
    columns,
    partitions,
    ({ service, source, type, state, doneUntil, recordCount, gapCount, lastError }) =>
      html`<tr><th scope="row">${service} <small class="faint">${type}, ${source}</small></th>
<td>${badge(tones[state], state)}</td><td>${age(report, doneUntil)}</td>
${countCell(recordCount)}${countCell(gapCount)}<td class="text">${lastError ?? '–'}</td></tr>
`,
  );
  const next =
    nextPullAt === null ? null : html`<p class="faint">Next pull ${age(report, nextPullAt)}.</p>`;
  const progress = catchUp.map(
    ({ name, doneCount, dueCount }) =>
      html`<p>Reading ${formatCount(doneCount)} of ${formatCount(dueCount)} archives of ${name}.${meterBar(doneCount / dueCount, 'none')}</p>`,
  );
  const broken = givenUp.length === 0 ? null : givenUpTable(givenUp, report);
  const content = [rows, progress, broken, next];
  return section('Logs', 'pulled from the service on a schedule', content);
}

function givenUpTable(givenUp: LogsReport['givenUp'], report: StatusReport): Html {
  const columns = [
    { title: 'Given up' },
    { title: 'Archive' },
    { title: 'Reason' },
    { title: 'Kept as' },
  ];
  return table(
    columns,
    givenUp,
    ({ at, service, type, archive, reason, file }) =>
      html`<tr><td>${age(report, at)}</td>
<th scope="row">${archive} <small class="faint">${type} of ${service}</small></th>
<td>${reason}</td><td class="text">${file === null ? '–' : html`<code>${file}</code>`}</td></tr>
`,
  );
}

function backupsSection({ services, nextReadAt }: BackupsReport, report: StatusReport): Html {
  const columns = [
    { title: 'Service' },
    { title: 'Full backup' },
    { title: 'Schedules', isNumber: true },
    { title: 'Next' },
    { title: 'Last' },
    { title: 'Last error' },
  ];
  const rows = table(
    columns,
    services,
    one =>
      html`<tr><th scope="row">${one.name}<small class="faint">${one.service}</small></th>
<td>${fullBackupBadge(one.isFullScheduled)}</td>${one.scheduleCount === null ? html`<td class="n">–</td>` : countCell(one.scheduleCount)}
<td>${age(report, one.nextFullRunAt)}</td><td>${age(report, one.lastFullFinishedAt)}</td><td class="text">${one.lastError ?? '–'}</td></tr>
`,
  );
  const next =
    nextReadAt === null ? null : html`<p class="faint">Next look ${age(report, nextReadAt)}.</p>`;
  return section('Backups', 'what the schedules of the service amount to', [rows, next]);
}

function fullBackupBadge(isScheduled: boolean | null): Html {
  if (isScheduled === null) return badge('none', 'unknown');
  return isScheduled ? badge('good', 'scheduled') : badge('bad', 'none scheduled');
}

function setAsideSection(report: StatusReport): Html {
  const columns = [
    { title: 'When' },
    { title: 'Signal' },
    { title: 'Service' },
    { title: 'Points', isNumber: true },
    { title: 'The back end said' },
  ];
  const rows = table(
    columns,
    report.setAside,
    ({ at, signal, service, points, reason }) =>
      html`<tr><td>${age(report, at)}</td><td>${signal}</td><td>${service}</td>${countCell(points)}
<td class="text">${reason}</td></tr>
`,
  );
  return section('Set aside', 'refused by the back end for good', rows);
}

function driftSection(targets: readonly TargetReport[]): Html | null {
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

/** `key` tells the block apart from others on the page, so that it stays open over a refresh. */
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

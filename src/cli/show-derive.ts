// `show derive`: every typed series of the pages: family, type and where it came from, unit, start.

import { FATE, FATE_NAMES, type SeriesTable } from '../model.ts';
import { keyOfRow } from '../pipeline/derive/find-series.ts';
import { defaultConfig, readPageFile, requireFiles, tellProblems } from './page-files.ts';
import { translatePages } from './show-pages.ts';
import { renderTable } from './table.ts';
import { readArgs, type VerbContext } from './verb.ts';

const VERB = 'show derive';

/** One series as `--jsonl` prints it. */
interface ShownSeries {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly service: string;
  readonly family: string;
  readonly type: string;
  readonly typeSource: string;
  readonly declared: string;
  readonly unit: string;
  readonly start: string | null;
  readonly time: string | null;
  readonly fate: string;
}

/** Runs the verb; the files are successive pages of one target, what is shown is its state after the last. */
export function showDerive(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, { jsonl: { type: 'boolean' } });
  const pages = requireFiles(VERB, words).map(readPageFile);
  const options = {
    config: defaultConfig(),
    atMs: context.clock.nowMs(),
    intervalMs: 15_000,
    serviceId: null,
  };
  let exitCode = 0;
  let shown: readonly ShownSeries[] = [];
  let index = 0;
  for (const { translation, translated } of translatePages(pages, options)) {
    shown = seriesOf(translation.table);
    const file = words[index++] ?? '';
    const problems = translated.page?.problems ?? [];
    tellProblems(context.err, file, problems);
    if (problems.length > 0) exitCode = 1;
  }
  if (values.jsonl === true) for (const series of shown) context.out.line(JSON.stringify(series));
  else context.out.line(tableOf(shown));
  return Promise.resolve(exitCode);
}

function seriesOf(table: SeriesTable): readonly ShownSeries[] {
  // In the order in which they are sent.
  return [...table.order]
    .filter(row => table.seen[row] === table.page || table.fate[row] === FATE.stale)
    .flatMap(row => {
      const metric = table.metrics[table.metric[row] ?? 0];
      if (metric === undefined || metric.familyName.startsWith('\u0001')) return [];
      const service = table.services[table.blocks[table.block[row] ?? 0]?.service ?? 0];
      const hasStart =
        metric.kind === 'sum' || metric.kind === 'histogram' || metric.kind === 'summary';
      return [
        {
          name: metric.sentName,
          labels: Object.fromEntries(keyOfRow(table, row).labels),
          service: service?.id ?? '',
          family: metric.family,
          type: metric.kind,
          typeSource: metric.typeSource,
          declared: metric.declared,
          unit: metric.sentUnit,
          start: hasStart ? instant(table.startMs[row]) : null,
          time: instant(table.timeMs[row]),
          fate: FATE_NAMES[table.fate[row] ?? 0] ?? '',
        },
      ];
    });
}

function instant(timeMs: number | undefined): string | null {
  return timeMs === undefined || Number.isNaN(timeMs) ? null : new Date(timeMs).toISOString();
}

function tableOf(shown: readonly ShownSeries[]): string {
  const head = ['SERVICE', 'FAMILY', 'NAME', 'LABELS', 'TYPE', 'FROM', 'UNIT', 'START'];
  const rows = shown.map(series => [
    series.service,
    series.family,
    series.name,
    Object.entries(series.labels)
      .filter(([label]) => label !== 'namespace')
      .map(([label, value]) => `${label}=${value}`)
      .join(','),
    series.type,
    series.typeSource,
    series.unit,
    series.start ?? '',
  ]);
  return renderTable([head, ...rows]);
}

// Results as lines for a terminal.

import { median } from './median.ts';
import { firstNs, isWhole, type Results, threePolls, timesOurs } from './results.ts';
import { megabytes, percent } from './words.ts';

export function resultLines(results: Results): string[] {
  return [
    '',
    `at commit ${results.commit}`,
    ...pacedLines(results),
    ...growthLines(results),
    ...startLines(results),
    ...drainLines(results),
    ...floorLines(results),
  ];
}

/** What must not happen: a run that broke off, samples that did not arrive, ours too slow for a scenario. */
export function problemsOf(results: Results): string[] {
  const lost = [...results.paced, ...results.start, ...results.drain].flatMap(result =>
    result.losses.map(loss => `${nameOf(result)}: ${loss}`),
  );
  const grown = results.growth.flatMap(({ series, losses, tooSlow }) =>
    [...losses, ...(tooSlow === null ? [] : [tooSlow])].map(
      loss => `growth, ${series} series: ${loss}`,
    ),
  );
  const broken = results.failures.map(({ words }) => words);
  const slow = results.paced.flatMap(({ scenario, contender, tooSlow }) =>
    tooSlow === null || !contender.startsWith('ours')
      ? []
      : [`${scenario}, ${contender}: ${tooSlow}`],
  );
  return [...broken, ...lost, ...grown, ...slow];
}

function nameOf(result: { readonly scenario?: string; readonly contender: string }): string {
  return result.scenario === undefined
    ? result.contender
    : `${result.scenario}, ${result.contender}`;
}

function pacedLines(results: Results): string[] {
  const lines: string[][] = [];
  for (const result of results.paced) {
    const { scenario, contender, pauses } = result;
    const ratios = timesOurs(results, scenario, contender);
    lines.push([
      `${scenario} ${result.run + 1}`,
      contender,
      result.nsPerSample.toFixed(0),
      ratios.length === 0 ? '' : `${median(ratios).toFixed(2)} x`,
      percent(result.cpuPercent),
      megabytes(result.lastBytes),
      result.anonymousBytes === null ? '' : megabytes(result.anonymousBytes),
      megabytes(result.peakBytes),
      firstNs(result),
      threePolls(result),
      result.wireBytesPerSample.toFixed(1),
      pauses === null ? '' : `${pauses.cpuMsMax.toFixed(0)} (${pauses.wallMsMax.toFixed(0)})`,
      isWhole(result) ? (result.tooSlow ?? '') : 'LOST',
    ]);
  }
  return table(
    [
      'scenario',
      'contender',
      'ns/sample',
      'of ours',
      'CPU',
      'RSS',
      'anonymous',
      'peak',
      'ns at first',
      'µs, 3 polls',
      'B/sample',
      'pause ms',
      '',
    ],
    lines,
  );
}

function growthLines({ growth }: Results): string[] {
  return table(
    ['series', 'interval', 'ns/sample', 'ns/added', 'RSS', 'peak', 'B/added', ''],
    growth.map(run => [
      String(run.series),
      `${run.intervalMs} ms`,
      run.nsPerSample.toFixed(0),
      run.nsPerAddedSample?.toFixed(0) ?? '',
      megabytes(run.lastBytes),
      megabytes(run.peakBytes),
      run.bytesPerAddedSeries?.toFixed(0) ?? '',
      run.tooSlow ?? '',
    ]),
  );
}

function startLines({ start }: Results): string[] {
  return table(
    ['start', 'shortest ms', 'median', 'longest'],
    start.map(({ contender, milliseconds: all }) => [
      contender,
      ...[all[0], all[all.length >> 1], all.at(-1)].map(String),
    ]),
  );
}

function drainLines({ drain }: Results): string[] {
  return table(
    ['drain', 'samples', 'first after ms', 'last after', 'samples/s', 'ns/sample'],
    drain.map(({ contender, samples, firstMs, lastMs, samplesPerSecond, nsPerSample }) => [
      contender,
      String(samples),
      String(firstMs),
      String(lastMs),
      samplesPerSecond.toFixed(0),
      nsPerSample.toFixed(0),
    ]),
  );
}

function floorLines({ floor }: Results): string[] {
  return table(
    ['floor', 'ns/sample'],
    floor.map(({ run, nsPerSample }) => [`run ${run + 1}`, String(nsPerSample)]),
  );
}

/** Columns as wide as what stands in them; [] without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return ['', ...all.map(line)];
}

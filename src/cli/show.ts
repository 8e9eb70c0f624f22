// `show`: what any stage of the data path makes of a file. Debugging tool, support tool and the maker of golden
// files are one.

import { createCatalogLookup } from '../catalog/lookup.ts';
import type { Config } from '../config/config.ts';
import { parseDuration } from '../config/units.ts';
import { bug } from '../errors.ts';
import type { Metric } from '../model/metric.ts';
import type { ExpositionFormat, Problem } from '../model/page.ts';
import { FATE, FATE_NAMES, SeriesTable } from '../model/series-table.ts';
import { translate, type Translated, type Translation } from '../pipeline.ts';
import { Decoding } from '../pipeline/decode/decode.ts';
import type { FamilyLines } from '../pipeline/decode/metadata.ts';
import { labelValue, parseSeriesKey } from '../pipeline/decode/series-key.ts';
import { strictProblems } from '../pipeline/decode/strict/strict.ts';
import { keyOfRow } from '../pipeline/derive/find-series.ts';
import { deriveOptions } from '../pipeline/derive/options.ts';
import { otlpJson } from '../pipeline/encode/otlp-json.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import type { Exemplar } from '../model/memory.ts';
import {
  defaultConfig,
  guessFormat,
  NO_SCRAPE,
  readFormat,
  readPageFile,
  requireFiles,
  tellMore,
  tellProblems,
} from './page-files.ts';
import {
  type ShownExemplar,
  type ShownFamily,
  type ShownSample,
  type ShownValue,
  toProm2Json,
} from './prom2json.ts';
import { parseWithReference } from './reference-parser.ts';
import { renderTable } from './table.ts';
import {
  type Action,
  readArgs,
  usageError,
  type Verb,
  type VerbContext,
  runAction,
} from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  decode: showDecode,
  derive: showDerive,
  encode: showEncode,
};

export const verb: Verb = {
  summary: 'the result of a stage for a file: show decode | derive | encode',
  help: `
Usage: prom2otlp show decode --format text|openmetrics [options] FILE...
       prom2otlp show derive [--jsonl] FILE...
       prom2otlp show encode [options] FILE...

Shows the result of one stage of the data path for exposition text. FILE may be - for standard input.

decode   the parsed page; exits with 1 if a file has problems
  --format text|openmetrics   the format of the files (default text)
  --strict                    reports everything that the format's specification forbids
  --jsonl                     one JSON object per file
  --output prom2json          families in the form of the prom2json tool
  --parser reference          reads with parse-prometheus-text-format, for comparison

derive   family, type and its source, unit and start of each series; exits with 1 on problems
  --jsonl                     one JSON object per series

encode   the OTLP/JSON that would be sent; several files are successive pages of one target
  --mapping semantic|strict   default semantic
  --at RFC3339                time of the first scrape (default now)
  --interval 15s              from one page to the next (default 15s)
  --service-id ID             the database service id; default each \`namespace\` found, or local

Exit: 0, 1 if a file has problems, 2 for a mistake on the command line or an unreadable file.

Examples:
  curl -sH "X-API-Key: $KEY" "$URL/observability/v2/metrics" | prom2otlp show derive -
  prom2otlp show decode --format text --strict page.prom
  prom2otlp show encode --at 2026-01-01T00:00:00Z --interval 60s page1.prom page2.prom`,
  run: context => runAction('show', ACTIONS, context),
};

// `show decode`: what the parser sees of exposition files, as a table, as JSON lines, or in prom2json's form.

const DECODE = 'show decode';

/** What `--jsonl` prints per file. */
interface ShownFile {
  readonly file: string;
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  readonly families: readonly object[];
}

/** Runs the verb; 1 when a file had problems. */
async function showDecode(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(DECODE, context.args, {
    format: { type: 'string', default: 'text' },
    strict: { type: 'boolean' },
    jsonl: { type: 'boolean' },
    output: { type: 'string' },
    parser: { type: 'string' },
  });
  const format = readFormat(DECODE, values.format);
  if (values.output !== undefined && values.output !== 'prom2json')
    throw usageError(DECODE, `expected --output prom2json, got ${JSON.stringify(values.output)}`);
  if (values.parser !== undefined && values.parser !== 'reference')
    throw usageError(DECODE, `expected --parser reference, got ${JSON.stringify(values.parser)}`);
  let exitCode = 0;
  for (const file of requireFiles(DECODE, words)) {
    const bytes = readPageFile(file);
    const shown =
      values.parser === 'reference'
        ? await readByReference(file, bytes)
        : readByUs(file, bytes, format, values.strict === true);
    if (!shown.ok) exitCode = 1;
    if (values.jsonl === true) context.out.line(JSON.stringify(shown));
    else if (values.output === 'prom2json')
      context.out.line(JSON.stringify(toProm2Json(shown.families as readonly ShownFamily[])));
    else printTable(context, shown);
    const tellOf = values.jsonl === true ? tellMore : tellProblems;
    tellOf(context.err, file, shown.problems);
  }
  return exitCode;
}

function readByUs(
  file: string,
  bytes: Buffer,
  format: ExpositionFormat,
  isStrict: boolean,
): ShownFile {
  const table = new SeriesTable();
  const page = { bytes, format, wireBytes: bytes.length, ...NO_SCRAPE };
  const decoding = new Decoding(page, table, defaultConfig().metrics.limits);
  while (!decoding.step(Infinity));
  const problems = isStrict ? strictProblems(bytes, format) : decoding.report.problems;
  const families = familiesOf(decoding, table);
  return { file, ok: problems.length === 0, problems, families };
}

/** The package gives a page up at its first bad line, and does not say where that is. */
async function readByReference(file: string, bytes: Buffer): Promise<ShownFile> {
  const result = await parseWithReference(bytes.toString());
  if (result.ok) return { file, ok: true, problems: [], families: result.families };
  const problems = [{ line: 0, column: 0, reason: result.reason }];
  return { file, ok: false, problems, families: [] };
}

function printTable(context: VerbContext, shown: ShownFile): void {
  const families = shown.families as readonly ShownFamily[];
  const samples = families.reduce((sum, family) => sum + family.samples.length, 0);
  const problems = shown.problems.length;
  context.out.line(
    `${shown.file}: ${families.length} families, ${samples} samples, ${problems} problems`,
  );
  const rows = families.map(({ name, type, unit, samples: list, help }) => [
    name,
    type,
    unit,
    String(list.length),
    help,
  ]);
  context.out.line(renderTable([['FAMILY', 'TYPE', 'UNIT', 'SAMPLES', 'HELP'], ...rows]));
}

// `show derive`: every typed series of the pages: family, type and where it came from, unit, start.

const DERIVE = 'show derive';

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
function showDerive(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(DERIVE, context.args, { jsonl: { type: 'boolean' } });
  const pages = requireFiles(DERIVE, words).map(readPageFile);
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

// `show encode`: the OTLP/JSON that a sequence of pages would be sent as, one line per page.

const ENCODE = 'show encode';

/** Runs the verb; 1 when a page had problems. */
function showEncode(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(ENCODE, context.args, {
    mapping: { type: 'string', default: 'semantic' },
    at: { type: 'string' },
    interval: { type: 'string', default: '15s' },
    'service-id': { type: 'string' },
  });
  const { mapping } = values;
  if (mapping !== 'semantic' && mapping !== 'strict')
    throw usageError(
      ENCODE,
      `expected --mapping semantic or strict, got ${JSON.stringify(mapping)}`,
    );
  const atMs = values.at === undefined ? context.clock.nowMs() : Date.parse(values.at);
  if (Number.isNaN(atMs))
    throw usageError(
      ENCODE,
      `expected --at as 2026-01-01T00:00:00Z, got ${JSON.stringify(values.at)}`,
    );
  const intervalMs = parseDuration(values.interval);
  if (intervalMs === undefined || intervalMs === 0)
    throw usageError(ENCODE, `expected --interval as 15s, got ${JSON.stringify(values.interval)}`);
  const config = defaultConfig();
  const pages = requireFiles(ENCODE, words).map(readPageFile);
  const options = {
    config: { ...config, metrics: { ...config.metrics, mapping } } as const,
    atMs,
    intervalMs,
    serviceId: values['service-id'] ?? null,
  };
  let exitCode = 0;
  let index = 0;
  for (const { translated } of translatePages(pages, options)) {
    context.out.line(otlpJson('metrics', translated.batch.payload));
    const file = words[index++] ?? '';
    const problems = translated.page?.problems ?? [];
    tellProblems(context.err, file, problems);
    if (problems.length > 0) exitCode = 1;
  }
  return Promise.resolve(exitCode);
}

// Files as successive pages of one target, through decode, derive and encode, as the daemon would do it.

interface PagesOptions {
  readonly config: Config;
  readonly atMs: number;
  readonly intervalMs: number;
  /** null: each namespace found is a service, and `local` when there is none. */
  readonly serviceId: string | null;
}

/** Translates pages one after the other; each result is valid until the next one is asked for. */
function* translatePages(
  pages: readonly Buffer[],
  options: PagesOptions,
): Generator<{ readonly translation: Translation; readonly translated: Translated }> {
  const ids =
    options.serviceId === null ? namespacesOf(pages, options.config) : [options.serviceId];
  const translation = translationOf(options.config, ids);
  const writer = new WireWriter();
  for (const [index, bytes] of pages.entries()) {
    const startedAtMs = options.atMs + index * options.intervalMs;
    const page = {
      bytes,
      format: guessFormat(bytes),
      startedAtMs,
      // The pages come at the pace that was asked for.
      monotonicMs: startedAtMs,
      durationMs: 0,
      serverAtMs: Number.NaN,
      wireBytes: bytes.length,
    };
    const steps = translate(translation, { kind: 'page', page }, writer);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    yield { translation, translated: step.value };
  }
}

function translationOf(config: Config, ids: readonly string[]): Translation {
  const configured = new Map(ids.map((id, index) => [id, index]));
  const table = new SeriesTable();
  return {
    table,
    isKept: false,
    limits: config.metrics.limits,
    derive: deriveOptions(config, createCatalogLookup(config.metrics.prefixes), configured),
    encode: {
      isDelta: config.otlp.temporality === 'delta',
      namespace: config.metrics.namespace,
      dropLabels: new Set(config.metrics.dropLabels),
      resourceOf: service => {
        const id = table.services[service]?.id ?? bug(`no service ${service}`);
        return { name: id, id, attributes: {}, server: null };
      },
    },
  };
}

function namespacesOf(pages: readonly Buffer[], config: Config): readonly string[] {
  const found = new Set<string>();
  for (const bytes of pages) {
    const table = new SeriesTable();
    const page = { bytes, format: guessFormat(bytes), wireBytes: bytes.length, ...NO_SCRAPE };
    const decoding = new Decoding(page, table, config.metrics.limits);
    while (!decoding.step(Infinity));
    for (let row = 0; row < table.count; row++) {
      const namespace = labelValue(keyOfRow(table, row), 'namespace');
      if (namespace !== '') found.add(namespace);
    }
  }
  return found.size === 0 ? ['local'] : [...found];
}

// What `show decode` prints of a decoded page: its families in page order with every sample as it stood, and the
// same in the shape that the prom2json tool made known. Reads the SeriesTable of one page and changes nothing;
// numbers that JSON cannot hold are the words of the exposition formats: "NaN", "+Inf", "-Inf".

/** What is asked of a finished Decoding. */
interface DecodedFamilies {
  readonly families: ReadonlyMap<string, Readonly<FamilyLines>>;
}

interface SampleAt {
  readonly line: number;
  readonly row: number;
  readonly value: number;
  readonly timeMs: number;
}

/**
 * The families of the page that `decoding` has just put into `table`, each where its name is met first (in
 * metadata or in a sample), with its samples in page order. Families that only have metadata lines are there too.
 */
export function familiesOf(decoding: DecodedFamilies, table: SeriesTable): ShownFamily[] {
  const found = new Map<string, { line: number; family: ShownFamily; samples: ShownSample[] }>();
  const add = (name: string, line: number, metric: Metric | undefined): ShownSample[] => {
    const known = found.get(name);
    if (known !== undefined) return known.samples;
    const lines = decoding.families.get(name);
    const samples: ShownSample[] = [];
    const type = lines?.type ?? metric?.declared ?? 'unknown';
    const family = { name, type, help: lines?.help ?? '', unit: lines?.unit ?? '', samples };
    found.set(name, { line: Math.min(line, lines?.line ?? line), family, samples });
    return samples;
  };
  for (const sample of samplesInOrder(table)) {
    const metric = table.metrics[table.metric[sample.row] ?? 0];
    add(metric?.familyName ?? '', sample.line, metric).push(shownSample(table, sample));
  }
  for (const [name, { line }] of decoding.families) add(name, line, undefined);
  return [...found.values()].sort((a, b) => a.line - b.line).map(({ family }) => family);
}

function samplesInOrder(table: SeriesTable): SampleAt[] {
  const samples: SampleAt[] = table.repeats.map(({ line, row, value, timeMs }) => ({
    line,
    row,
    value,
    timeMs,
  }));
  for (let row = 0; row < table.count; row++) {
    if (table.seen[row] !== table.page || table.keyLength[row] === 0) continue;
    samples.push({
      line: table.line[row] ?? 0,
      row,
      value: table.value[row] ?? 0,
      timeMs: table.timeMs[row] ?? Number.NaN,
    });
  }
  return samples.sort((a, b) => a.line - b.line);
}

function shownSample(table: SeriesTable, { row, value, timeMs }: SampleAt): ShownSample {
  const offset = table.keyOffset[row] ?? 0;
  const { name, labels } = parseSeriesKey(table.keys, offset, offset + (table.keyLength[row] ?? 0));
  const exemplar = table.exemplars.get(row);
  return {
    name,
    labels: Object.fromEntries(labels),
    value: shownValue(value),
    ...shownTime(timeMs),
    ...(exemplar === undefined ? {} : { exemplar: shownExemplar(exemplar) }),
  };
}

function shownExemplar({ labels, value, timeMs }: Exemplar): ShownExemplar {
  return { labels: Object.fromEntries(labels), value: shownValue(value), ...shownTime(timeMs) };
}

function shownTime(timeMs: number): { timestampMs?: number } {
  return Number.isNaN(timeMs) ? {} : { timestampMs: timeMs };
}

/** A number as JSON can carry it. */
export function shownValue(value: number): ShownValue {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : value;
}

// `show`: prints the result of a stage of the data path for a file, for debugging, for support and for golden files.

import { createCatalogLookup } from '../catalog/lookup.ts';
import type { Config } from '../config/config.ts';
import { defaultConfig, loadConfig } from '../config/load.ts';
import { bug } from '../errors.ts';
import { escapeHarmful, printableJson } from '../lib/printable.ts';
import type { Metric } from '../model/metric.ts';
import type { ExpositionFormat, Page } from '../model/page.ts';
import type { Exemplar, RepeatedSample } from '../model/memory.ts';
import { SeriesTable } from '../model/series-table.ts';
import { translate, type Translated, type Translation } from '../pipeline.ts';
import { Decoding } from '../pipeline/decode/decode.ts';
import { keyOfRow, labelValue } from '../pipeline/decode/series-key.ts';
import { deriveOptions } from '../pipeline/derive/options.ts';
import { otlpJson } from '../pipeline/encode/otlp-json.ts';
import { WireWriter } from '../pipeline/encode/wire.ts';
import {
  labelsText,
  type SeriesReport,
  seriesOf,
  shownValue,
  valueText,
} from '../status/series-report.ts';
import {
  guessFormat,
  pageOf,
  readPageFile,
  tellMore,
  tellPage,
  tellProblems,
} from './page-files.ts';
import {
  parseWithReference,
  type ShownExemplar,
  type ShownFamily,
  type ShownPage,
  type ShownSample,
  toProm2Json,
} from './prom2json.ts';
import { printTable, type Rows } from './table.ts';
import { choice, duration, flag, format, hidden, moment, text, withDefault } from './options.ts';
import {
  action,
  type Call,
  CONFIG_OPTION,
  configOf,
  usageError,
  type Verb,
  type VerbContext,
  type Words,
} from './verb.ts';

const FILES: Words = {
  value: 'FILE',
  about: 'exposition text; - is standard input',
  count: 'one or more',
  offers: 'files',
};
const INPUTS = ['text', 'openmetrics'] as const;
const DECODE_OPTIONS = {
  input: choice(INPUTS, 'the format of the files (default: text)'),
  // --input had this name.
  format: withDefault(
    choice(['table', 'json', ...INPUTS], 'a table, or one JSON object per file', INPUTS),
    'table',
  ),
  jsonl: hidden(flag('--format json')),
  output: choice(['prom2json'], 'families in the form of the prom2json tool'),
  parser: choice(['reference'], 'reads with parse-prometheus-text-format, for comparison'),
};
const DERIVE_OPTIONS = {
  config: CONFIG_OPTION,
  'service-id': text(
    'SERVICE',
    'only the series of this service: its id, or its name in the configuration',
    'services',
  ),
  format: format('a table, or one JSON object per series', 'jsonl'),
};
const ENCODE_OPTIONS = {
  mapping: withDefault(choice(['semantic', 'strict'], 'as metrics.mapping'), 'semantic'),
  at: moment('time of the first scrape (default: now)'),
  interval: withDefault(duration('from one page to the next'), '15s'),
  'service-id': text('ID', 'the database service id (default: each `namespace` found, or local)'),
};

export const verb: Verb = {
  name: 'show',
  summary: 'shows what one stage of the data path makes of a page',
  about: 'The pages are files with exposition text. show derive can also ask the service.',
  actions: [
    action({
      name: 'decode',
      summary: 'the parsed page',
      about:
        'It reads as the daemon does. promtool check metrics tells what else is wrong with a page of text.',
      words: FILES,
      options: DECODE_OPTIONS,
      run: showDecode,
    }),
    action({
      name: 'derive',
      summary: 'type and its source, value, unit, start and family of each series',
      about: `Without a FILE, it asks the service of the configuration once, sends nothing, and shows what the daemon
        would make of the answer.`,
      words: { ...FILES, count: 'any' },
      options: DERIVE_OPTIONS,
      run: showDerive,
    }),
    action({
      name: 'encode',
      summary: 'the OTLP/JSON that would be sent; several files are successive pages of one target',
      words: FILES,
      options: ENCODE_OPTIONS,
      run: showEncode,
    }),
  ],
  exits: {
    0: 'shown',
    1: 'a page has problems, there is none, or show derive has no series to show',
    2: 'a mistake on the command line, in the configuration, or an unreadable file',
  },
  examples: [
    'curl -sH "X-API-Key: $KEY" "$URL/observability/v2/metrics" | prom2otlp show derive -',
    'prom2otlp show derive --config /etc/prom2otlp/prom2otlp.yaml --service-id dbpgf12345678',
    'prom2otlp show decode --input openmetrics page.om',
    'prom2otlp show encode --at 2026-01-01T00:00:00Z --interval 60s page1.prom page2.prom',
  ],
};

// `show decode`: the parsed exposition files as a table, as JSON lines, or in prom2json's form.

async function showDecode(
  { values, words }: Call<typeof DECODE_OPTIONS>,
  context: VerbContext,
): Promise<number> {
  const { format } = values;
  const isJson = values.jsonl || format === 'json';
  const input = values.input ?? INPUTS.find(one => one === format) ?? 'text';
  let exitCode = 0;
  for (const file of words) {
    const bytes = readPageFile(file);
    const read =
      values.parser === 'reference'
        ? await parseWithReference(bytes.toString())
        : readByUs(bytes, input);
    const shown = { file, ok: read.problems.length === 0, ...read };
    if (!shown.ok) exitCode = 1;
    if (isJson) context.out.line(printableJson(shown, 0));
    else if (values.output === 'prom2json')
      context.out.line(printableJson(toProm2Json(shown.families), 0));
    else printFile(context, file, shown);
    const tellOf = isJson ? tellMore : tellProblems;
    tellOf(context.err, file, shown.problems);
  }
  return exitCode;
}

function readByUs(bytes: Buffer, format: ExpositionFormat): ShownPage {
  const { decoding, table } = decode(pageOf(bytes, format), defaultConfig());
  return { problems: decoding.report.problems, families: familiesOf(decoding, table) };
}

function printFile({ out }: VerbContext, file: string, { families, problems }: ShownPage): void {
  const rows = families.map(({ name, type, unit, samples, help }) =>
    [name, type, unit, samples.length, help].map(String),
  );
  const count = families.reduce((sum, { samples }) => sum + samples.length, 0);
  out.line(`${file}: ${rows.length} families, ${count} samples, ${problems.length} problems`);
  printTable(out, [['FAMILY', 'TYPE', 'UNIT', 'SAMPLES', 'HELP'], ...rows], { isWhole: true });
}

// `show derive`: every typed series of the pages, or of the service as it answers now: type and where it came from, family,
// unit, value, start.

/** The files are successive pages of one target: this shows the state after the last. */
async function showDerive(
  call: Call<typeof DERIVE_OPTIONS>,
  context: VerbContext,
): Promise<number> {
  const { values, words } = call;
  const { out, err } = context;
  if (words.length > 0 && values.config !== undefined)
    throw usageError(call.command, 'expected FILE or --config FILE, not both');
  const { series, exitCode } =
    words.length > 0 ? deriveFiles(call, context) : await deriveLive(call, context);
  if (series.length === 0) {
    const id = values['service-id'];
    err.line(id === undefined ? 'no series' : `no series of the service ${JSON.stringify(id)}`);
    return 1;
  }
  if (values.format === 'json') for (const one of series) out.line(printableJson(one, 0));
  else {
    const rows = tableOf(series, out.columns);
    printTable(out, rows, { key: rows[0]?.indexOf('NAME') ?? 0 });
  }
  return exitCode;
}

interface Derived {
  readonly series: readonly SeriesReport[];
  readonly exitCode: number;
}

function deriveFiles(
  { values, words }: Call<typeof DERIVE_OPTIONS>,
  { clock, err }: VerbContext,
): Derived {
  const options = { config: defaultConfig(), atMs: clock.nowMs(), intervalMs: 15_000 };
  let exitCode = 0;
  let series: readonly SeriesReport[] = [];
  for (const { file, table, translated } of translateFiles(words, options)) {
    series = [...seriesOf(table, values['service-id'])];
    if (tellPage(err, file, translated)) exitCode = 1;
  }
  return { series, exitCode };
}

/** Asks the service once for each target; sends and keeps nothing. */
async function deriveLive(
  call: Call<typeof DERIVE_OPTIONS>,
  { environment, clock, err }: VerbContext,
): Promise<Derived> {
  const file = configOf(call, environment, 'FILE, or --config FILE');
  const config = loadConfig({ file, environment });
  const id = call.values['service-id'];
  const { scrapeTargets } = await import('./probe.ts');
  let [count, exitCode] = [0, 0];
  const series: SeriesReport[] = [];
  for await (const one of scrapeTargets(config, { clock, serviceId: id })) {
    count++;
    if (one.kind === 'failure') {
      err.line(`${one.who}: ${one.line}`);
      exitCode = 1;
      continue;
    }
    if (tellPage(err, one.url, one.translated)) exitCode = 1;
    series.push(...seriesOf(one.translation.table, id));
  }
  if (count > 0) return { series, exitCode };
  err.line(id === undefined ? 'metrics.enabled is false' : `no service ${id} in ${file}`);
  return { series, exitCode: 1 };
}

const HEAD = ['TYPE', 'NAME', 'VALUE', 'FROM', 'LABELS', 'UNIT', 'START', 'FAMILY', 'SERVICE'];

/** The columns that stay where the terminal is narrow, the most important first; NAME is never cut. */
const KEPT = ['NAME', 'VALUE', 'TYPE', 'FROM', 'LABELS', 'UNIT', 'START', 'FAMILY', 'SERVICE'];
/** Labels that are cut to a few letters say nothing. */
const LABELS_WIDTH_MIN = 24;

/** The columns that fit into the width, in their order. */
function fitting(rows: Rows, width: number): Rows {
  const widths = HEAD.map((name, i) => {
    const widest = rows.reduce((most, row) => Math.max(most, row[i]?.length ?? 0), 0);
    return name === 'LABELS' ? Math.min(widest, LABELS_WIDTH_MIN) : widest;
  });
  let left = width;
  const first = KEPT.findIndex(name => (left -= (widths[HEAD.indexOf(name)] ?? 0) + 2) < -2);
  const kept = first < 0 ? KEPT : KEPT.slice(0, first);
  return rows.map(row => row.filter((_, i) => kept.includes(HEAD[i] ?? '')));
}

function tableOf(series: readonly SeriesReport[], columns: number): Rows {
  const rows = series.map(one => [
    one.type,
    one.name,
    valueText(one),
    one.typeSource,
    labelsText(one),
    one.unit,
    one.start?.replace(/\.\d+Z$/, 'Z') ?? '',
    one.family,
    one.service,
  ]);
  return fitting([HEAD, ...rows], columns);
}

// `show encode`: the OTLP/JSON that a sequence of pages would be sent as, one line per page.

function showEncode({ values, words }: Call<typeof ENCODE_OPTIONS>, context: VerbContext): number {
  const { mapping, at, interval: intervalMs } = values;
  const nowMs = context.clock.nowMs();
  const config = defaultConfig();
  const options = {
    config: { ...config, metrics: { ...config.metrics, mapping } },
    atMs: at?.(nowMs) ?? nowMs,
    intervalMs,
    serviceId: values['service-id'],
  };
  let exitCode = 0;
  for (const { file, translated } of translateFiles(words, options)) {
    context.out.line(escapeHarmful(otlpJson('metrics', translated.batch.payload)));
    if (tellPage(context.err, file, translated)) exitCode = 1;
  }
  return exitCode;
}

// Translates files as successive pages of one target: decode, derive and encode, as in the daemon.

interface PagesOptions {
  readonly config: Config;
  readonly atMs: number;
  readonly intervalMs: number;
  /** Without it, each namespace found is a service, and `local` when there is none. */
  readonly serviceId?: string | undefined;
}

interface TranslatedFile {
  readonly file: string;
  readonly table: SeriesTable;
  readonly translated: Translated;
}

/** Translates files one after the other; each result is valid until the next one is asked for. */
function* translateFiles(
  files: readonly string[],
  { config, atMs, intervalMs, serviceId }: PagesOptions,
): Generator<TranslatedFile> {
  const pages = files.map((file, index) => {
    const bytes = readPageFile(file);
    return { file, page: pageOf(bytes, guessFormat(bytes), atMs + index * intervalMs) };
  });
  const all = pages.map(({ page }) => page);
  const translation = translationOf(
    config,
    serviceId === undefined ? namespacesOf(all, config) : [serviceId],
  );
  const writer = new WireWriter();
  for (const { file, page } of pages) {
    const steps = translate(translation, { kind: 'page', page }, writer);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    yield { file, table: translation.table, translated: step.value };
  }
}

function translationOf(config: Config, ids: readonly string[]): Translation {
  const configured = new Map(ids.map((id, index) => [id, index]));
  const table = new SeriesTable();
  const derive = deriveOptions(config, createCatalogLookup(config.metrics.prefixes), configured);
  return {
    table,
    isKept: false,
    derive,
    encode: {
      ...derive,
      resourceOf: service => {
        const id = table.services[service]?.id ?? bug(`no service ${service}`);
        return { name: id, id, attributes: {}, server: null };
      },
    },
  };
}

function namespacesOf(pages: readonly Page[], config: Config): readonly string[] {
  const found = new Set<string>();
  for (const page of pages) {
    const { table } = decode(page, config);
    for (let row = 0; row < table.count; row++) {
      const namespace = labelValue(keyOfRow(table, row), 'namespace');
      if (namespace !== '') found.add(namespace);
    }
  }
  return found.size === 0 ? ['local'] : [...found];
}

function decode(page: Page, config: Config): { decoding: Decoding; table: SeriesTable } {
  const table = new SeriesTable();
  const decoding = new Decoding(page, table, config.metrics);
  while (!decoding.step(Infinity));
  return { decoding, table };
}

// The families of a decoded page for `show decode`, in page order, with every sample as the page has it. Only reads the
// SeriesTable. Numbers that JSON does not have are the words of the exposition formats: "NaN", "+Inf", "-Inf".

type SampleAt = Pick<RepeatedSample, 'line' | 'row' | 'value' | 'timeMs'>;

/**
 * The families of the page that `decoding` has just put into `table`, each where its name first appears (in metadata or
 * in a sample), with its samples in page order. Families that only have metadata lines are included.
 */
export function familiesOf(
  decoding: Pick<Decoding, 'families'>,
  table: SeriesTable,
): ShownFamily[] {
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
  const samples: SampleAt[] = [...table.repeats];
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

function shownSample(table: SeriesTable, { row, value, timeMs, line }: SampleAt): ShownSample {
  const { name, labels } = keyOfRow(table, row);
  const exemplar = table.exemplars.get(line);
  return {
    name,
    ...shown({ labels, value, timeMs }),
    ...(exemplar !== undefined && { exemplar: shown(exemplar) }),
  };
}

function shown({ labels, value, timeMs }: Exemplar): ShownExemplar {
  return {
    labels: Object.fromEntries(labels),
    value: shownValue(value),
    ...(!Number.isNaN(timeMs) && { timestampMs: timeMs }),
  };
}

// `show decode`: what the parser sees of exposition files, as a table, as JSON lines, or in prom2json's form.

import { type Problem, SeriesTable, type ExpositionFormat } from '../model.ts';
import { Decoding } from '../pipeline/decode/decode.ts';
import { strictProblems } from '../pipeline/decode/strict/strict.ts';
import {
  defaultConfig,
  NO_SCRAPE,
  readFormat,
  readPageFile,
  requireFiles,
  tellMore,
  tellProblems,
} from './page-files.ts';
import { toProm2Json } from './prom2json.ts';
import { parseWithReference } from './reference-parser.ts';
import { familiesOf, type ShownFamily } from './show-families.ts';
import { renderTable } from './table.ts';
import { readArgs, usageError, type VerbContext } from './verb.ts';

const VERB = 'show decode';

/** What `--jsonl` prints per file. */
interface ShownFile {
  readonly file: string;
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  readonly families: readonly object[];
}

/** Runs the verb; 1 when a file had problems. */
export async function showDecode(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, {
    format: { type: 'string', default: 'text' },
    strict: { type: 'boolean' },
    jsonl: { type: 'boolean' },
    output: { type: 'string' },
    parser: { type: 'string' },
  });
  const format = readFormat(VERB, values.format);
  if (values.output !== undefined && values.output !== 'prom2json')
    throw usageError(VERB, `expected --output prom2json, got ${JSON.stringify(values.output)}`);
  if (values.parser !== undefined && values.parser !== 'reference')
    throw usageError(VERB, `expected --parser reference, got ${JSON.stringify(values.parser)}`);
  let exitCode = 0;
  for (const file of requireFiles(VERB, words)) {
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

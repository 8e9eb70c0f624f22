// `status`: what the status page of a running daemon says, in the terminal: the verdict, the four numbers from the
// service to the back end, and the problems with what to do about each. It asks /status.json of the daemon and finds
// nothing itself: page, document and terminal cannot differ.

import { formatAge, formatBytes, formatCount } from '../lib/format.ts';
import { isObject } from '../lib/json.ts';
import { printableJson, printableLine } from '../lib/printable.ts';
import { readTextFile } from '../config/text-file.ts';
import { OperatorError } from '../errors.ts';
import { type Verdict, verdictOf } from '../status/page.ts';
import { counted, type Severity, shortTime, type StatusProblem } from '../status/problem.ts';
import type { StatusDocument } from '../status/status-report.ts';
import { file, format, text } from './options.ts';
import { paint, withProgress } from './output.ts';
import { askDaemon, daemonOf, mistakesOf, type OwnDaemon } from './own-daemon.ts';
import { textWidth } from './table.ts';
import {
  action,
  type Call,
  CONFIG_OPTION,
  configOf,
  type TextSink,
  usageError,
  type Verb,
  type VerbContext,
} from './verb.ts';

const TOKEN_VARIABLE = 'PROM2OTLP_STATUS_TOKEN';

const OPTIONS = {
  config: CONFIG_OPTION,
  url: text('URL', 'the address of a status page, instead of a configuration'),
  'token-file': file(
    `with --url: a file with the token of the page (default: the variable ${TOKEN_VARIABLE})`,
  ),
  format: format('text, or a JSON object'),
};

/** A report on many services takes its time. */
const TIMEOUT_MS = 10_000;
/** A daemon with 10,000 services has a document of some 20 MB. */
const DOCUMENT_LENGTH_MAX = 256 * 2 ** 20;

export const verb: Verb = {
  name: 'status',
  summary: 'the problems of the running daemon, and how much data flows',
  about: `Asks /status.json at the address of status.listen, as the configuration has it, with the token of
    status.token, or at --url. Shows what the status page shows first: the verdict, the samples that were scraped, the
    points that were typed, wait and were accepted, and each problem with its time and what to do. A mistake elsewhere
    in the configuration does not matter, as long as it is YAML.

    As JSON: {url, version, state, startedAt, reportedAt, verdict, scraped, typed, queued, accepted, problems}.`,
  actions: [action({ options: OPTIONS, run: showStatus })],
  exits: {
    0: 'all is well: there is no error and no warning',
    1: 'there is an error or a warning, or the daemon does not answer; stderr says why it does not',
    2: 'a mistake on the command line',
  },
  examples: [
    'prom2otlp status --config /etc/prom2otlp/prom2otlp.yaml',
    'prom2otlp status --url http://127.0.0.1:9464 --format json',
  ],
};

async function showStatus(call: Call<typeof OPTIONS>, context: VerbContext): Promise<number> {
  const { err, out, environment } = context;
  const daemon = daemonFor(call, environment);
  const document = daemon === null ? null : await read(daemon, context);
  if (daemon === null || document === null) {
    const mistakes =
      call.values.url === undefined ? mistakesOf(configOf(call, environment), environment) : [];
    for (const mistake of mistakes) err.line(mistake);
    return 1;
  }
  if (call.values.format === 'json') out.line(printableJson(jsonOf(daemon, document)));
  else printStatus(out, document);
  return document.problems.every(({ severity }) => severity === 'note') ? 0 : 1;
}

function daemonFor(
  call: Call<typeof OPTIONS>,
  environment: VerbContext['environment'],
): OwnDaemon | null {
  const { command, values } = call;
  const { url, config, 'token-file': tokenFile } = values;
  if (url === undefined) {
    if (tokenFile !== undefined)
      throw usageError(command, '--token-file goes with --url, not with a configuration');
    return daemonOf(configOf(call, environment, '--config FILE or --url URL'), environment);
  }
  if (config !== undefined)
    throw usageError(command, 'expected --config FILE or --url URL, not both');
  const address = URL.parse(url);
  if (address === null || !/^https?:$/.test(address.protocol))
    throw usageError(command, '--url: expected an http or https URL such as http://127.0.0.1:9464');
  if (address.username !== '' || address.password !== '')
    throw usageError(command, '--url: no user and no password here: name a --token-file');
  const token = tokenFile === undefined ? environment[TOKEN_VARIABLE] : tokenIn(command, tokenFile);
  const path = address.pathname.replace(/\/(?:status\.json)?$/, '');
  return { url: `${address.origin}${path}/`, token: token ?? null };
}

function tokenIn(command: string, path: string): string {
  const found = readTextFile(path);
  if ('text' in found) return found.text.trim();
  const message = `cannot read ${JSON.stringify(path)}: ${found.problem}`;
  throw new OperatorError([{ message, hint: `see prom2otlp ${command} --help` }]);
}

/** The document; null after a failure, which has been printed. */
async function read(daemon: OwnDaemon, context: VerbContext): Promise<StatusDocument | null> {
  const told = await withProgress(context, 'asking the daemon', askStatus(daemon));
  if (told.ok) return told.document;
  const line = `cannot get ${daemon.url}${STATUS_PATH}: ${told.cause}; ${told.remedy}`;
  context.err.line(printableLine(line).slice(0, LINE_LENGTH_MAX));
  return null;
}

const STATUS_PATH = 'status.json';

type ToldStatus =
  | { readonly ok: true; readonly document: StatusDocument }
  | { readonly ok: false; readonly cause: string; readonly remedy: string };

/** Asks the daemon for its status report once. */
export async function askStatus(daemon: OwnDaemon): Promise<ToldStatus> {
  const question = { path: STATUS_PATH, timeoutMs: TIMEOUT_MS, lengthMax: DOCUMENT_LENGTH_MAX };
  const told = await askDaemon(daemon, question);
  const fail = (cause: string, remedy: string): ToldStatus => ({ ok: false, cause, remedy });
  if (!told.ok) return fail(told.cause, 'check that the daemon runs, and its status.listen');
  if (told.status === 401)
    return fail('the daemon refused the token', `check status.token, or ${TOKEN_VARIABLE}`);
  if (told.status !== 200)
    return fail(`it answered ${told.status}: ${told.text.trim()}`, 'see the log of the daemon');
  const document = told.isCut ? null : documentIn(told.text);
  return document === null
    ? fail('the answer is no status report', 'check the address, and that both have one version')
    : { ok: true, document };
}

const LINE_LENGTH_MAX = 1000;

const LISTS = ['problems', 'targets', 'services', 'pulls', 'queue', 'senders', 'waitingFor'];

/** Null for anything that is not a report of this program. */
function documentIn(json: string): StatusDocument | null {
  try {
    const found: unknown = JSON.parse(json);
    if (!isObject(found) || !LISTS.every(name => Array.isArray(found[name]))) return null;
    const account = isObject(found['account']) ? found['account']['total'] : null;
    return isObject(account) ? (found as unknown as StatusDocument) : null;
  } catch {
    return null;
  }
}

function jsonOf({ url }: OwnDaemon, document: StatusDocument): object {
  const { version, state, startedAt, reportedAt, problems } = document;
  const { samples, points } = document.account.total;
  const { title, evidence } = verdictOf(document);
  const counts = {
    scraped: { samples: samples.read },
    typed: { points: points.made },
    queued: { points: points.queued },
    accepted: { points: points.accepted },
  };
  const verdict = { title, evidence };
  return { url, version, state, startedAt, reportedAt, verdict, ...counts, problems };
}

// The text, for a terminal of 80 columns. Where stdout is no terminal, nothing is wrapped, so that lines can be searched.

const TONES: Readonly<Partial<Record<Verdict['tone'], 'red' | 'yellow' | 'green'>>> = {
  bad: 'red',
  warn: 'yellow',
  good: 'green',
};

function printStatus(out: TextSink, document: StatusDocument): void {
  const { version, state, startedAt, reportedAt, problems } = document;
  const { tone, title, detail, evidence } = verdictOf(document);
  const upFor = formatAge(Date.parse(reportedAt) - Date.parse(startedAt));
  const colour = TONES[tone];
  for (const line of wrap(detail === '' ? title : `${title}: ${detail}`, out.columns))
    out.line(colour === undefined ? line : paint(out, colour, line));
  for (const line of wrap(evidence, out.columns)) out.line(line);
  out.line(`prom2otlp ${printableLine(version)}, ${state}, started ${upFor}`);
  out.line('');
  const numbers = numbersOf(document);
  const widths = [0, 1, 2].map(i => Math.max(...numbers.map(row => row[i]?.length ?? 0)));
  const [nameWidth = 0, countWidth = 0, unitWidth = 0] = widths;
  for (const [name, count, unit, detail] of numbers) {
    const head = `${name.padEnd(nameWidth)}  ${count.padStart(countWidth)} ${unit.padEnd(unitWidth)}  `;
    for (const line of indented(head, detail, out.columns)) out.line(line.trimEnd());
  }
  for (const problem of problems) printProblem(out, problem, reportedAt);
}

type NumberRow = readonly [name: string, count: string, unit: string, detail: string];

/** The numbers of the page's cards, from the service to the back end. */
export function numbersOf({ account, queue, targets }: StatusDocument): readonly NumberRow[] {
  const { samples, points } = account.total;
  const series = targets.reduce((sum, target) => sum + target.series, 0);
  const bytes = queue.reduce((sum, one) => sum + one.bytes, 0);
  const rows = queue.reduce((sum, one) => sum + one.rows, 0);
  const refused = points.rejected + points.setAside;
  return [
    [
      'Scraped',
      formatCount(samples.read),
      'samples',
      `${formatCount(samples.repeated)} repeated, ${formatCount(samples.dropped)} dropped`,
    ],
    ['Typed', formatCount(points.made), 'points', `${formatCount(series)} series now`],
    [
      'Queued',
      formatCount(points.queued),
      'points',
      rows === 0 ? '' : `${counted(rows, 'request')}, ${formatBytes(bytes)}`,
    ],
    [
      'Accepted',
      formatCount(points.accepted),
      'points',
      `${formatCount(refused)} refused, ${formatCount(points.evicted)} evicted`,
    ],
  ];
}

const SEVERITY_STYLES: Readonly<Partial<Record<Severity, 'red' | 'yellow'>>> = {
  error: 'red',
  warning: 'yellow',
};
const INDENT = ' '.repeat(9);

function printProblem(
  out: TextSink,
  { severity, subject, message, hint, since, lastSeen, services }: StatusProblem,
  reportedAt: string,
): void {
  const style = SEVERITY_STYLES[severity];
  const word = style === undefined ? severity : paint(out, style, severity);
  const pad = ' '.repeat(INDENT.length - severity.length);
  const [first = '', ...rest] = indented(INDENT, `${subject}: ${message}`, out.columns);
  out.line('');
  out.line([`${word}${pad}${first.slice(INDENT.length)}`, ...rest].join('\n'));
  const ageText = formatAge(Date.parse(reportedAt) - Date.parse(since));
  const isLasting = lastSeen === reportedAt;
  const seen = isLasting ? '' : `, last seen ${shortTime(lastSeen, reportedAt)}`;
  const more = subject.startsWith(`${formatCount(services.length)} `) ? '' : ', …';
  const who = services.length === 0 ? '' : `${services.join(', ')}${more}`;
  const lines = [who, hint, `since ${shortTime(since, reportedAt)} (${ageText})${seen}`];
  for (const line of lines.filter(line => line !== ''))
    for (const part of indented(INDENT, line, out.columns)) out.line(part);
}

/** The text behind a head, with its further lines below each other. */
function indented(head: string, text: string, width: number): readonly string[] {
  const [first = '', ...rest] = wrap(text, width - head.length);
  return [head + first, ...rest.map(line => ' '.repeat(head.length) + line)];
}

/** Breaks a text between words. A word that is longer than a line stays whole: it may be copied. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of printableLine(text).split(' ')) {
    const last = lines.at(-1);
    const isRoom = last !== undefined && textWidth(last) + 1 + textWidth(word) <= width;
    if (isRoom) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

// Mistakes on the command line: each is reported in one line, in the words of the command line. Nothing is sent, and
// nothing is printed that could be taken for data.

import { test } from 'vitest';
import { useShell } from '../support/service-shell.ts';

const shell = await useShell();
const { config } = shell;

test.each([
  ['bogus', 'there is no verb "bogus"; the verbs are init, run, check, '],
  ['ceck', 'there is no verb "ceck"; did you mean check? Or see prom2otlp --help'],
  [
    'run --conf a.yaml',
    'unknown option "--conf"; did you mean --config? Or see prom2otlp run --help',
  ],
  ['check', 'expected --config FILE: PROM2OTLP_CONFIG is not set, and there is no /etc'],
  ['check --config=', '--config: expected a file, got ""'],
  ['check --config a.yaml b.yaml', 'unexpected "b.yaml"'],
  ['demo --port -1', 'see prom2otlp demo --help'],
  ['version extra', 'unexpected "extra"'],
  ['simulate --port 0 --refresh 0s', '--refresh: expected a duration such as 10s or 5m, got "0s"'],
  ['show', 'expected one of decode, derive, encode'],
  ['show decode', 'expected FILE: exposition text'],
  ['show decode --jsonl=yes x', '--jsonl takes no value'],
  ['show decode no-such-file', 'cannot read "no-such-file": there is no such file'],
  ['show derive /', 'cannot read "/": it is a directory'],
  [`show derive page.prom -c ${config}`, 'expected FILE or --config FILE'],
  ['show encode --interval 0s x', '--interval: expected a duration'],
  ['show encode --at yesterday x', '--at: expected a time such as 2026-03-04T09:00:00Z'],
])('%s', (command, message) => shell.mistypes(command, message));

test.each([
  ['queue', 'expected one of inspect, export, drain'],
  [
    'queue drian',
    'there is no action "drian", only inspect, export, drain; did you mean queue drain?',
  ],
  ['queue inspect', 'expected --config FILE'],
  [`queue export -c ${config} --signal traces`, '--signal: expected metrics or logs, got "traces"'],
  ['queue drain --for', 'expected --for DURATION'],
  ['queue drain --for ever', '--for: expected a duration such as'],
  [`queue inspect -c ${config}`, 'in the memory of the daemon; set queue.directory'],
])('%s', (command, message) => shell.mistypes(command, message));

test.each([
  // A number without a unit, a time without a zone, and a day that does not exist have no clear meaning.
  ...['yesterday', '5', "'2026-01-01 00:00:00'", '2026-02-30T00:00:00Z'].map(text => [
    `logs list --from ${text}`,
    '--from: expected a time such as',
  ]),
  ['logs list --from 1h --to 2h', '--from is later than --to'],
  ['logs tail --follow --to 1h', '--follow has no end: leave out --to'],
  ['logs retention --confirm b', '--confirm goes with --set-days'],
  [`logs retention --set-days 3 --bucket '' --provider p --confirm ''`, '--bucket and --provider'],
])('%s', (command = '', message = '') => shell.mistypes(command, message));

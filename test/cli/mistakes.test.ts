// Mistakes on the command line: each is reported in one line, in the words of the command line. Nothing is sent, and
// nothing is printed that could be taken for data.

import { test } from 'vitest';
import { SERVICE, useShell } from '../support/service-shell.ts';

const shell = await useShell();
const { config, gs, s3, simulator, files } = shell;
const lines = files.write('two-lines', 'canary\nlines\n');
const PLAN = `backups schedules create --service-id ${SERVICE} --type full --schedule '0 3 * * *'`;
const RESTORE = `restores create --service-id ${SERVICE} --key a/b.gz --bucket gs://my-backups --method enginebackup --credentials-file ${gs} --yes-erase ${SERVICE}`;

/** The command without an option and its value. */
const without = (command: string, option: string): string =>
  command.replace(RegExp(` --${option} (?:'[^']*'|\\S+)`), '');

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
  ['services --key k', 'cannot run services: unknown option "--key"; did you mean --key-file?'],
  ['services --config no-such-file', 'there is no such file'],
  // The message names the argument that was typed, not a place in a configuration that does not exist.
  [`services --key-file ${lines}`, '--key-file: the value holds a line break'],
  ['services --key-file no-such-file', '--key-file: cannot read'],
  [`services --service-id 'a b'`, '--service-id: expected the id'],
  [`services --config ${config} --base-url ${simulator.url}`, '--base-url URL, not both'],
  [`services --config ${config} --key-file ${lines}`, '--key-file goes with'],
  [`services --config ${config} --service-id x`, 'there is no service "x"'],
  // No option allows plain HTTP.
  [
    'services --base-url http://api.example.com',
    'use https, or set `insecure: true` in the configuration',
  ],
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

test.each([
  ['backups schedule', 'only schedules list, schedules create, credentials encode'],
  [without(PLAN, 'service-id'), 'expected --service-id ID'],
  [without(PLAN, 'type'), 'expected --type full'],
  [without(PLAN, 'schedule'), 'expected --schedule CRON'],
  [`${PLAN} --schedule daily`, '--schedule: expected a cron expression'],
  [`${PLAN} --schedule '0 3 30 2 *'`, 'it matches no future time'],
  [`${PLAN} --type ''`, '--type: expected a text'],
  [`${PLAN} --bucket s3://b-b`, '--bucket and --credentials-file go together'],
  [`${PLAN} --credentials-file ${s3}`, '--bucket and --credentials-file'],
  [
    `${PLAN} --bucket b-b --credentials-file ${s3}`,
    '--bucket: expected s3://NAME or gs://NAME, got "b-b"',
  ],
  [`${PLAN} --bucket s3://b-b/x --credentials-file ${s3}`, '--bucket: expected the bucket alone'],
  [
    `${PLAN} --bucket s3://b-b --credentials-file ${gs}`,
    'account.json": expected a section [default], got JSON, as for gs',
  ],
  [
    `${PLAN} --bucket s3://b-b --credentials-file no-such-file`,
    'cannot read "no-such-file": there is no such file',
  ],
  [`${PLAN} --service-id 'a b' --schedule x`, '--service-id:', '--schedule:'],
  [`${PLAN} --config ${config} --service-id x`, 'there is no service "x"'],
  ['backups credentials encode --storage ftp --file x', '--storage: expected s3 or gs'],
  ['backups credentials encode --storage s3', 'expected --file FILE'],
  ['backups credentials encode --storage s3 --file /', 'cannot read "/": it is a directory'],
])('%s', (command = '', ...messages) => shell.mistypes(command, ...messages));

test.each([
  ['restores', 'expected one of create, list, show'],
  ['restores show', 'expected RESTORE: the id of a restore'],
  ['restores list x', 'unexpected "x"'],
  [without(RESTORE, 'service-id'), 'expected --service-id ID'],
  [without(RESTORE, 'key'), 'expected --key PATH'],
  [without(RESTORE, 'bucket'), 'expected --bucket ADDRESS'],
  [without(RESTORE, 'method'), 'expected --method enginebackup or enginedump'],
  [without(RESTORE, 'credentials-file'), 'expected --credentials-file FILE'],
  [`${RESTORE} --service-id 'a b' --yes-erase 'a b'`, '--service-id: expected the id'],
  [`${RESTORE} --key ''`, '--key: expected the path of the backup'],
  [`${RESTORE} --key gs://my-backups/x`, '--key: expected the path in the bucket, without'],
  [`${RESTORE} --bucket my-backups`, '--bucket: expected s3://NAME or gs://NAME'],
  [`${RESTORE} --bucket gs://my-backups/nightly`, '--bucket: expected the bucket alone'],
  [`${RESTORE} --method rsync`, '--method: expected enginebackup or enginedump, got "rsync"'],
  [`${RESTORE} --credentials-file ${s3}`, 'got a file with sections, as for s3'],
  [`${RESTORE} --credentials-file no-such-file`, 'there is no such file'],
  [`${RESTORE} --encryption-key-file no-such-file`, 'there is no such file'],
  [`${RESTORE} --encryption-key-file ${lines}`, '--encryption-key-file: expected one line of text'],
  [`${RESTORE} --credentials x`, 'unknown option "--credentials"'],
])('%s', (command, message) => shell.mistypes(command, message));

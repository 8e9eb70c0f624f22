// Mistakes on the command line of `logs`: each is reported in one line, in the words of the command line. Nothing is sent, and
// nothing is printed that could be taken for data.

import { test } from 'vitest';
import { useShell } from '../support/service-shell.ts';

const shell = await useShell();

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

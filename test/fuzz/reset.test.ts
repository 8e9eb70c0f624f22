// Whatever processes do behind a server's labels, and whatever their uptime says of it: nobody who reads what is sent counts
// what did not happen, and where the uptime is in time nothing of a restart is lost that a page shows.
import { assert, property } from 'fast-check';
import { test } from 'vitest';
import { processWorlds, restartWorlds } from '../support/process-world.ts';
import { expectAllCounted, expectNothingFalse } from '../support/reset-readers.ts';
import { PARAMETERS } from './parameters.ts';

test('no reader of starts or deltas reports false growth, and no streams overlap', () => {
  assert(property(processWorlds, expectNothingFalse), PARAMETERS);
});

test('after restarts with a punctual uptime, every reader counts everything on the pages', () => {
  assert(property(restartWorlds, expectAllCounted), PARAMETERS);
});

// Whatever the processes of a server do, and whatever their uptime shows: no reader of the sent points counts more than
// has happened. With a timely uptime, no count that the pages show is lost at a restart.
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

// The state that is stored after each page equals a state that is computed from the whole table: no change is left out,
// whatever the sequence of pages, although `starts` is written only now and then.

import { assert, boolean, constantFrom, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { readState } from '../../src/pipeline/derive/state.ts';
import { savedState, Target } from '../support/target.ts';
import { scrape, tell, worlds } from './page-world.ts';
import { PARAMETERS } from './parameters.ts';

const options = record({
  mapping: constantFrom('semantic' as const, 'strict' as const),
  temporality: constantFrom('cumulative' as const, 'delta' as const),
  honorTimestamps: boolean(),
  dropsPod: boolean(),
});

test('the stored state equals the table', () => {
  const check = property(worlds, options, (world, chosen) => {
    const { mapping, temporality, honorTimestamps, dropsPod } = chosen;
    const dropLabels = dropsPod ? ['pod'] : [];
    const services = ['a', 'b'];
    const metrics = { mapping, honorTimestamps, dropLabels };
    // The first answer corrects a process that begins with a wrong clock.
    const targetOptions = { services, temporality, metrics, mayGoBack: true };
    let target = new Target(targetOptions);
    let starts: Buffer | undefined;
    for (const [index, told] of [...tell(world, true)].entries()) {
      scrape(target, told);
      const { table } = target.translation;
      const blobs = savedState(target);
      starts = blobs.starts ?? starts;
      const { savedStarts } = table;
      table.savedStarts = null;
      const fresh = savedState(target);
      table.savedStarts = savedStarts;
      if (starts === undefined || fresh.starts === undefined) throw new Error('nothing was saved');
      const stored = readState(starts, blobs.marks);
      expect(stored).not.toBeNull();
      expect(stored).toEqual(readState(fresh.starts, fresh.marks));
      if (index % 3 !== 2) continue;
      // A new process continues with the stored state.
      target = new Target(targetOptions);
      target.translation.table.restored = stored;
    }
  });
  assert(check, PARAMETERS);
});

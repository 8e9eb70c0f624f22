// A process that was stopped and its successor show what one process would have shown; and the starts that are stored,
// although only now and then, are those of the table.

import { assert, boolean, constantFrom, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { saveStarts, saveWhole } from '../../src/pipeline/derive/state.ts';
import { readState } from '../../src/pipeline/derive/state-form.ts';
import { finished, Target } from '../support/target.ts';
import { scrape, tell, worlds } from './page-world.ts';
import { PARAMETERS } from './parameters.ts';

const options = record({
  mapping: constantFrom('semantic' as const, 'strict' as const),
  temporality: constantFrom('cumulative' as const, 'delta' as const),
  honorTimestamps: boolean(),
  dropsPod: boolean(),
});

/** The starts by series: what is saved of the time may be older. */
function startsOf(state: ReturnType<typeof readState>): unknown {
  if (state === null) return null;
  const { indexById, startMs, services } = state;
  const rows = [...indexById].sort(([a], [b]) => a - b);
  return rows.map(([id, at]) => [id, startMs[at], services[at]]);
}

test('the stored starts equal those of the table', () => {
  const check = property(worlds, options, (world, chosen) => {
    const { mapping, temporality, honorTimestamps, dropsPod } = chosen;
    const dropLabels = dropsPod ? ['pod'] : [];
    const services = ['a', 'b'];
    const metrics = { mapping, honorTimestamps, dropLabels };
    // The first answer corrects a process that begins with a wrong clock.
    const targetOptions = { services, temporality, metrics, mayGoBack: true };
    let target = new Target(targetOptions);
    let stored: Buffer | null = null;
    for (const [index, told] of [...tell(world, true)].entries()) {
      scrape(target, told);
      const { table } = target.translation;
      stored = finished(saveStarts(table)) ?? stored;
      const { savedVersion } = table;
      table.savedVersion = null;
      const fresh = finished(saveStarts(table));
      table.savedVersion = savedVersion;
      if (stored === null || fresh === null) throw new Error('nothing was saved');
      const [known, now] = [readState(stored), readState(fresh)].map(startsOf);
      expect(known).toEqual(now);
      if (index % 3 !== 2) continue;
      const whole = readState(finished(saveWhole(table)));
      expect(whole).not.toBeNull();
      // A new process continues with the whole state.
      target = new Target(targetOptions);
      target.translation.table.restored = whole;
      stored = null;
    }
  });
  assert(check, PARAMETERS);
});

// The tables in the documents show the committed results.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LATEST, readResults } from '../../bench/report/results.ts';
import { DOCUMENTS, problemsOf, withTables } from '../../bench/report/tables.ts';
import { scenarios } from '../../bench/scenarios.ts';

test('README and docs/how-it-works/performance.md agree with the results: npm run bench -- --table', () => {
  const results = readResults();
  for (const file of Object.keys(DOCUMENTS))
    expect(withTables(file, results)).toBe(readFileSync(file, 'utf8'));
});

test('prom2otlp lost nothing in the results', () => {
  const ours = problemsOf(readResults()).filter(problem => /\bours\b/.test(problem));
  expect(ours).toEqual([]);
});

test('each scenario has its results, its commit and a machine without a name', () => {
  const { taken } = readResults();
  expect(Object.keys(taken).sort()).toEqual(
    scenarios(false)
      .map(({ name }) => name)
      .sort(),
  );
  const known = ['processor', 'cores', 'memoryBytes', 'kernel', 'architecture', 'node'];
  for (const { machine } of Object.values(taken))
    expect(Object.keys(machine).sort()).toEqual(known.sort());
  expect(readFileSync(LATEST, 'utf8')).not.toMatch(/\/(?:home|tmp|root|work)\//);
});

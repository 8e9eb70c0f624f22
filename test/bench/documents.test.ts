// The tables in the documents show the committed results.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LATEST } from '../../bench/options.ts';
import { DOCUMENTS, withTables } from '../../bench/report/documents.ts';
import { readResults } from '../../bench/report/results.ts';
import { problemsOf } from '../../bench/report/tables.ts';

test('README and docs/performance.md agree with the results: npm run bench -- --table', () => {
  const results = readResults(LATEST);
  for (const { file } of DOCUMENTS)
    expect(withTables(file, results)).toBe(readFileSync(file, 'utf8'));
});

test('prom2otlp lost nothing in the results', () => {
  const ours = problemsOf(readResults(LATEST)).filter(problem => /\bours\b/.test(problem));
  expect(ours).toEqual([]);
});

test('the results name no machine', () => {
  const known = ['processor', 'cores', 'memoryBytes', 'kernel', 'architecture', 'node'];
  for (const { machine } of Object.values(readResults(LATEST).taken))
    expect(Object.keys(machine).sort()).toEqual(known.sort());
  expect(readFileSync(LATEST, 'utf8')).not.toMatch(/\/(?:home|tmp|root|work)\//);
});

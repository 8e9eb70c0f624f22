// The list of the program's own metrics is complete, and its names follow the conventions. Documents, alert rules and
// dashboards name metrics and labels that exist.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COUNTER_SECTIONS } from '../../tools/own-counters.ts';
import { telemetryDocument } from '../../tools/telemetry-docs.ts';
import { shippedRules } from '../support/alert-rules.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const counters = COUNTER_SECTIONS.flatMap(section => section.counters);
const labelsByName = new Map(counters.map(({ name, labelNames }) => [name, labelNames]));

/** The gauges of backups belong to a database service: docs/use/backups.md has their table. */
const BACKUP_ROW = /^\| `(prom2otlp_backup_\w+)` \| (?:\w+ )?\| ([^|]*)\|/gm;
const backupGauges = [...read('docs/use/backups.md').matchAll(BACKUP_ROW)];
for (const [, name = '', labels = ''] of backupGauges)
  labelsByName.set(
    name,
    [...labels.matchAll(/\w+/g)].map(([label]) => label),
  );

/** So do the sums of slow queries: docs/use/logs.md has their table. */
const QUERY_ROW = /^\| `(prom2otlp_slow_query_\w+)` \|/gm;
const querySums = [...read('docs/use/logs.md').matchAll(QUERY_ROW)].map(([, name = '']) => name);
for (const name of querySums) {
  const parts = name.endsWith('_total') ? [''] : ['', '_bucket', '_count', '_sum'];
  for (const part of parts)
    labelsByName.set(name + part, ['server_name', 'digest', 'db_query_summary', 'le']);
}

test('docs/operate/telemetry.md is current (`node tools/telemetry-docs.ts` writes it)', () => {
  expect(telemetryDocument()).toBe(read('docs/operate/telemetry.md'));
});

test('the list has every metric that the sources name', () => {
  const sources = globSync('src/**/*.ts', { cwd: root }).map(read);
  const named = sources.flatMap(text => [...text.matchAll(/'(prom2otlp_[a-z0-9_]*[a-z0-9])'/g)]);
  const names = new Set(named.map(([, name = '']) => name));
  expect(names.size).toBeGreaterThan(50);
  expect(backupGauges).toHaveLength(9);
  expect(querySums).toHaveLength(7);
  expect([...names].filter(name => !labelsByName.has(name))).toEqual([]);
});

test('no name is declared twice', () => {
  const names = counters.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

const NAME = /\bprom2otlp_(?=[a-z])[a-z0-9_]*[a-z0-9]\b(?!_)/g;
/** Labels that come from the scraper, or from the Resource of a service. */
const FOREIGN_LABELS = ['instance', 'job'];

test.each([
  ...globSync('deploy/helm/{alerts,dashboards}/*', { cwd: root }),
  ...globSync('docs/*/*.md', { cwd: root }),
])('%s names metrics that exist', file => {
  const names = read(file).match(NAME) ?? [];
  if (!file.startsWith('docs/')) expect(names.length).toBeGreaterThan(2);
  expect(names.filter(name => !labelsByName.has(name))).toEqual([]);
});

/** An expression of an alert rule or a panel, and the texts that go with it. */
interface Expression {
  readonly expr: string;
  readonly texts: string;
}

const expressions: Expression[] = [];
const collect = (key: string, value: unknown): unknown => {
  if (key === 'expr') expressions.push({ expr: String(value), texts: '' });
  return value;
};
for (const file of globSync('deploy/helm/dashboards/*', { cwd: root }))
  JSON.parse(read(file), collect);
for (const { expr, annotations } of shippedRules())
  expressions.push({ expr, texts: JSON.stringify(annotations) });

const own = expressions.filter(({ expr }) => expr.includes('prom2otlp_'));

test('both the alert rules and the dashboards use these metrics', () => {
  const ofRules = own.filter(({ texts }) => texts !== '');
  expect(ofRules.length).toBeGreaterThan(10);
  expect(own.length - ofRules.length).toBeGreaterThan(20);
});

test.each(own)('$expr names labels that exist', ({ expr, texts }) => {
  const names = expr.match(NAME) ?? [];
  const known = [...names.flatMap(name => labelsByName.get(name) ?? []), ...FOREIGN_LABELS];
  const lists = [...expr.matchAll(/\b(?:by|on|without|ignoring) \(([^)]*)\)/g)];
  const listed = lists.flatMap(([, list = '']) => list.split(/, */));
  const matched = [...expr.matchAll(/(\w+)(?:=~|!=|!~|=)"/g)].map(([, label = '']) => label);
  const shown = [...texts.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
  const unknown = [...listed, ...matched, ...shown].filter(label => !known.includes(label));
  expect(unknown).toEqual([]);
});

/** A gauge ends in its unit or in the plural of the counted things; a few words are clear in the singular. */
const GAUGE_ENDINGS = /(?:s|_info|_up|_ratio|_state)$/;
const SCALED_UNIT =
  /(?:^|_)(?:ms|millis|milliseconds|micros|nanos|minutes|hours|days|kb|mb|gb|kib|mib|gib|percent)(?:_|$)/;

test.each(counters)('$name has our prefix and a base unit', ({ name, kind, help }) => {
  expect(name).toMatch(/^prom2otlp(?:_[a-z][a-z0-9]*)+$/);
  expect(name).not.toMatch(SCALED_UNIT);
  if (kind === 'gauge') expect(name).toMatch(GAUGE_ENDINGS);
  if (/^(?:Bytes|Memory)\b/.test(help)) expect(name).toContain('_bytes');
  if (/^(?:Time|Processor time|When|Age)\b/.test(help)) expect(name).toContain('_seconds');
});

test.each(counters)('$name has a sentence as help and plain labels', ({ help, labelNames }) => {
  expect(help).toMatch(/^[A-Z0-9].*\.$/);
  expect(help.length).toBeLessThan(140);
  for (const label of labelNames) expect(label).toMatch(/^[a-z][a-z0-9_]*$/);
  expect(labelNames.filter(label => FOREIGN_LABELS.includes(label))).toEqual([]);
  expect(new Set(labelNames).size).toBe(labelNames.length);
});

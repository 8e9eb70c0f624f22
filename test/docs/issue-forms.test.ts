// The issue forms are what GitHub accepts, and their commands and links are right. GitHub drops a form that breaks one of
// its rules, without a word: https://docs.github.com/communities/using-templates-to-encourage-useful-issues-and-pull-requests

import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readRequest } from '../../src/cli/verbs.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, '.github/ISSUE_TEMPLATE');
const files = globSync('*.yml', { cwd: FOLDER }).sort();
const forms = files.filter(name => name !== 'config.yml');

interface Element {
  readonly type: string;
  readonly id?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly validations?: { readonly required?: unknown };
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly Element[];
}

function read<T>(name: string): T {
  return parse(readFileSync(join(FOLDER, name), 'utf8')) as T;
}

const STYLE = { width: 80, isColoured: false };
const LABELLED = ['textarea', 'input', 'dropdown', 'checkboxes'];
const ANY_TEXT = expect.stringMatching(/\S/) as string;

test.each(forms)('%s is a form', name => {
  const form = read<Form>(name);
  expect(form).toMatchObject({ name: ANY_TEXT, description: ANY_TEXT });
  const known = ['name', 'description', 'title', 'labels', 'assignees', 'projects', 'type', 'body'];
  expect(Object.keys(form).filter(key => !known.includes(key))).toEqual([]);
  const asked = form.body.filter(({ type }) => type !== 'markdown');
  expect(asked.length).toBeGreaterThan(0);
  for (const { type, id = '', attributes, validations } of asked) {
    expect(LABELLED).toContain(type);
    expect(id).toMatch(/^[\w-]+$/);
    expect(attributes['label']).toEqual(ANY_TEXT);
    expect(typeof (validations?.required ?? true)).toBe('boolean');
    if (type !== 'dropdown') continue;
    const options = attributes['options'] as readonly unknown[];
    expect(options.length).toBeGreaterThan(1);
    expect(new Set(options).size).toBe(options.length);
    for (const option of options) expect(typeof option).toBe('string');
  }
  for (const { type, attributes } of form.body)
    if (type === 'markdown') expect(attributes['value']).toEqual(ANY_TEXT);
  for (const one of ['id', 'label']) {
    const values = asked.map(element => (one === 'id' ? element.id : element.attributes['label']));
    expect(new Set(values).size, one).toBe(values.length);
  }
  const report = asked.find(({ id }) => id === 'report');
  expect(report?.attributes['description']).toContain('`prom2otlp report');
});

test('the forms have different names', () => {
  expect(forms.length).toBeGreaterThan(2);
  expect(new Set(forms.map(name => read<Form>(name).name)).size).toBe(forms.length);
});

test('the other ways lead somewhere', () => {
  const config = read<Record<string, unknown>>('config.yml');
  const links = config['contact_links'] as readonly unknown[];
  expect(typeof config['blank_issues_enabled']).toBe('boolean');
  expect(links.length).toBeGreaterThan(0);
  const url = expect.stringMatching(/^https:\/\//) as string;
  for (const link of links) expect(link).toEqual({ name: ANY_TEXT, about: ANY_TEXT, url });
});

test.each(files)('%s names commands and documents that exist', async name => {
  const text = readFileSync(join(FOLDER, name), 'utf8');
  for (const [, command = ''] of text.matchAll(/`prom2otlp ([^`]+)`/g))
    expect(await readRequest(command.split(' '), STYLE), command).toMatchObject({ kind: 'run' });
  for (const [, path = ''] of text.matchAll(/\/blob\/main\/([\w./-]+\w)/g))
    expect(existsSync(join(ROOT, path)), path).toBe(true);
});

import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load.ts';
import { notBuiltYet } from '../../src/config/not-built-yet.ts';

test('keys without effect are named while they are in use, and only then', () => {
  const base = 'api: {base_url: "https://a", key: k}\nservices: [{id: x}]\n';
  const check = (yaml: string, ...want: string[]): void => {
    const config = parseConfig(base + yaml, { file: 'c.yaml', environment: {} });
    expect(notBuiltYet(config)).toEqual(want);
  };
  check('');
  check('logs: {enabled: true}');
  check('backups: {enabled: true}');
  check('otlp: {temporality: delta}', 'otlp.temporality: delta');
  check('otlp: {temporality: lowmemory}');
});

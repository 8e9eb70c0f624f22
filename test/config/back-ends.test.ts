// The profiles of back ends: the lines of each page load without a warning, and the page tells what the profile sets.
// test/fixtures/back-ends.txt has what `check` says of a configuration that lacks the address, or the secrets; `UPDATE=1`
// rewrites it.

import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  BACK_END_NAMES,
  BACK_ENDS,
  type BackEndName,
  profileOf,
} from '../../src/config/back-ends.ts';
import { effectiveValues, type Judgement } from '../../src/config/examine.ts';
import { judgeFile, warningMistakes } from '../../src/config/load.ts';
import { profileNotes } from '../../src/config/profile.ts';
import { formatMistake, OperatorError } from '../../src/errors.ts';

const root = new URL('../../', import.meta.url);
const GOLDEN = new URL('test/fixtures/back-ends.txt', root);

const ACCOUNT = JSON.stringify({
  client_email: 'prom2otlp@example.com',
  private_key: 'a key',
  token_uri: 'https://oauth2.example.com/token',
});

/** Judges a configuration with these lines below `otlp`; each file that it names has a secret. */
function judge(
  lines: readonly string[],
  environment: Record<string, string> = {},
  hasLogs = false,
): Judgement {
  const text = [
    'api: {base_url: "https://api.example.com", key: "${file:key}"}',
    'services: [{id: dbpgf12345678}]',
    `logs: {enabled: ${hasLogs}}`,
    'otlp:',
    ...lines.map(line => `  ${line}`),
  ].join('\n');
  const readFile = (path: string): { text: string } => {
    if (path.endsWith('x.yaml')) return { text };
    return { text: path.endsWith('.json') ? ACCOUNT : 'secret' };
  };
  return judgeFile({ file: 'x.yaml', environment, readFile, memory: null });
}

function takesLogs(name: BackEndName): boolean {
  return profileOf(name)?.takesNoLogs === undefined;
}

function pageOf(name: BackEndName): string {
  return readFileSync(new URL(`docs/back-ends/${name}.md`, root), 'utf8');
}

function warningsOf(judgement: Judgement): string[] {
  return warningMistakes(judgement, false).map(formatMistake);
}

test.each(BACK_END_NAMES)('the lines on the page of %s load without a warning', name => {
  const lines = /```yaml\notlp:\n([^`]*)\n```/.exec(pageOf(name))?.[1]?.split('\n') ?? [];
  const own = lines.map(line => line.replace(/^ {2}/, ''));
  expect(own).toEqual([`backend: ${name}`, ...(profileOf(name)?.example ?? [])]);
  expect(warningsOf(judge(own, {}, takesLogs(name)))).toEqual([]);
});

test.each(BACK_END_NAMES)('the page of %s has what the profile sets, and why', name => {
  const page = pageOf(name);
  for (const { key, value, reason } of profileOf(name)?.values ?? [])
    expect(page).toContain(`| \`${key}\` | ${String(value)} | ${reason} |`);
});

/** What `check` says: mistakes, else warnings and notes. */
function wordsOf(name: BackEndName, lines: readonly string[]): string[] {
  try {
    const judgement = judge([`backend: ${name}`, ...lines], {}, takesLogs(name));
    const notes = profileNotes(judgement.layers.metrics).map(note => `note: ${note}`);
    return [...warningsOf(judgement).map(text => `warning: ${text}`), ...notes];
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return error.mistakes.map(formatMistake);
  }
}

/** The back end only named, and where its address is missing, also with that alone. */
function saidOf(name: BackEndName): string[] {
  const bare = wordsOf(name, []);
  const addresses = BACK_ENDS[name].example.filter(line => /^\w*endpoint:/.test(line));
  const addressed = profileOf(name)?.endpoint === undefined ? [] : wordsOf(name, addresses);
  const rest = addressed.length === 0 ? [] : ['  with the address:', ...addressed.map(indent)];
  return [name, ...bare.map(indent), ...rest, ''];
}

function indent(line: string): string {
  return `  ${line}`;
}

test('what check says of a back end without its address, and without its secrets', () => {
  const text = BACK_END_NAMES.flatMap(saidOf).join('\n');
  if (process.env['UPDATE'] === '1') writeFileSync(GOLDEN, text);
  expect(text).toBe(readFileSync(GOLDEN, 'utf8'));
});

test('the YAML and the variables come before the profile', () => {
  const valueOf = (judgement: Judgement, wanted: string): string | undefined =>
    effectiveValues(judgement).find(({ key }) => key === wanted)?.value;
  const lines = ['backend: new-relic', 'headers: {api-key: "${file:token}"}'];
  const plain = judge(lines);
  expect(plain.config.otlp.temporality).toBe('delta');
  expect(plain.config.otlp.metrics.endpoint).toBe('https://otlp.nr-data.net/v1/metrics');
  expect(valueOf(plain, 'otlp.max_request')).toBe('1MB');
  const own = judge([...lines, 'temporality: cumulative'], {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.eu01.nr-data.net',
  });
  expect(own.config.otlp.temporality).toBe('cumulative');
  expect(own.config.otlp.metrics.endpoint).toBe('https://otlp.eu01.nr-data.net/v1/metrics');
  expect(profileNotes(own.layers.metrics).join('\n')).not.toMatch(/temporality|endpoint/);
});

test('the profile of a back end over gRPC changes the default address', () => {
  const { config } = judge(['backend: chronosphere', 'endpoint: https://tenant.example.com:443']);
  expect(config.otlp.metrics.protocol).toBe('grpc');
  expect(config.otlp.metrics.endpoint).toBe('https://tenant.example.com');
});

test('logs have a back end of their own where the named one takes none', () => {
  const logs = (lines: readonly string[]): string[] => {
    const judgement = judge(['backend: prometheus', ...lines]);
    const config = { ...judgement.config, logs: { ...judgement.config.logs, isEnabled: true } };
    return warningsOf({ ...judgement, config });
  };
  expect(logs([]).join('\n')).toContain('Prometheus takes no logs');
  expect(logs(['logs_endpoint: http://localhost:4318/v1/logs'])).toEqual([]);
});

// docs/use/changes.md as a reader follows it: with the change that the page shows, the step of its job fails, without a key
// or a service, and writes the summary that the page shows.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { BIN, environmentWith, tempDirectory } from '../support/program.ts';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/use/changes.md'), 'utf8');
const [job = '', change = ''] = codeIn('yaml');
const [summary = ''] = codeIn('markdown');
const main = readFileSync(join(root, 'config/minimal.yaml'), 'utf8');

const PAGE = `# TYPE engine_up gauge
engine_up{namespace="dbpgf12345678",server_name="orders-0"} 1
engine_slave_status_seconds_behind_master{namespace="dbpgf12345678",server_name="orders-0"} 0
engine_slave_status_slave_io_running{namespace="dbpgf12345678",server_name="orders-0"} 1
`;

function codeIn(language: string): readonly string[] {
  const blocks = [...text.matchAll(/^```(\w+)\n([^]*?)^```/gm)];
  return blocks.filter(([, found]) => found === language).map(([, , code = '']) => code);
}

/** The command of the job, as a shell runs it in a checkout whose branch `main` has `main.yaml`. */
function runStep(config: string): { readonly code: number | null; readonly written: string } {
  const { jobs } = parse(job) as { jobs: { changes: { steps: { run?: string }[] } } };
  const [command = ''] = jobs.changes.steps.flatMap(step => step.run ?? []);
  using files = tempDirectory();
  files.write('main.yaml', main);
  files.write('prom2otlp.yaml', config);
  files.write('page.prom', PAGE);
  const script = `
    git() { [ "$*" = 'show origin/main:prom2otlp.yaml' ] && cat main.yaml; }
    npx() { shift; '${process.execPath}' '${BIN}' "$@"; }
    ${command}`;
  const written = files.write('summary.md', '');
  const env = environmentWith({ GITHUB_STEP_SUMMARY: written });
  const { status, stderr } = spawnSync('sh', ['-e', '-c', script], { cwd: files.path, env });
  expect(String(stderr)).toBe('');
  return { code: status, written: readFileSync(written, 'utf8') };
}

test('the change fails with the summary', () => {
  const { code, written } = runStep(main + change);
  expect(written).toBe(summary);
  expect(code).toBe(1);
});

test('no change passes', () => {
  expect(runStep(main).code).toBe(0);
});

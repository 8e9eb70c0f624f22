// The verbs as an operator uses them, with bad pages, pipes whose readers are slow or close early, and signals. A slow
// reader gets the whole output.

import { describe, expect, test } from 'vitest';
import { startTcpServer } from '../support/http-server.ts';
import { run, start, until } from '../support/program.ts';
import { useDirectory } from '../support/temporary-directory.ts';

const directory = useDirectory();

describe('show', () => {
  test('reports that a page has more problems than it lists', async () => {
    const file = directory.write('bad.prom', `${'a{b="c" 1\n'.repeat(101)}good 1\n`);
    const { code, stdout, stderr } = await run(['show', 'decode', file]);
    expect(stdout).toContain('1 samples');
    expect(stderr).toMatch(/bad\.prom:100:9: .*\n.*bad\.prom: reported the first 100 problems;/);
    expect(code).toBe(1);
    const lines = await run(['show', 'decode', '--format', 'json', file]);
    expect(JSON.parse(lines.stdout).problems).toHaveLength(100);
    expect(lines.stderr).toMatch(/^\S*bad\.prom: reported the first 100 problems;.*\n$/);
  });

  test('gives a slow reader all output', async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `x{a="${'v'.repeat(40)}${i}"} ${i}\n`);
    const page = directory.write('long.prom', lines.join(''));
    const child = start(['show', 'decode', '--jsonl', page]);
    child.child.stdout?.pause();
    await until('it has begun to write', () => (child.child.stdout?.readableLength ?? 0) > 0);
    child.child.stdout?.resume();
    const { code, stdout } = await child.finished;
    const shown = JSON.parse(stdout) as { families: { samples: object[] }[] };
    expect(shown.families[0]?.samples).toHaveLength(20_000);
    expect(code).toBe(0);
  });

  test('ends quietly when its reader closes the pipe', async () => {
    const child = start(['show', 'decode', '--jsonl', directory.path + '/long.prom']);
    child.child.stdout?.destroy();
    const { code, stderr } = await child.finished;
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });
});

test('a signal at once ends a verb that waits for a service', async () => {
  let asked = 0;
  await using server = await startTcpServer(() => asked++);
  const api = { base_url: server.origin, key: 'k', timeout: '30s' };
  const queue = { directory: null };
  const config = JSON.stringify({ api, services: [{ id: 'a' }], queue });
  const child = start(['check', '--probe', '--config', directory.write('silent.yaml', config)]);
  await until('it asks the service', () => asked > 0);
  child.child.kill('SIGINT');
  expect((await child.finished).code).toBe(null);
  expect(child.child.signalCode).toBe('SIGINT');
});

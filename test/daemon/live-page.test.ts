import { expect, test } from 'vitest';
import { ConfigSecret } from '../../src/config/secrets.ts';
import { LIVE_TEXT_MAX, type LiveSource, readLivePage } from '../../src/daemon/live-page.ts';
import { ownError, type ServiceError } from '../../src/service/service-error.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { testApi } from '../support/test-api.ts';

const PAGE = `# HELP m Help of m.
# TYPE m counter
m{namespace="b",x="namespace=\\"a\\""} 1
m{my_namespace="a"} 2
# HELP n Help of n.
# TYPE n gauge
n{x="1",namespace="a"} 3 1700000000000
n{ namespace = "a" } 4
o{namespace="b"} 5
p{namespace="a"} 6
q 7
# EOF
`;

interface Asked {
  readonly text: string;
  readonly ok: boolean;
  readonly paths: readonly string[];
}

async function read(changes: {
  readonly page?: string;
  readonly ids?: readonly string[];
  readonly held?: ServiceError;
  readonly error?: ServiceError;
  readonly id?: string;
}): Promise<Asked> {
  const { page = PAGE, ids = ['a', 'b'], held = null, error, id = 'a' } = changes;
  const paths: string[] = [];
  const answer = { status: 200, headers: {}, contentType: 'text/plain', wireBytes: 0 };
  const timing = { startedAtMs: 0, durationMs: 0 };
  const source: LiveSource = {
    target: {
      path: '/metrics?all=1',
      configured: new Map(ids.map((one, index) => [one, index])),
      otherShards: { serviceCount: 0, takes: () => false },
      api: testApi('https://api.example.com', { key: new ConfigSecret('canary-key') }),
    },
    client: {
      get: path => {
        paths.push(path);
        if (error !== undefined) return Promise.resolve({ ok: false, error, ...timing });
        return Promise.resolve({ ok: true, ...answer, body: Buffer.from(page), ...timing });
      },
    },
    report: { held: () => held },
    bodyBytesMax: 1000,
  };
  const live = await readLivePage(source, id, new FakeClock());
  return { ...live, paths };
}

const withoutHead = ({ text }: Asked): string => text.replace(/^.*\n/, '');

test('shows the samples of the service with the comments of their families', async () => {
  const shown = await read({});
  expect(shown.text).toMatch(
    /^# 3 samples of a at \S+Z, from https:\/\/api\.example\.com\/metrics\n/,
  );
  expect(withoutHead(shown)).toBe(`# HELP n Help of n.
# TYPE n gauge
n{x="1",namespace="a"} 3 1700000000000
n{ namespace = "a" } 4
p{namespace="a"} 6
`);
});

test('comments are shown above samples of their own family alone', async () => {
  const own = `# TYPE m histogram
m_bucket{namespace="a",le="1"} 1
# TYPE n counter
n_total{namespace="a"} 1
# TYPE o gauge
o{namespace="a"} 1
`;
  expect(withoutHead(await read({ page: own }))).toBe(own);
  for (const other of ['on{namespace="a"} 1\n', 'o_n{namespace="a"} 1\n'])
    expect(withoutHead(await read({ page: `# TYPE o gauge\n${other}` }))).toBe(other);
});

test('samples without a namespace belong to the only service', async () => {
  const shown = await read({ ids: ['a'], page: '# TYPE q gauge\nq 7\nr{namespace="b"} 1\n' });
  expect(withoutHead(shown)).toBe('# TYPE q gauge\nq 7\n');
});

test('an id is not a pattern', async () => {
  const shown = await read({ id: '.', page: 'm{namespace="a"} 1\nm{namespace="."} 2\n' });
  expect(withoutHead(shown)).toBe('m{namespace="."} 2\n');
});

test('a long page is cut, and says so', async () => {
  const line = `m{namespace="a",x="${'y'.repeat(1000)}"} 1\n`;
  const { text } = await read({ page: line.repeat(2000) });
  expect(text.length).toBeLessThan(LIVE_TEXT_MAX + 1000);
  expect(text).toMatch(/# cut after 1\.0 MiB\n$/);
});

test('comments that repeat without end are left out, and cost no time', async () => {
  const shown = await read({ page: `${'# HELP m x\n'.repeat(200_000)}m{namespace="a"} 1\n` });
  expect(withoutHead(shown)).toBe(`${'# HELP m x\n'.repeat(4)}m{namespace="a"} 1\n`);
});

test('the key is not shown, even if the service sends it', async () => {
  const shown = await read({ page: 'm{namespace="a",x="canary-key"} 1\n' });
  expect(shown.text).toContain('x="[secret]"');
});

test('a failure is told; while the key is refused, nothing is asked', async () => {
  const message = 'cannot get https://api.example.com/metrics: no answer';
  const error = ownError('timeout', message, 'look at the network');
  const failed = await read({ error });
  expect([failed.ok, failed.text]).toEqual([
    false,
    'cannot get https://api.example.com/metrics: no answer; look at the network\n',
  ]);
  const held = await read({ held: { ...error, reason: 'auth' } });
  expect([held.ok, held.paths]).toEqual([false, []]);
});

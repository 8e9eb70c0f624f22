// `report` never shows what its reader must not see. Each place of the configuration, of a page, and of the words of
// others holds a text with `canary`; the report is searched for them. What it does show is in test/transcripts/report.

import { expect, onTestFinished, test } from 'vitest';
import { verb } from '../../src/cli/report.ts';
import { CONFIG } from '../../src/config/keys.ts';
import { canRead, isBlock, type Kind } from '../../src/config/declare.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { KeyPath } from '../../src/config/paths.ts';
import { Daemon } from '../../src/daemon/daemon.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { serveStatus } from '../../src/status/status-server.ts';
import { type StatusReport, withProblems } from '../../src/status/status-report.ts';
import {
  failedPull,
  sampleBackups,
  samplePartition,
  sampleReport,
  sampleSender,
  sampleService,
  sampleTarget,
  secondsAgo,
} from '../status/sample-report.ts';
import { findClosedPort, startHttpServer } from '../support/http-server.ts';
import { useDirectory } from '../support/temporary-directory.ts';
import { callVerb } from '../support/verb-context.ts';

const directory = useDirectory();

const ENVIRONMENT = { CANARY_KEY: 'canary-of-a-variable' };

/** A number of a customer, say: it looks like a value of the program. */
const NUMBER = '48151623';
const CANARY_WORD = new RegExp(`canary|${NUMBER}`, 'i');

type Form = 'markdown' | 'json';

/** The report on a configuration, in these forms; expects that none has a canary. Returns the first. */
async function report(
  config: unknown,
  forms: readonly Form[] = ['markdown', 'json'],
): Promise<string> {
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  const file = directory.write('canary.yaml', text);
  const told = await Promise.all(
    forms.map(async format => {
      const args = ['-c', file, '--format', format];
      const { code, out, err } = await callVerb(verb, args, { environment: ENVIRONMENT });
      expect([code, err], text).toEqual([0, '']);
      return out;
    }),
  );
  for (const out of told) {
    const [line = ''] = out.split('\n').filter(one => CANARY_WORD.test(one));
    expect(line, text).toBe('');
  }
  return told[0] ?? '';
}

// The configuration.

/** A port that nobody can know: nobody is asked. */
const NO_DAEMON = { listen: '127.0.0.1:0' };

interface Place {
  readonly path: KeyPath;
  readonly kind: Kind<unknown>;
}

/** All places for a value; the first element of a list stands for all. */
function placesOf(kind: Kind<unknown>, path: KeyPath = []): readonly Place[] {
  const others = kind.instead === undefined ? [] : placesOf(kind.instead, path);
  const { element } = kind;
  const within = element !== undefined && isBlock(element) ? placesOf(element, [...path, 0]) : [];
  if (!isBlock(kind)) return [{ path, kind }, ...within, ...others];
  return Object.values(kind.keys).flatMap(({ name, kind: own }) => placesOf(own, [...path, name]));
}

function nested([first, ...rest]: KeyPath, value: unknown): unknown {
  if (first === undefined) return value;
  const inner = nested(rest, value);
  return typeof first === 'number' ? [inner] : { [String(first)]: inner };
}

/** `changes` replace values of `base`, key by key. */
function merged(base: unknown, changes: unknown): unknown {
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (Array.isArray(base) && Array.isArray(changes)) return [merged(base[0], changes[0])];
  if (!isMap(base) || !isMap(changes)) return changes;
  const names = new Set([...Object.keys(base), ...Object.keys(changes)]);
  return Object.fromEntries(
    [...names].map(name => [
      name,
      name in changes ? merged(base[name], changes[name]) : base[name],
    ]),
  );
}

const VALUES: readonly unknown[] = [
  'canary-text',
  'canary.example.com:4318',
  'https://canary:canary@canary.example.com:4318/canary?canary=canary',
  'https://canary-host/canary',
  '/canary/canary.pem',
  '${env:CANARY_KEY}',
  'x ${file:/canary} canary',
  ['canary.*', 'canary canary', { match: 'canary', name: 'canary', labels: { a: 'canary' } }],
  { canary: 'canary', 'canary canary': 'canary', canary_other: ['canary'] },
  { match: 'canary' },
  { customer: NUMBER },
];

test('the configuration: no key shows a text, an address, a path or a name', async () => {
  const base = {
    api: { base_url: 'https://canary.example.com', key: 'canary-key' },
    services: [{ id: 'canaryservice1', name: 'canary orders', attributes: { canary: NUMBER } }],
    otlp: { endpoint: 'https://canary.example.org', headers: { 'x-canary': 'canary' } },
    status: NO_DAEMON,
  };
  const whole = await report(base);
  expect(whole).toContain('| api.base_url | https://host-1 |');
  for (const value of VALUES) {
    // A legal value is shown by itself. All mistakes are shown at once, which saves time.
    const [legal = [], wrong = []] = [true, false].map(isLegal =>
      placesOf(CONFIG).filter(({ kind }) => canRead(kind, value) === isLegal),
    );
    const changes = wrong.map(({ path }) => nested(path, value));
    await report(changes.reduce(merged, base), ['json']);
    for (const { path } of legal) await report(merged(base, nested(path, value)), ['json']);
  }
});

test('the configuration: no mistake of the YAML shows a word of it', async () => {
  for (const text of [
    'canary',
    'canary: canary',
    'api: canary canary',
    'api: &canary {key: canary}\nservices: *canary_other',
    'api: !canary {key: "canary"}',
    'api: {key: "canary}',
    'api:\n\tkey: canary',
    'api: {key: canary, key: canary}\ncanary: 1\ncanary: 2',
    '? {canary: 1}\n: canary',
    '- canary\n- canary.example.com',
    'api: {key: @canary}',
    'api: {key: ${canary}}',
    'services: [{id: canary}, {id: canary}, {id: canary canary}]',
  ])
    expect(await report(`status: ${JSON.stringify(NO_DAEMON)}\n${text}\n`)).toContain(
      'It cannot be used',
    );
});

// A running daemon.

const PAGE = `# HELP engine_queries_total canary
# TYPE engine_queries_total canary
# HELP engine_unknown canary
# TYPE engine_unknown counter
engine_queries_total{namespace="canaryservice1",server="canary-server",sql="SELECT canary"} 5
engine_unknown{namespace="canaryservice1",canary_label="canary"} 5
engine_unknown{namespace="canarystranger",canary_label="canary"} 5
target_info{namespace="canaryservice1",canary="canary"} 1
# TYPE engine_wait histogram
engine_wait_bucket{namespace="canaryservice1",le="1"} 1
engine_wait_bucket{namespace="canaryservice1",le="+Inf"} 2
engine_wait_sum{namespace="canaryservice1"} 3
engine_wait_count{namespace="canaryservice1"} 2
engine_bad{namespace="canaryservice1",canary="canary} canary
canary canary canary
engine_times{namespace="canaryservice1"} canary
`;

test('a daemon: no value of a label, and no word of the service or the back end', async () => {
  await using service = await startHttpServer((request, response) => {
    const isGood = request.headers['x-api-key'] === 'canary-key';
    const answer = JSON.stringify({ errors: [{ error: 'canary', message: 'canary canary' }] });
    response.writeHead(isGood ? 200 : 503, {
      'content-type': isGood ? 'text/plain' : 'application/json',
    });
    response.end(isGood ? PAGE : answer);
  });
  await using backEnd = await startHttpServer((_, response) => {
    response.writeHead(400).end('label canary="canary" is canary: SELECT canary');
  });
  const config = {
    api: { base_url: service.origin, key: 'canary-key', timeout: '2s' },
    services: [
      { id: 'canaryservice1', name: 'canary orders' },
      { id: 'canaryservice2', name: 'canary_b', api: { key: 'canary-other-key' } },
      { id: 'canaryservice3', api: { base_url: 'https://canary.invalid' } },
    ],
    logs: { enabled: true },
    queue: { directory: directory.path + '/canary' },
    telemetry: { enabled: false },
    otlp: { endpoint: `${backEnd.origin}/canary` },
    status: { listen: `127.0.0.1:${await findClosedPort()}`, token: 'canary-token' },
  };
  const file = directory.write('daemon.yaml', JSON.stringify(config));
  const loaded = loadConfig({ file, environment: {} });
  const daemon = await Daemon.open({ config: loaded, clock, logger: silentLogger });
  const server = await serveStatus({ daemon, loaded: null }, clock);
  onTestFinished(async () => {
    await daemon.stop(AbortSignal.abort());
    await server.close();
  });
  await daemon.cycle(500, 500);
  const told = await report(config);
  for (const shown of [
    /\| engine_queries_total \| engine \| unknown \| gauge \| declared \| 1 \| 3 \| 1 \|/,
    /\| engine_unknown \| engine \| counter \| sum \| declared \| 2 \| 2 \| 1 \|/,
    /\| engine_wait \| engine \| histogram \| histogram \| declared \| 1 \| 2 \| 1 \|/,
    /\| target-1 \| up \| {2}\| \d+ B \| 11 \| 3 \| 4 \| engine 4, other 1 \|/,
    /\*\*error\*\* server errors from 127\.0\.0\.1:\d+: .* 503 /,
    /\*\*error\*\* no address found for host-\d: /,
    /the back end answered 400/,
  ])
    expect(told).toMatch(shown);
});

const CANARY = 'cannot get https://canary.example.com/canary: canary canary (500: canary)';

/** What others said is a field of the report, and a part of the problems that follow from it. */
const SAID: Partial<StatusReport> = {
  targets: [
    sampleTarget({
      name: 'canary.example.com (canary orders and 1 more)',
      url: 'https://canary.example.com/canary',
      state: 'down',
      lastReason: 'timeout',
      lastMessage: CANARY,
      hint: CANARY,
      badLines: 3,
      isStateLost: true,
    }),
  ],
  services: [
    sampleService('canary1', 'canary orders', {
      isUp: false,
      reason: 'absent',
      isSourceStale: true,
    }),
    sampleService('canary2', 'canary-b', { lostUptimes: 2, droppedByReason: { time_future: 2 } }),
  ],
  unconfigured: [{ id: 'canary11', samples: 5, isSent: false }],
  discovery: {
    absent: [{ id: 'canary3', name: 'canary c', absentMs: 60_000 }],
    changes: [],
    leftOut: 3,
  },
  pulls: [
    failedPull('timeout', {
      message: CANARY,
      hint: 'canary',
      target: 'canary',
      firstService: 'canary orders',
    }),
    failedPull('auth', {
      kind: 'logs',
      origin: 'canary-host:8443',
      message: 'canary',
      hint: 'canary.',
    }),
  ],
  senders: [
    sampleSender({
      endpoint: 'https://canary.example.org/canary/v1/metrics',
      state: 'holding',
      lastError: 'the back end answered 400: duplicate sample {canary="canary"}; canary',
      lastErrorAt: secondsAgo(5),
      failingSinceAt: secondsAgo(60),
      learned: { bytes: 65_536, points: 500 },
    }),
    sampleSender({
      signal: 'logs',
      endpoint: 'http://canary-otlp:4317',
      state: 'retrying',
      lastError: 'no answer: getaddrinfo ENOTFOUND canary; check the host',
      failingSinceAt: secondsAgo(60),
    }),
  ],
  setAside: [
    {
      at: secondsAgo(60),
      signal: 'metrics',
      service: 'canary1',
      points: 5,
      reason: 'the back end answered 422: canary canary',
    },
  ],
  queueTrouble: 'cannot store a batch: /canary/queue.sqlite: ENOSPC, canary',
  queueTroubleSince: secondsAgo(60),
  logs: {
    partitions: [
      samplePartition({
        service: 'canary1',
        state: 'failed',
        lastError: 'canary.log was given up: canary',
      }),
      samplePartition({
        service: 'canary2',
        type: 'canary-log',
        state: 'failed',
        lastError: 'cannot list canary-log: canary',
      }),
      samplePartition({
        service: 'canary2',
        state: 'failed',
        lastError: 'cannot read canary_archive-7 of the day',
      }),
    ],
    catchUp: [],
    givenUp: [
      {
        at: secondsAgo(60),
        service: 'canary1',
        type: 'error-log',
        archive: 'canary.log',
        reason: 'checksum',
      },
    ],
    nextPullAt: null,
  },
  backups: {
    services: [
      sampleBackups({
        service: 'canary1',
        name: 'canary orders',
        lastError: 'canary',
        isRestorableScheduled: false,
      }),
    ],
    nextReadAt: null,
  },
  configuration: { file: '/canary/canary.yaml', loadedAt: secondsAgo(60), isStale: true },
  reload: {
    at: secondsAgo(50),
    mistakes: ['canary.yaml:1:2: api.canary: unknown key; canary', 'canary'],
    restart: [],
  },
  notes: [
    'a damaged queue file was kept aside: /var/canary/queue.damaged; what could be read',
    'a damaged queue file was kept aside: canary.sqlite.damaged; what could be read',
  ],
};

test('a daemon: whatever the service, the back end and the system have said', async () => {
  const document = withProblems(sampleReport(SAID));
  await using server = await startHttpServer((request, response) => {
    response.writeHead(request.path === '/status.json' ? 200 : 404);
    response.end(request.path === '/status.json' ? JSON.stringify(document) : 'canary');
  });
  const told = await report({ status: { listen: server.origin.replace('http://', '') } });
  for (const { severity } of document.problems) expect(told).toContain(`**${severity}**`);
  expect(told).toMatch(/no answer ENOTFOUND/);
  expect(told).toMatch(/cannot store a batch ENOSPC/);
  expect(told).toMatch(/Learned limit of a request with metrics: 500 points or 64(?:\.0)? KiB/);
  await using other = await startHttpServer((_, response) => {
    response.writeHead(404).end('canary');
  });
  const none = await report({ status: { listen: other.origin.replace('http://', '') } });
  expect(none).toMatch(/No daemon: http:\S+: it answered 404\./);
});

import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { accountReport } from '../../src/status/account-report.ts';
import { ratesOf } from '../../src/status/flow.ts';
import { PAGE_POLICY, renderMissing, renderPage, verdictOf } from '../../src/status/page.ts';
import { TABLE_ROWS_MAX } from '../../src/status/page-parts.ts';
import { type StatusReport, withProblems } from '../../src/status/status-report.ts';
import {
  failedPull,
  sampleAccount,
  sampleBackups,
  samplePartition,
  samplePull,
  sampleQueue,
  sampleReport,
  sampleSender,
  sampleService,
  sampleTarget,
  secondsAgo,
  textOf,
} from './sample-report.ts';

function pageOf(changes: Partial<StatusReport> = {}): string {
  return renderPage(withProblems(sampleReport(changes)));
}

describe('the verdict', () => {
  const check = (
    changes: Partial<StatusReport>,
    tone: string,
    title: string,
    detail = '',
  ): void => {
    const verdict = verdictOf(withProblems(sampleReport(changes)));
    expect(verdict).toMatchObject({ tone, title, detail });
    expect(verdict.title.split(' ').length).toBeLessThanOrEqual(8);
  };

  test('says whether data flows', () => {
    check({}, 'good', 'Data flows');
    check({ senders: [sampleSender({ lastAcceptedAt: null })] }, 'busy', 'Nothing accepted yet');
    const starting = { state: 'starting' as const };
    check(
      { ...starting, waitingFor: ['the first cycle'] },
      'busy',
      'Starting',
      'waiting for the first cycle',
    );
    check({ state: 'stopping' }, 'warn', 'Stopping: the queue is being delivered');
    // Notes are no cause for alarm.
    check({ notes: ['a note'] }, 'good', 'Data flows');
    const stale = sampleService('a', 'orders', { isSourceStale: true });
    check(
      { services: [stale] },
      'warn',
      'Data flows, with a warning',
      'orders: its timestamps do not move: the service repeats the same values, since 09:30:00',
    );
    check(
      { pulls: [samplePull({ state: 'waiting' })] },
      'busy',
      'Data flows',
      'not all has been read yet',
    );
  });

  test('is bad if data is missing, in any state', () => {
    const down = { pulls: [failedPull('dns')] };
    const title = 'No address found for api.example.com';
    const detail = 'since 09:20:00: metrics of 2 services';
    check(down, 'bad', title, detail);
    check({ ...down, state: 'starting' }, 'bad', title, detail);
    const both = { ...down, senders: [sampleSender({ state: 'holding' })] };
    check(both, 'bad', title, `${detail} – and 1 more`);
    const sender = sampleSender({ state: 'retrying', lastError: 'no answer' });
    const said = 'metrics to https://otlp.example.com/v1/metrics: no answer, since 09:30:00';
    check({ senders: [sender] }, 'bad', 'Back end accepts no metrics', said);
    // Names may be long.
    const long = sampleService('a', 'x y '.repeat(50), { isUp: false, reason: 'absent' });
    const { title: few } = verdictOf(withProblems(sampleReport({ services: [long] })));
    expect(few).toBe('Error: x y x y x y x…');
    // The daemon runs, but has a problem in red: `ready` is not green beside it.
    expect(pageOf(down)).toContain('<span class="badge none">ready</span>');
    expect(pageOf()).toContain('<span class="badge good">ready</span>');
  });

  test('rests on numbers and ages', () => {
    const { evidence } = verdictOf(withProblems(sampleReport()));
    expect(evidence).toBe('2 of 2 services up · last good page 21 s ago · last accepted 20 s ago');
  });
});

test('the data path is shown in numbers and ages', () => {
  const account = sampleAccount();
  account.add('dbpgf1', 'point/made', 3788);
  const text = textOf(
    pageOf({
      account: accountReport(account),
      queue: [sampleQueue({ rows: 22, points: 3788, bytes: 1536, oldestAt: secondsAgo(1320) })],
    }),
  );
  expect(text).toContain(
    'Scraped 1,204 samples a minute 1 of 1 target up last good page 21 s ago , took 184 ms 216,720 in all',
  );
  expect(text).toContain(
    'Typed 1,216 points a minute 1,192 series, and 12 of our own 215,948 in all 6,720 repeated, 0 dropped',
  );
  expect(text).toContain('Queued 3,788 points wait 22 requests, 1.5 KiB oldest 22 min ago');
  expect(text).toContain('Accepted 1,210 points a minute last 20 s ago 212,160 in all');
  expect(text).toContain('Lost 0 points 0 refused, 0 evicted of 215,948 points made');
});

test('rates are of the last minutes, however long the rounds are', () => {
  const ratesAt = (times: readonly number[]): unknown =>
    ratesOf({
      timeline: {
        slotMs: 0,
        slots: [
          null,
          ...times.map((seconds, i) => ({
            at: secondsAgo(-seconds),
            samples: 100,
            durationMs: 1,
            failures: 0,
            queued: 0,
            made: i * 120,
            accepted: i * 60,
            lost: i * 2,
          })),
        ],
      },
    });
  const each = { samples: 100, made: 120, accepted: 60, lost: 2 };
  expect(ratesAt([0, 60, 120])).toEqual(each);
  // Only the rounds of the last five minutes count.
  expect(ratesAt([0, 3600, 3660, 3720])).toEqual(each);
  // Rounds of ten minutes: the last two.
  expect(ratesAt([0, 600])).toEqual({ samples: 10, made: 12, accepted: 6, lost: 0.2 });
  expect(ratesAt([0])).toBe(null);
  // The clock was set back.
  expect(ratesAt([60, 0])).toBe(null);
});

describe('one scale of severity', () => {
  const cardOf = (title: string, changes: Partial<StatusReport>): string =>
    new RegExp(`<li class="(\\w+)"><h3>${title}`).exec(pageOf(changes))?.[1] ?? '';
  const rowOf = (id: string, changes: Partial<StatusReport>): readonly string[] => {
    const [, rest = ''] = pageOf(changes).split(`<div id="${id}">`);
    const [, row = 'good'] = /<tbody><tr(?: id="[^"]*")?(?: class="(\w+)")?>/.exec(rest) ?? [];
    const [, pill = ''] = /class="badge (\w+)"/.exec(rest) ?? [];
    return [row, pill];
  };

  test('points that were lost are red, a queue that fills is amber', () => {
    expect(cardOf('Lost', {})).toBe('good');
    const account = sampleAccount();
    account.add('dbpgf1', 'point/evicted', 1);
    expect(cardOf('Lost', { account: accountReport(account) })).toBe('bad');
    expect(cardOf('Queued', {})).toBe('good');
    const filling = { queue: [sampleQueue({ bytes: 9, fullInMs: 86_400_000 })] };
    expect(cardOf('Queued', filling)).toBe('warn');
    expect(rowOf('back-end', filling)).toEqual(['warn', 'warn']);
  });

  test('a row has the colour of its pill', () => {
    const service = (changes: object): Partial<StatusReport> => ({
      services: [sampleService('a', 'orders', changes)],
    });
    expect(rowOf('services', service({}))).toEqual(['good', 'good']);
    expect(rowOf('services', service({ badLines: 1 }))).toEqual(['warn', 'warn']);
    expect(rowOf('services', service({ lostUptimes: 1 }))).toEqual(['warn', 'warn']);
    expect(rowOf('services', service({ isUp: false, reason: 'x' }))).toEqual(['bad', 'bad']);
    expect(rowOf('services', service({ isUp: null }))).toEqual(['busy', 'busy']);
    const skewed = { targets: [sampleTarget({ clockSkewMs: 86_400_000 })] };
    expect(rowOf('targets', skewed)).toEqual(['warn', 'warn']);
    const failing = { senders: [sampleSender({ state: 'holding' })] };
    expect(rowOf('back-end', failing)).toEqual(['bad', 'bad']);
  });
});

test('the header names the configuration, and says when its file differs', () => {
  const configuration = { file: 'a<b.yaml', loadedAt: '2026-03-04T08:00:00.000Z', isStale: false };
  const same = pageOf({ configuration });
  expect(same).toContain('<code>a&lt;b.yaml</code>, loaded');
  expect(same).not.toContain('the file differs');
  expect(pageOf({ configuration: { ...configuration, isStale: true } })).toContain(
    'the file differs',
  );
});

test('the arrow marks a remedy and nothing else', () => {
  const page = pageOf({
    targets: [sampleTarget({ state: 'auth', lastReason: 'auth', hint: 'look' })],
  });
  expect(page).toContain('<p class="do">look</p>');
  const [rule = '', ...more] = [...page.matchAll(/[^}]*\\2192[^}]*/g)].map(([text]) => text.trim());
  expect(rule).toMatch(/^\.do::before/);
  expect(more).toEqual([]);
  expect(page).not.toContain('→');
});

test('a failing target shows its last error and the remedy, above the healthy ones', () => {
  const target = sampleTarget({
    name: 'failing',
    state: 'auth',
    lastReason: 'auth',
    lastMessage: 'cannot get https://x: the service refused the key',
    hint: 'check api.key',
  });
  const page = pageOf({ targets: [sampleTarget({ name: 'well' }), target] });
  const text = textOf(page.slice(page.indexOf('<h2>Targets')));
  expect(text).toContain('auth cannot get https://x: the service refused the key check api.key');
  expect(text.indexOf('failing')).toBeLessThan(text.indexOf('well'));
  const services = [
    sampleService('a', 'well'),
    sampleService('b', 'failing', { isUp: false, reason: 'absent' }),
  ];
  const servicesText = textOf(pageOf({ services })).split('Our own')[1] ?? '';
  expect(servicesText).toMatch(/failing b down absent .*well a up/);
});

test('each sender is shown with the queue of its signal', () => {
  const text = textOf(
    pageOf({
      senders: [sampleSender(), sampleSender({ signal: 'logs' })],
      queue: [sampleQueue({ points: 100, rows: 1 }), sampleQueue({ signal: 'logs', points: 7 })],
    }),
  );
  expect(text).toMatch(
    / metrics https:\S+ idle .*? 100 in 1 request .* logs https:\S+ idle .*? 7 in 0 /,
  );
});

const evil = `"><script>alert('x')</script><img src=x onerror=alert(1)>`;
const numbers = accountReport(sampleAccount()).total;
/** A report that shows all sections. */
const everything: Partial<StatusReport> = {
  targets: [
    sampleTarget({
      lastReason: 'auth',
      lastMessage: 'refused',
      hint: 'look',
      drift: {
        engine: {
          appeared: { count: 130, items: ['engine_new'] },
          vanished: { count: 0, items: [] },
          contradicted: { count: 0, items: [] },
          mangled: { count: 1, items: [{ name: 'engine.up', original: 'engine_up' }] },
        },
      },
    }),
    sampleTarget({ badLines: 1, firstProblem: { line: 1, column: 1, reason: 'odd' } }),
  ],
  services: [
    sampleService('a', 'orders', { isUp: false, reason: 'odd', droppedByReason: { [evil]: 1 } }),
  ],
  unconfigured: [{ id: 'x', samples: 1, isSent: false }],
  senders: [sampleSender({ lastError: 'no', state: 'holding' })],
  setAside: [{ signal: 'metrics', service: 'a', points: 1, reason: 'no', at: secondsAgo(1) }],
  account: { total: numbers, services: { [evil]: numbers } },
  pulls: [samplePull(), samplePull({ kind: 'logs' })],
  logs: {
    partitions: [samplePartition({ state: 'failed', lastError: 'no' })],
    catchUp: [{ name: 'a', doneCount: 1, dueCount: 2 }],
    givenUp: [{ at: secondsAgo(1), service: 'a', type: 'b', archive: 'c', reason: 'd' }],
    nextPullAt: secondsAgo(-5),
  },
  backups: {
    services: [sampleBackups({ lastError: 'no', hint: 'look' })],
    nextReadAt: secondsAgo(-60),
  },
  notes: ['x'],
};

/** The same value, with `evil` in each place whose text may come from outside. */
function tainted<T>(value: T, key = ''): T {
  if (typeof value === 'string') {
    const isOwn = /^(?:state|kind|signal)$/.test(key) || !Number.isNaN(Date.parse(value));
    return isOwn ? value : (evil as T);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(one => tainted(one, key)) as T;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, tainted(one, name)]),
  ) as T;
}

test('text from outside never becomes markup', () => {
  const page = pageOf(
    tainted({ ...everything, version: 'v', state: 'starting', waitingFor: ['x'] }),
  );
  expect(page).not.toContain("alert('x')");
  expect(page).not.toContain('<img');
  expect(page.match(/<script>/g)).toHaveLength(1);
  expect(page).toContain('&lt;script&gt;alert(&#39;x&#39;)');
  // Every element that was opened is closed: no text has broken out of its place.
  for (const name of ['table', 'tr', 'td', 'div', 'section', 'li', 'details', 'span', 'small'])
    expect(page.match(new RegExp(`<${name}[ >]`, 'g'))?.length, name).toBe(
      page.match(new RegExp(`</${name}>`, 'g'))?.length,
    );
});

test('style and script are allowed by their hashes, and nothing else is', () => {
  const page = pageOf();
  const hashOf = (name: string): string => {
    const inline = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(page)?.[1] ?? '';
    return `'sha256-${createHash('sha256').update(inline).digest('base64')}'`;
  };
  expect(PAGE_POLICY).toContain("default-src 'none'");
  expect(PAGE_POLICY).toContain(`script-src ${hashOf('script')};`);
  expect(PAGE_POLICY).toContain(`style-src ${hashOf('style')};`);
  expect(page).not.toMatch(/ style=| on[a-z]+=/);
  expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
});

test('time lines have a text for their content, and mark failures', () => {
  const page = pageOf();
  expect(page).toContain('aria-label="Samples: now 1,204, at most 1,204"');
  expect(page).toContain('<title>09:00:00 0, 1 failed</title>');
  expect(page).toContain('aria-label="Longest scrape: now 239 ms, at most 239 ms"');
  expect(page.match(/<rect class="bad"/g)).toHaveLength(2);
  expect(textOf(page)).toContain('a bar per scrape, the newest on the right');
  const empty = { slotMs: 60_000, slots: Array.from({ length: 90 }, () => null) };
  expect(pageOf({ timeline: empty })).not.toContain('Lately');
});

test('one bar far above the others is cut, and keeps its value', () => {
  const slots = [90_000, 100, 120, 110].map(durationMs => ({
    at: secondsAgo(60),
    samples: 5,
    durationMs,
    failures: 0,
    queued: 0,
    made: 0,
    accepted: 0,
    lost: 0,
  }));
  const page = pageOf({ timeline: { slotMs: 60_000, slots } });
  const [, heights = ''] = /Longest scrape<\/h3>(.*?)<\/svg>/s.exec(page) ?? [];
  expect([...heights.matchAll(/height="([\d.]+)"><title>/g)].map(([, height]) => height)).toEqual([
    '44.0',
    '29.3',
    '35.2',
    '32.3',
  ]);
  expect(heights).toContain('class="cut"');
  expect(heights).toContain('1 min 30 s</title>');
});

test('without scripts the page is complete and reloads', () => {
  const page = pageOf().replace(/<script>.*<\/script>/s, '');
  expect(textOf(page)).toContain('212,160 in all');
  expect(page).toContain('<noscript><meta http-equiv="refresh"');
});

test('many services are folded, the failing ones are not', () => {
  const services = Array.from({ length: 150 }, (_, i) => sampleService(`db${i}`, `service-${i}`));
  services.push(sampleService('dbx', 'the-failing-one', { isUp: false, reason: 'absent' }));
  const page = pageOf({ services });
  const [shown = '', folded = ''] = page.split('<details id="services-rest">');
  expect(shown).toContain(
    '<tr id="s-dbx" class="bad"><th scope="row"><a href="services/dbx">the-failing-one</a>',
  );
  expect(shown).not.toContain('>service-1');
  expect(folded).toContain('<summary>150 more services, all well</summary>');
  expect(folded.match(/">service-\d+<\/a>/g)).toHaveLength(150);
});

test('tables of thousands are truncated', () => {
  const services = Array.from({ length: TABLE_ROWS_MAX + 51 }, (_, i) =>
    sampleService(`db${i}`, `service-${i}`),
  );
  expect(textOf(pageOf({ services }))).toContain('51 more rows are in /status.json.');
});

test('without metrics, no service seems to wait for its first page', () => {
  const services = [sampleService('a', 'orders', { isUp: null })];
  const page = pageOf({ targets: [], pulls: [samplePull({ kind: 'logs' })], services });
  const text = textOf(page);
  expect(text).toContain('1 service, metrics are not read · last accepted 20 s ago');
  expect(text).toMatch(/samples metrics are not read .* orders a metrics not read /);
  expect(text).not.toMatch(/waiting|targets? up|good page|Targets/);
});

test('a path without a page is told in the same design, without script or reload', () => {
  const page = renderMissing(withProblems(sampleReport()), 'there is no <such> path', 2);
  expect(textOf(page)).toContain('Not found there is no &lt;such&gt; path To the status page');
  expect(page).toContain('href="../../"');
  expect(page).not.toMatch(/<script|http-equiv|id="tools"/);
  const deep = renderMissing(withProblems(sampleReport()), '', 8000);
  expect(deep.length - page.length).toBeLessThan(500);
});

test('links work below any path', () => {
  expect(pageOf({ logs: null })).not.toMatch(/(?:href|src|action)="\//);
});

test('parts that are not in use take no room', () => {
  const titles = (changes: Partial<StatusReport>): readonly string[] =>
    [...pageOf(changes).matchAll(/<h2>([^<]*?) </g)].map(match => match[1] ?? '');
  expect(titles({})).toEqual(['Lately', 'Services', 'Targets', 'Back end', 'Account']);
  expect(titles(everything)).toEqual(
    'Problems|Lately|Services|Targets|Back end|Account|Reading|Logs|Backups|Set aside|Drift'.split(
      '|',
    ),
  );
});

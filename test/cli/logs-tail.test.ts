// `logs tail` against a service that grows, fails and replaces its archives between two looks; `logs retention` against one
// that does not do what it is told.

import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { verb as logs } from '../../src/cli/logs.ts';
import { zip } from '../../src/simulator/zip.ts';
import { startHttpServer } from '../support/http-server.ts';
import { NOW, ShiftedClock } from '../support/log-site.ts';
import { callVerb, type Printed } from '../support/verb-context.ts';

/** The archives of a service by `<source> <id>`, and how it answers for them. */
class Service {
  readonly archives = new Map<string, string>();
  /** The status of downloads. */
  status = 200;
  isDamaged = false;
  downloads = 0;
  /** In place of the next download. */
  answer: ((response: ServerResponse) => void) | null = null;

  write(key: string, ...lines: readonly string[]): void {
    this.archives.set(key, (this.archives.get(key) ?? '') + lines.map(one => `${one}\n`).join(''));
  }
}

interface TailOptions {
  readonly args?: readonly string[];
  /** What happens before each further look; after the last one the user stops it. */
  readonly looks?: readonly ((service: Service) => void)[];
  readonly stop?: AbortController;
}

/** Tails the archives; with looks, it follows them. */
async function tail(service: Service, options: TailOptions = {}): Promise<Printed> {
  const { args = [], looks = [], stop = new AbortController() } = options;
  await using server = await startHttpServer(({ path }, response) => {
    const { pathname, searchParams } = new URL(path, 'http://service');
    const id = searchParams.get('logIds') ?? '';
    if (!pathname.endsWith('/archive')) {
      const listed = [...service.archives].map(([key, text]) => {
        const [source = '', archive] = key.split(' ');
        const server = source.split('/')[1];
        const place = { server, serverDataSourceId: source, logType: 'error-log' };
        const startTime = new Date(NOW).toISOString();
        return { id: archive, ...place, size: text.length, startTime };
      });
      response.end(JSON.stringify({ count: listed.length, logs: listed }));
      return;
    }
    service.downloads++;
    if (service.answer !== null) return service.answer(response);
    response.statusCode = service.status;
    const entries = [...service.archives]
      .filter(([key]) => key.endsWith(` ${id}`))
      .map(([key, text]) => ({ name: key.split(' ')[0] ?? '', bytes: Buffer.from(text) }))
      .map(entry => (service.isDamaged ? { ...entry, checksum: 1 } : entry));
    response.end(service.status === 200 ? zip(entries) : '');
  });
  const left = [...looks];
  const clock = new (class extends ShiftedClock {
    override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
      if (ms < 60_000) return await super.sleep(ms, signal);
      this.forward(ms);
      const look = left.shift();
      if (look === undefined) stop.abort();
      else look(service);
    }
  })(NOW);
  const follow = looks.length === 0 ? [] : ['--follow'];
  const words = ['tail', '--base-url', server.origin, ...follow, ...args];
  const environment = { PROM2OTLP_API_KEY: 'key' };
  return await callVerb(logs, words, { environment, clock, stop: stop.signal });
}

function linesOf({ out }: Printed): readonly string[] {
  return out
    .split('\n')
    .filter(line => line !== '')
    .map(line => line.replace('orders-0 error-log ', ''));
}

const FIRST = 'db1/orders-0 a1';
const numbered = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, i) => `${name} ${i}`);

describe('logs tail --follow', () => {
  test('shows each new line once, and after a failure what came meanwhile', async () => {
    const service = new Service();
    service.write(FIRST, ...numbered(30, 'old'));
    const printed = await tail(service, {
      args: ['--lines', '2'],
      looks: [
        one => one.write(FIRST, 'second'),
        one => {
          one.write(FIRST, 'third');
          one.status = 503;
        },
        one => (one.status = 200),
      ],
    });
    expect(linesOf(printed)).toEqual(['old 28', 'old 29', 'second', 'third']);
    expect(printed.err).toContain('503');
  });

  test('shows the last lines of an archive whose first download failed', async () => {
    const service = new Service();
    service.write(FIRST, ...numbered(30, 'old'));
    service.status = 503;
    const looks = [(one: Service) => (one.status = 200)];
    const printed = await tail(service, { args: ['--lines', '2'], looks });
    expect(linesOf(printed)).toEqual(['old 28', 'old 29']);
  });

  test('shows every line of an archive that is new or was replaced', async () => {
    const service = new Service();
    service.write(FIRST, 'old');
    const looks = [
      (one: Service) => one.write('db1/orders-0 a2', ...numbered(50, 'new')),
      (one: Service) => {
        one.archives.delete(FIRST);
        one.write(FIRST, ...numbered(50, 'replaced'));
      },
      (one: Service) => one.archives.set(FIRST, 'replaced 0\n'),
    ];
    const want = ['old', ...numbered(50, 'new'), ...numbered(50, 'replaced'), 'replaced 0'];
    expect(linesOf(await tail(service, { looks }))).toEqual(want);
  });

  test('shows every line of a file that is new in an archive', async () => {
    const service = new Service();
    service.write(FIRST, 'old');
    const looks = [
      (one: Service): void => {
        one.write('db1/orders-1 a1', ...numbered(50, 'new'));
        one.write(FIRST, 'more');
      },
    ];
    const lines = linesOf(await tail(service, { looks }));
    expect(lines.filter(line => line.includes('new')).length).toBe(50);
  });

  test('shows what it can read of a damaged archive once, and asks for it less and less often', async () => {
    const service = new Service();
    service.write(FIRST, 'old');
    const damage = (one: Service): void => {
      one.isDamaged = true;
      one.write(FIRST, 'new');
    };
    const looks = [damage, ...Array.from({ length: 9 }, () => () => undefined)];
    const printed = await tail(service, { looks });
    expect(linesOf(printed)).toEqual(['old', 'new']);
    expect([printed.code, service.downloads]).toEqual([0, 5]);
  });

  test('loses no line of a burst', async () => {
    const service = new Service();
    service.write(FIRST, 'old');
    const burst = numbered(25_000, 'line');
    const looks = [(one: Service) => one.write(FIRST, ...burst)];
    expect(linesOf(await tail(service, { looks }))).toEqual(['old', ...burst]);
  });

  test('shows an unfinished line when it is finished, and without --follow as it is', async () => {
    const service = new Service();
    service.archives.set(FIRST, 'one\ntw');
    const looks = [(one: Service) => one.archives.set(FIRST, 'one\ntwo\n')];
    expect(linesOf(await tail(service))).toEqual(['one', 'tw']);
    expect(linesOf(await tail(service, { looks }))).toEqual(['one', 'two']);
  });

  test('ends without a word when it is stopped in the middle of a download', async () => {
    const service = new Service();
    service.write(FIRST, 'one');
    const stop = new AbortController();
    service.answer = response => {
      response.write('PK');
      stop.abort();
    };
    const printed = await tail(service, { stop, looks: [() => undefined] });
    expect(printed).toEqual({ code: 0, out: '', err: '' });
  });

  test('asks for no end', async () => {
    const { code, err } = await tail(new Service(), { args: ['--follow', '--to', '1h'] });
    expect([code, err]).toEqual([
      null,
      expect.stringContaining('--follow has no end: leave out --to'),
    ]);
  });
});

describe('logs retention --set-days', () => {
  const set = async (answer: string, ...args: readonly string[]): Promise<Printed> => {
    await using server = await startHttpServer((_, response) => void response.end(answer));
    const change = ['--set-days', '3', '--bucket', 'b', '--provider', 'p', '--confirm', 'b'];
    const words = ['retention', '--base-url', server.origin, ...change, ...args];
    const printed = await callVerb(logs, words, { environment: { PROM2OTLP_API_KEY: 'key' } });
    expect(server.requests).toHaveLength(printed.code === null ? 0 : 1);
    return printed;
  };

  test.each([['{"retention_policy_days":3}'], ['{"bucket_name":"b","retention_policy_days":"3"}']])(
    'succeeds if the service says so: %s',
    async answer => {
      const { code, out, err } = await set(answer);
      expect([code, err]).toEqual([0, '']);
      expect(out).toContain('RETENTION_POLICY_DAYS');
    },
  );

  test('fails if the service keeps them for another time', async () => {
    const { code, err } = await set('{"retention_policy_days":7}');
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('the service keeps logs for 7 days, not 3'),
    ]);
  });

  test.each(['', '{}', 'null', '{"status":"accepted"}'])(
    'does not say that it is done if the service does not: %j',
    async answer => {
      const { code, err } = await set(answer);
      expect([code, err]).toEqual([0, expect.stringContaining('compare with `logs retention`')]);
    },
  );

  test('wants names, and something to confirm', async () => {
    const empty = await set('{}', '--bucket', '', '--confirm', '');
    expect([empty.code, empty.err]).toEqual([null, expect.stringContaining('--bucket')]);
    await using server = await startHttpServer((_, response) => void response.end('{}'));
    const words = ['retention', '--base-url', server.origin, '--confirm', 'b'];
    const { code, err } = await callVerb(logs, words, { environment: { PROM2OTLP_API_KEY: 'k' } });
    expect([code, err]).toEqual([null, expect.stringContaining('--confirm goes with --set-days')]);
  });
});

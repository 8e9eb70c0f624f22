// `logs tail` against a service that fails, and whose archives grow and are replaced between two looks.

import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { verb as logs } from '../../src/cli/logs.ts';
import { zip } from '../../src/simulator/logs-endpoint.ts';
import { startHttpServer } from '../support/http-server.ts';
import { NOW, ShiftedClock } from '../support/log-site.ts';
import { callVerb, type Printed } from '../support/verb-context.ts';

const environment = { PROM2OTLP_API_KEY: 'key' };

const FIRST = 'db1/orders-0 a1';

/** The archives of a service by `<source> <id>`, and how it answers for them. */
class Service {
  readonly archives = new Map<string, string>();
  /** The status of downloads. */
  status = 200;
  isDamaged = false;
  downloads = 0;
  /** Answers downloads in place of the archives, unless it is null. */
  answer: ((response: ServerResponse) => void) | null = null;

  /** Puts these lines into the first archive. */
  constructor(...lines: readonly string[]) {
    this.write(FIRST, ...lines);
  }

  write(key: string, ...lines: readonly string[]): void {
    this.archives.set(key, (this.archives.get(key) ?? '') + lines.map(one => `${one}\n`).join(''));
  }
}

/** Tails the archives. With `looks`, follows them: calls each function before a further look, and then stops. */
async function tail(
  service: Service,
  looks: readonly (() => unknown)[] = [],
  { lines = 20, stop = new AbortController() } = {},
): Promise<Printed> {
  await using server = await startHttpServer(({ path }, response) => {
    const { pathname, searchParams } = new URL(path, 'http://service');
    const id = searchParams.get('logIds') ?? '';
    if (!pathname.endsWith('/archive')) {
      const listed = [...service.archives].map(([key, text], index) => {
        const [source = '', archive] = key.split(' ');
        const server = source.split('/')[1];
        const place = { server, serverDataSourceId: source, logType: 'error-log' };
        const startTime = new Date(NOW + index).toISOString();
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
      else look();
    }
  })(NOW);
  const follow = looks.length === 0 ? [] : ['--follow'];
  const words = ['tail', '--base-url', server.origin, '--lines', `${lines}`, ...follow];
  return await callVerb(logs, words, { environment, clock, stop: stop.signal });
}

function linesOf({ out }: Printed): readonly string[] {
  return out
    .split('\n')
    .filter(line => line !== '')
    .map(line => line.replace('orders-0 error-log ', ''));
}

const numbered = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, i) => `${name} ${i}`);

describe('the last lines', () => {
  test('are those of a server, however many archives have them', async () => {
    const service = new Service(...numbered(30, 'old'));
    service.write('db1/orders-0 a2', 'new 0', 'new 1');
    service.write('db1/orders-1 b1', ...numbered(9, 'other'));
    const { out } = await tail(service, [], { lines: 3 });
    const lines = [
      'orders-0 error-log old 29',
      'orders-0 error-log new 0',
      'orders-0 error-log new 1',
    ];
    const others = [6, 7, 8].map(n => `orders-1 error-log other ${n}`);
    expect(out.trim().split('\n')).toEqual([...lines, ...others]);
    expect(service.downloads).toBe(3);
  });

  test('of an archive that fails in the middle are not shown until it can be read', async () => {
    const service = new Service(...numbered(30, 'old'));
    service.isDamaged = true;
    const printed = await tail(service, [() => (service.isDamaged = false)], { lines: 2 });
    expect(linesOf(printed)).toEqual(['old 28', 'old 29']);
    expect(printed.err).toContain('cannot read the archive a1');
  });

  test('of an archive that was not needed are shown when it grows', async () => {
    const service = new Service(...numbered(30, 'old'));
    service.write('db1/orders-0 a2', 'new');
    const looks = [
      () => service.write('db1/orders-0 a2', 'more'),
      () => service.write(FIRST, 'late'),
    ];
    expect(linesOf(await tail(service, looks, { lines: 1 }))).toEqual(['new', 'more', 'late']);
  });
});

describe('logs tail --follow', () => {
  test('shows each new line once, and after a failure what came meanwhile', async () => {
    const service = new Service(...numbered(30, 'old'));
    const fail = (): void => {
      service.write(FIRST, 'third');
      service.status = 503;
    };
    const looks = [() => service.write(FIRST, 'second'), fail, () => (service.status = 200)];
    const printed = await tail(service, looks, { lines: 2 });
    expect(linesOf(printed)).toEqual(['old 28', 'old 29', 'second', 'third']);
    expect(printed.err).toContain('503');
  });

  test('shows the last lines of an archive whose first download failed', async () => {
    const service = new Service(...numbered(30, 'old'));
    service.status = 503;
    const printed = await tail(service, [() => (service.status = 200)], { lines: 2 });
    expect(linesOf(printed)).toEqual(['old 28', 'old 29']);
  });

  test('shows every line of an archive that is new or was replaced', async () => {
    const service = new Service('old');
    const replace = (): void => {
      service.archives.delete(FIRST);
      service.write(FIRST, ...numbered(50, 'replaced'));
    };
    const looks = [
      () => service.write('db1/orders-0 a2', ...numbered(50, 'new')),
      replace,
      () => service.archives.set(FIRST, 'replaced 0\n'),
    ];
    const want = ['old', ...numbered(50, 'new'), ...numbered(50, 'replaced'), 'replaced 0'];
    expect(linesOf(await tail(service, looks))).toEqual(want);
  });

  test('forgets an archive that is gone: one of the same id and size is new', async () => {
    const service = new Service('old');
    const looks = [
      () => service.write('db1/orders-0 a2', 'before'),
      () => service.archives.delete('db1/orders-0 a2'),
      () => service.write('db1/orders-0 a2', 'after_'),
    ];
    expect(linesOf(await tail(service, looks))).toEqual(['old', 'before', 'after_']);
  });

  test('shows every line of a file that is new in an archive', async () => {
    const service = new Service('old');
    const write = (): void => {
      service.write('db1/orders-1 a1', ...numbered(50, 'new'));
      service.write(FIRST, 'more');
    };
    const lines = linesOf(await tail(service, [write]));
    expect(lines.filter(line => line.includes('new')).length).toBe(50);
  });

  test('shows what it can read of a damaged archive once, and asks for it less and less often', async () => {
    const service = new Service('old');
    const damage = (): void => {
      service.isDamaged = true;
      service.write(FIRST, 'new');
    };
    const nothing = (): void => undefined;
    const printed = await tail(service, [damage, ...Array<() => void>(9).fill(nothing)]);
    expect(linesOf(printed)).toEqual(['old', 'new']);
    expect([printed.code, service.downloads]).toEqual([0, 5]);
  });

  test('loses no line of a burst', async () => {
    const service = new Service('old');
    const burst = numbered(25_000, 'line');
    const printed = await tail(service, [() => service.write(FIRST, ...burst)]);
    expect(linesOf(printed)).toEqual(['old', ...burst]);
  });

  test('shows an unfinished line when it is finished, and without --follow without its last token', async () => {
    const service = new Service();
    service.archives.set(FIRST, 'one\nand tw');
    expect(linesOf(await tail(service))).toEqual(['one', 'and ?']);
    const finish = (): unknown => service.archives.set(FIRST, 'one\nand two\n');
    expect(linesOf(await tail(service, [finish]))).toEqual(['one', 'and two']);
  });

  test('ends without a word when it is stopped in the middle of a download', async () => {
    const service = new Service('one');
    const stop = new AbortController();
    service.answer = response => {
      response.write('PK');
      stop.abort();
    };
    const printed = await tail(service, [() => undefined], { stop });
    expect(printed).toEqual({ code: 0, out: '', err: '' });
  });
});

// Answers with status 200 that are not the archive: the archive's lines still arrive, and soon.

import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { zip } from '../../src/simulator/logs-endpoint.ts';
import { startHttpServer } from '../support/http-server.ts';
import { DAY, ERRORS, HOUR, LogSite, MINUTE, OTHER } from '../support/log-site.ts';

const ID = '2026-03-04.orders-0.error-log';

interface Spoiled {
  readonly site: LogSite;
  /** The answers to the next downloads of the archive; undefined is the archive itself. */
  readonly answers: (Buffer | undefined)[];
}

/** A site that reaches the service through a server that may answer in its place. */
async function openSpoiled(faults: object = {}): Promise<Spoiled> {
  const answers: (Buffer | undefined)[] = [];
  let origin = '';
  const between = await startHttpServer(async ({ path, headers }, response) => {
    const answer = path.includes(`logIds=${ID}`) ? answers.shift() : undefined;
    if (answer !== undefined) {
      response.end(answer);
      return;
    }
    const key = String(headers['x-api-key']);
    const good = await fetch(`${origin}${path}`, { headers: { 'x-api-key': key } });
    response.statusCode = good.status;
    response.setHeader('date', good.headers.get('date') ?? '');
    response.end(Buffer.from(await good.arrayBuffer()));
  });
  onTestFinished(() => between[Symbol.asyncDispose]());
  const site = await LogSite.open({
    api: { base_url: between.origin },
    logs: { first_start: '3d' },
  });
  onTestFinished(() => site[Symbol.asyncDispose]());
  origin = site.simulator.url;
  site.simulator.setFaults(faults);
  site.write(ERRORS, 'one', 'two', 'end');
  site.write(OTHER, 'other');
  return { site, answers };
}

/** The lines of the archive that have arrived. */
function arrived({ bodies, book }: LogSite): readonly string[] {
  const written = book.issued.filter(({ archive }) => archive === ID).map(({ text }) => text);
  return bodies.filter(body => written.includes(body)).toSorted();
}

const LINE = Buffer.from('{"log":"wrong","time":"2026-03-04T08:00:00Z"}\n');
const WRONG: Readonly<Record<string, Buffer>> = {
  'a text': Buffer.from('upstream connect error\nretry later\n'),
  'a text in gzip': gzipSync(LINE),
  'another archive': zip([{ name: 'other/error-log/2026-03-04.json', bytes: LINE }]),
  'an archive in an archive': zip([{ name: 'a.zip', bytes: zip([{ name: 'a', bytes: LINE }]) }]),
  'an encrypted archive': zip([{ name: 'a', bytes: LINE, flags: 1 }]),
};

test.each(
  Object.entries(WRONG).flatMap(([name, answer]) => [
    [name, 'at first', answer],
    [name, 'later', answer],
  ]),
)('%s, once, %s, spoils no archive', async (_, when, answer) => {
  const { site, answers } = await openSpoiled();
  if (when === 'later') {
    await site.pull();
    site.write(ERRORS, 'more');
  }
  answers.push(answer);
  await site.pulls(2);
  site.write(ERRORS, 'later', 'last');
  // An hour of attempts, another attempt an hour later, and the checks that release the last record.
  await site.pulls(30);
  for (const text of ['soon', 'as before', 'open']) {
    site.write(ERRORS, text);
    await site.pulls(1);
  }
  // The last record is still open.
  const written = site.book.issued.filter(({ archive }) => archive === ID).slice(0, -1);
  expect(arrived(site)).toEqual(written.map(({ text }) => text).toSorted());
  expect(site.logs.meter.givenUp.length).toBeLessThanOrEqual(1);
});

test.each(['an archive in an archive', 'a text'])(
  '%s, once, spoils no archive that grows no more',
  async name => {
    const { site, answers } = await openSpoiled();
    answers.push(WRONG[name]);
    site.clock.forward(DAY);
    await site.pulls(6, 15 * MINUTE);
    await site.pulls(3);
    expect(arrived(site)).toEqual(['end', 'one', 'two']);
  },
);

test('a file is read at the next try after an encrypted archive came once in its place', async () => {
  const { site, answers } = await openSpoiled({ archiveForm: 'plain' });
  answers.push(WRONG['an encrypted archive']);
  await site.pulls(5);
  expect(site.gaps).toEqual([]);
  expect(arrived(site)).toEqual(['end', 'one', 'two']);
});

test('a part of a file, once, is read to its end', async () => {
  const { site, answers } = await openSpoiled({ archiveForm: 'plain' });
  answers.push(Buffer.from('{"log":"one","time":"2026-03-04T08:59:00.000Z","stream":"stderr"}\n'));
  await site.pulls(5);
  expect(arrived(site)).toEqual(expect.arrayContaining(['end', 'one', 'two']));
  expect(site.gaps).toEqual([]);
});

test('an old answer, once, hides nothing that came later', async () => {
  const { site, answers } = await openSpoiled();
  await site.pull();
  const url = `${site.simulator.url}/observability/v2/logs/archive?logIds=${ID}&logFormat=json`;
  const old = await fetch(url, { headers: { 'x-api-key': 'test-key' } });
  answers.push(Buffer.from(await old.arrayBuffer()));
  site.write(ERRORS, 'more');
  await site.pulls(5);
  expect(arrived(site)).toEqual(['end', 'more', 'one', 'two']);
});

test('a service that has only wrong answers for hours costs what grew before and not since', async () => {
  const { site } = await openSpoiled();
  site.simulator.setFaults({ archives: { '*': 'html' } });
  await site.pulls(24, 15 * MINUTE);
  expect(site.gaps).toHaveLength(2);
  site.simulator.resetFaults();
  site.write(ERRORS, 'later');
  await site.pulls(4);
  expect(arrived(site)).toEqual(['end', 'later', 'one', 'two']);
  // The other archive has not grown.
  expect(site.bodies).not.toContain('other');
});

test('an archive that is packed in another form later loses no line', async () => {
  const { site } = await openSpoiled();
  await site.pull();
  site.write(ERRORS, 'more');
  site.simulator.setFaults({ archiveForm: 'gzip' });
  await site.pulls(30);
  expect(new Set(arrived(site))).toEqual(new Set(['one', 'two', 'end', 'more']));
  site.write(ERRORS, 'later', 'open');
  await site.pull();
  expect(arrived(site)).toContain('later');
});

test('an archive that is given up for its checksum brings its lines, and no line twice when it is whole again', async () => {
  const { site } = await openSpoiled();
  site.simulator.setFaults({ archives: { [ID]: 'checksum' } });
  await site.pulls(14);
  expect(site.gaps).toMatchObject([{ reason: 'checksum' }]);
  expect(arrived(site)).toEqual(['end', 'one', 'two']);
  site.simulator.resetFaults();
  site.write(ERRORS, 'more', 'last');
  site.clock.forward(HOUR);
  await site.pulls(4);
  expect(arrived(site)).toEqual(['end', 'last', 'more', 'one', 'two']);
  expect(site.count('rewritten_entries_total')).toBe(0);
});

test('an archive that grows after it was given up and then vanishes holds no day open', async () => {
  const { site } = await openSpoiled();
  await site.pull();
  site.simulator.setFaults({ archives: { [ID]: 'html' } });
  site.write(ERRORS, 'more');
  await site.pulls(6, 15 * MINUTE);
  site.write(ERRORS, 'still more');
  await site.pull();
  site.book.remove(ID);
  site.clock.forward(5 * DAY);
  await site.pulls(4);
  const stored = await site.queue.readState('logs', 'service/dbpgf1');
  const { openDayMs } = JSON.parse(Buffer.from(stored ?? []).toString()) as { openDayMs: number };
  expect(site.clock.nowMs() - openDayMs).toBeLessThan(3 * DAY);
});

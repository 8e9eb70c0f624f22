// The status page and the page of one service in a real Chromium: with one service and with a thousand, on a desktop and
// on a phone, in light and dark colours, with and without scripts. SCREENSHOTS=folder keeps pictures of everything.

import { gzipSync } from 'node:zlib';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { Counters } from '../../src/lib/counters.ts';
import { startStatusServer, type StatusServer } from '../../src/status/status-server.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import {
  failedPull,
  lookOf,
  sampleAccount,
  samplePartition,
  sampleReport,
  sampleSender,
  sampleService,
  sampleTarget,
  secondsAgo,
} from '../status/sample-report.ts';
import { startHttpServer } from '../support/http-server.ts';
import { chromiumPart } from './parts/chromium.ts';
import { expectToFit, type OpenPage, PHONE, takePicture, useBrowser } from './support/browser.ts';
import { reasonToSkip } from './support/part.ts';

const reason = await reasonToSkip([chromiumPart]);

const DESK: BrowserContextOptions = { viewport: { width: 1280, height: 1000 } };
/** Every screen, in light and dark colours. */
const SCREENS = Object.entries({ desk: DESK, phone: PHONE }).flatMap(([screen, options]) =>
  (['light', 'dark'] as const).map(colorScheme => ({
    name: `${screen}-${colorScheme}`,
    colorScheme,
    ...options,
  })),
);
const HOSTILE = '<script>document.title="ran"</script><img src=x onerror="document.title=1">';

const browser = useBrowser();

function serve(report: () => StatusReport): Promise<StatusServer> {
  return startStatusServer({
    host: '127.0.0.1',
    port: 0,
    token: () => null,
    clock,
    counters: new Counters(),
    report,
    service: id => lookOf(report(), id),
    cost: () => Promise.reject(new Error('not asked for')),
    shape: () => ({ pages: [], metrics: [], metricsLeftOut: 0 }),
    waitingFor: () => [],
    strictAfterMs: () => 1,
  });
}

/** A report with every kind of problem at once, and hostile texts. */
function troubled(): StatusReport {
  const target = sampleTarget({
    name: `api.example.com ${HOSTILE}`,
    state: 'auth',
    lastReason: 'auth',
    lastMessage: 'cannot get the page: the service answered 401: the key may be wrong',
    hint: 'rotate the key in the file that api.key names: it is read again',
  });
  return sampleReport({
    targets: [target, sampleTarget({ badLines: 3 })],
    pulls: [failedPull('auth'), failedPull('auth', { kind: 'logs', message: HOSTILE })],
    services: [
      sampleService('dbpgf1', HOSTILE, { isUp: false, reason: 'absent' }),
      sampleService('dbpgf2', 'payments', { isSourceStale: true }),
    ],
    senders: [
      sampleSender({
        state: 'retrying',
        lastError: `503 ${HOSTILE}`,
        nextAttemptAt: secondsAgo(-9),
      }),
    ],
    setAside: [
      { signal: 'metrics', service: 'dbpgf1', points: 1, reason: HOSTILE, at: secondsAgo(5) },
    ],
    logs: {
      nextPullAt: secondsAgo(-60),
      catchUp: [{ name: 'api.example.com', dueCount: 40, doneCount: 12 }],
      givenUp: [
        {
          at: secondsAgo(60),
          service: 'dbpgf1',
          type: 'error-log',
          archive: HOSTILE,
          reason: HOSTILE,
        },
      ],
      partitions: [samplePartition({ state: 'failed', lastError: HOSTILE })],
    },
    notes: ['a note'],
  });
}

function crowd(count = 500): StatusReport {
  const account = sampleAccount();
  const services = Array.from({ length: count }, (_, index) =>
    sampleService(`dbpgf${String(10_000_000 + index)}`, `service-${String(index)}`),
  );
  return sampleReport({
    services,
    targets: services.slice(0, 200).map(({ name }) => sampleTarget({ name })),
    account: { ...sampleReport().account, services: {} },
    notes: [String(account.total().size)],
  });
}

/** Opens the page of a report, takes a picture, and checks the page. */
async function look(
  report: StatusReport,
  {
    name,
    path = '/',
    ...options
  }: BrowserContextOptions & { readonly name: string; readonly path?: string },
  check: (open: OpenPage) => Promise<void>,
): Promise<void> {
  const server = await serve(() => report);
  const open = await browser.open(options, server.url + path);
  await takePicture(open.page, name, name !== 'crowd');
  await check(open);
  await server.close();
}

/** Runs in the page: finds the text with the lowest contrast to its background (WCAG 2.1, 1.4.3). */
const LOWEST_CONTRAST = `(() => {
  const channels = colour => (colour.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = colour => {
    const [r, g, b] = channels(colour).map(value => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    for (let at = element; at !== null; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (channels(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  let lowest = { ratio: Infinity, text: '' };
  for (const element of document.querySelectorAll('main *, header *, footer *')) {
    const texts = [...element.childNodes].filter(node => node.nodeType === Node.TEXT_NODE);
    const isText = texts.some(node => node.textContent.trim() !== '');
    if (!isText || !element.checkVisibility()) continue;
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < lowest.ratio) lowest = { ratio, text: element.textContent };
  }
  return lowest;
})()`;

async function expectToBeReadable(page: Page): Promise<void> {
  const lowest = await page.evaluate<{ readonly ratio: number; readonly text: string }>(
    LOWEST_CONTRAST,
  );
  expect(lowest.ratio, lowest.text).toBeGreaterThan(4.5);
}

describe.skipIf(reason !== null)('the status page in Chromium', () => {
  for (const screen of SCREENS) {
    const { name } = screen;
    test(`fits and can be read: ${name}`, async () => {
      await look(sampleReport(), screen, async ({ page, complaints }) => {
        await expectToFit(page);
        await expectToBeReadable(page);
        expect(await page.locator('h1').count()).toBe(1);
        expect(await page.locator('svg:not([aria-label]):not([aria-hidden])').count()).toBe(0);
        expect(complaints).toEqual([]);
      });
    });

    test(`shows problems, and runs no code from them: ${name}`, async () => {
      const options = { ...screen, name: `${name}-troubled` };
      await look(troubled(), options, async ({ page, complaints }) => {
        await expectToFit(page);
        await expectToBeReadable(page);
        expect(await page.title()).toBe('Key refused by api.example.com – prom2otlp');
        expect(await page.locator('main script, main img').count()).toBe(0);
        expect(await page.locator('.problems').textContent()).toContain('Replace the key');
        expect(complaints).toEqual([]);
      });
    });
  }

  test('shows five hundred services', async () => {
    await look(crowd(), { name: 'crowd', ...DESK }, async ({ page, complaints }) => {
      await expectToFit(page);
      expect(await page.locator('tbody tr', { hasText: 'service-' }).count()).toBe(500 + 200);
      expect(await page.locator('tbody tr', { hasText: 'service-' }).first().isVisible()).toBe(
        false,
      );
      expect(complaints).toEqual([]);
    });
  });

  test('with a thousand services is light, opens and filters at once', async () => {
    const report = crowd(1000);
    const service = sampleService('dbsick', 'sick-one', { isUp: false, reason: 'absent' });
    const services = [...report.services, service];
    await look({ ...report, services }, { name: 'thousand', ...DESK }, async seen => {
      const { page, complaints } = seen;
      await expectToFit(page);
      const height = await page.evaluate<number>('document.documentElement.scrollHeight');
      expect(height).toBeLessThan(4000);
      expect(gzipSync(await page.content()).length).toBeLessThan(60_000);
      expect(await page.locator('#services tbody tr:visible').count()).toBe(1);
      const row = page.locator('#services tbody tr', { hasText: 'service-987' });
      await page.fill('#filter', 'service-987');
      expect(await row.isVisible()).toBe(true);
      expect(await page.locator('#services tbody tr:visible').count()).toBe(1);
      expect(complaints).toEqual([]);
    });
  });

  for (const screen of SCREENS) {
    const name = `service-${screen.name}`;
    test(`of one service fits, can be read, and leads back: ${name}`, async () => {
      const path = '/services/dbpgf1';
      await look(troubled(), { ...screen, name, path }, async ({ page, complaints }) => {
        await expectToFit(page);
        await expectToBeReadable(page);
        expect(await page.locator('#series-engine tbody tr').count()).toBe(2);
        await page.fill('#filter', 'threads');
        expect(await page.locator('#series-engine tbody tr:visible').count()).toBe(1);
        await page.locator('#series-engine th', { hasText: 'Value' }).locator('button').click();
        // The address has the filter and the order, and a reload shows the same.
        const query = '?filter=threads&sort=series-engine%3AValue%3Adown';
        expect(new URL(page.url()).search).toBe(query);
        await page.reload();
        expect(await page.locator('#filter').inputValue()).toBe('threads');
        expect(await page.locator('#series-engine tbody tr:visible').count()).toBe(1);
        expect(await page.locator('#series-engine th[aria-sort=descending]').textContent()).toBe(
          'Value',
        );
        await page.locator('h1 a').click();
        expect(await page.locator('#services').isVisible()).toBe(true);
        await page.locator('#services tbody a').first().click();
        expect(await page.locator('#series-engine').isVisible()).toBe(true);
        expect(complaints).toEqual([]);
      });
    });
  }

  test('keeps a family closed when it refreshes', async () => {
    let samples = 602;
    const server = await serve(() =>
      sampleReport({ services: [sampleService('dbpgf1', 'orders', { samples })] }),
    );
    const { page } = await browser.open(DESK, `${server.url}/services/dbpgf1`);
    const family = page.locator('#series-engine');
    expect(await family.isVisible()).toBe(true);
    await page.locator('#family-engine summary').click();
    samples = 777;
    await page.getByText('777', { exact: true }).waitFor({ timeout: 20_000 });
    expect(await family.isVisible()).toBe(false);
    await server.close();
  });

  test('filters, sorts and unfolds, keeps that when it refreshes, and reports a lost daemon', async () => {
    const sick = sampleService('dbsick', 'sick-one', { isUp: false, reason: 'absent', samples: 7 });
    const report = crowd();
    let samples = 5000;
    const server = await serve(() => {
      const changed = sampleService('dbpgf10000123', 'service-123', { samples });
      const others = report.services.filter(({ id }) => id !== changed.id);
      return { ...report, services: [...others, changed, sick] };
    });
    const { page } = await browser.open(DESK, server.url);
    const row = (name: string) => page.locator('#services tbody tr', { hasText: name });
    const first = page.locator('#services-rest tbody tr').first();
    expect(await row('sick-one').isVisible()).toBe(true);
    expect(await row('service-123').isVisible()).toBe(false);

    await page.fill('#filter', 'service-12');
    expect(await row('service-123').isVisible()).toBe(true);
    expect(await row('sick-one').isVisible()).toBe(false);
    expect(await page.locator('#found').textContent()).toMatch(/^\d+ of \d+ rows$/);
    await page.locator('#services-rest th', { hasText: 'Samples' }).locator('button').click();
    expect(await first.textContent()).toContain('service-123');

    samples = 6000;
    await page.getByText('6,000', { exact: true }).waitFor({ timeout: 20_000 });
    expect(await row('service-123').isVisible()).toBe(true);
    expect(await first.textContent()).toContain('service-123');

    await page.fill('#filter', '');
    expect(await row('service-123').isVisible()).toBe(false);
    await page.check('#unhealthy');
    expect(await page.locator('#services tbody tr:visible').count()).toBe(1);
    await page.uncheck('#unhealthy');
    await page.locator('#services-rest summary').click();
    expect(await row('service-123').isVisible()).toBe(true);
    await page.locator('#services-rest th', { hasText: 'Service' }).locator('button').focus();
    await page.keyboard.press('Enter');
    expect(await first.textContent()).toContain('service-0');
    await page.goto(`${server.url}/#s-dbpgf10000400`);
    expect(await row('service-400').isVisible()).toBe(true);
    expect(await page.locator('#lost').isVisible()).toBe(false);
    await server.close();
    await page.locator('#lost').waitFor({ state: 'visible', timeout: 20_000 });
  });

  test('shows the value of a bar on hover, and with the keys', async () => {
    await look(sampleReport(), { name: 'hover', ...DESK }, async ({ page, complaints }) => {
      const chart = page.locator('.line').first();
      const value = page.locator('.lines .value').first();
      await chart.locator('rect').nth(30).hover({ force: true });
      expect(await value.textContent()).toBe('09:00:00 0, 1 failed');
      await page.mouse.move(0, 0);
      expect(await value.textContent()).toBe('now 1,204, at most 1,204');
      await chart.focus();
      await page.keyboard.press('ArrowLeft');
      expect(await value.textContent()).toBe('09:28:00 1,204');
      expect(complaints).toEqual([]);
    });
  });

  test('works below another path', async () => {
    const server = await serve(() => sampleReport());
    const proxy = await startHttpServer(async (request, response) => {
      if (!request.path.startsWith('/ops/bridge/')) {
        response.writeHead(404).end();
        return;
      }
      const answer = await fetch(server.url + request.path.slice('/ops/bridge'.length));
      const type = answer.headers.get('content-type') ?? '';
      response.writeHead(answer.status, { 'content-type': type }).end(await answer.text());
    });
    const { page } = await browser.open(DESK, `${proxy.origin}/ops/bridge/`);
    await page.locator('nav a', { hasText: 'status.json' }).click();
    expect(await page.textContent('body')).toContain('"reportedAt"');
    await proxy[Symbol.asyncDispose]();
    await server.close();
  });

  test('is complete without scripts', async () => {
    const options = { name: 'no-script', javaScriptEnabled: false, ...DESK };
    await look(sampleReport(), options, async ({ page }) => {
      expect(await page.getByText('Data flows').first().isVisible()).toBe(true);
      expect(await page.locator('svg.line').count()).toBe(4);
    });
  });
});

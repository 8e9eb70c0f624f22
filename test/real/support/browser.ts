// A real Chromium, driven by playwright-core, which does not include a browser. Its background services are off, so that
// it contacts only the servers of the tests.

import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { findProgram } from './process.ts';

const QUIET = ['background-networking', 'component-update', 'sync', 'gpu', 'quic'];

/** One browser without a profile for all tests of a file. Each page gets a new context, as in a new browser. */
class OneBrowser {
  #browser: Promise<Browser> | null = null;

  /** Opens an address, or an empty page. */
  async open(options: BrowserContextOptions, url = 'about:blank'): Promise<OpenPage> {
    this.#browser ??= chromium.launch({
      executablePath: findProgram('chromium') ?? 'chromium',
      args: ['--no-first-run', '--no-sandbox', ...QUIET.map(what => `--disable-${what}`)],
    });
    const page = await (await (await this.#browser).newContext(options)).newPage();
    const complaints: string[] = [];
    page.on('console', message => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', error => complaints.push(String(error)));
    await page.goto(url);
    return { page, complaints };
  }

  async close(): Promise<void> {
    await (await this.#browser)?.close();
  }
}

export interface OpenPage {
  readonly page: Page;
  /** The errors that the browser reported: of scripts, policies and failed requests. */
  readonly complaints: readonly string[];
}

export function useBrowser(): OneBrowser {
  const browser = new OneBrowser();
  afterAll(() => browser.close());
  return browser;
}

/** The folder for pictures of pages; without it, none are taken. */
export const SCREENSHOTS: string | undefined = process.env['SCREENSHOTS'];

export async function takePicture(page: Page, name: string, fullPage = true): Promise<void> {
  if (SCREENSHOTS !== undefined)
    await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage });
}

/** Expects that nothing is wider than the screen, except tables, which scroll by themselves. */
export async function expectToFit(page: Page): Promise<void> {
  const [content = 0, screen = 0] = await page.evaluate<readonly number[]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  );
  expect(content).toBeLessThanOrEqual(screen);
}

export const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
};

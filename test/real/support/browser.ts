// A real Chromium, driven by playwright-core, which brings no browser of its own. It has no way out of this machine but to
// loopback.

import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, expect } from 'vitest';
import { findProgram } from './process.ts';

const QUIET = ['background-networking', 'component-update', 'sync', 'gpu', 'quic'];

/** A browser without a profile for all tests of a file; each context of it is as a new one. */
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
  /** What the browser complained of: scripts, policies, requests that failed. */
  readonly complaints: readonly string[];
}

export function useBrowser(): OneBrowser {
  const browser = new OneBrowser();
  afterAll(() => browser.close());
  return browser;
}

/** Where pictures of pages are kept. */
export const SCREENSHOTS: string | undefined = process.env['SCREENSHOTS'];

export async function takePicture(page: Page, name: string, fullPage = true): Promise<void> {
  if (SCREENSHOTS !== undefined)
    await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage });
}

/** Nothing is wider than the screen but tables, which scroll by themselves. */
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

// Serves the servers' pages to a scraper as the service does: adds labels and stamps to the lines, and shows the same
// page under the namespace of each view. Serves only the families of the ledger's series, and keeps the served pages.

import { withoutInventory } from '../../../bench/without-inventory.ts';
import { listen } from '../../../src/simulator/loopback-server.ts';
import type { Kind, Reading } from '../../support/truth-ledger.ts';
import type { Running } from '../support/part.ts';
import type { CountedServer } from './counted-server.ts';
import { pageOfViews, SERIES, UPTIME, type Uptime, type View } from './views.ts';

/** Selects the server that answers under the labels, for all fronts. `gate` runs work that must not overlap a fetch. */
export class Switchboard {
  server: CountedServer;
  scene = 'calm';
  /** The exporter does not reach the server, though it runs. */
  isCut = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(server: CountedServer) {
    this.server = server;
  }

  readonly gate = <T>(work: () => Promise<T>): Promise<T> => {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  };
}

export interface ServedPage {
  readonly atMs: number;
  readonly body: string;
}

const NO_PAGE = { text: '', life: null };

export interface TruthFront extends Running {
  readonly url: string;
  /** Pages that had counters, oldest first. */
  readonly readings: readonly Reading[];
  /** All pages as they were served, for the message of a failure. */
  readonly pages: readonly ServedPage[];
}

export async function startTruthFront(board: Switchboard): Promise<TruthFront> {
  const readings: Reading[] = [];
  const pages: ServedPage[] = [];
  const uptimes: Uptime[] = [];

  async function answer(askedForMs: number): Promise<ServedPage> {
    const fetchedFromMs = Date.now();
    const { text, life } = board.isCut ? NO_PAGE : await board.server.page();
    const fetchedToMs = Date.now();
    const atMs = fetchedFromMs;
    if (life === null) {
      return {
        atMs,
        body: pageOfViews({ up: 0, values: null, uptimeOf: () => null }, atMs),
      };
    }
    const values = valuesOf(text);
    uptimes.push({ seconds: valueOf(text, `${UPTIME} `), atMs });
    const atFlush = (kind: Kind): number => life.counts[kind].atFlush;
    readings.push({
      atMs,
      askedForMs,
      fetchedFromMs,
      fetchedToMs,
      life,
      values,
      positions: {
        statements: values.statements + atFlush('statements'),
        refusals: values.refusals + atFlush('refusals'),
      },
      scene: board.scene,
    });
    const uptimeOf = (view: View): Uptime | null => view.uptime(uptimes, readings.length - 1);
    return {
      atMs,
      body: pageOfViews({ up: 1, values, uptimeOf }, atMs),
    };
  }

  const serve = withoutInventory(async (_, response) => {
    const askedForMs = Date.now();
    const page = await board.gate(() => answer(askedForMs));
    pages.push(page);
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(page.body);
  });
  const { url, close } = await listen({}, serve);
  return { url, readings, pages, stop: close };
}

function valueOf(text: string, start: string): number {
  const at = text.indexOf(`\n${start}`);
  if (at < 0) throw new Error(`the exporter's page has no ${start}`);
  return Number.parseFloat(text.slice(at + 1 + start.length));
}

function valuesOf(text: string): Record<Kind, number> {
  return {
    statements: valueOf(text, `${SERIES.statements.name}{command="do"} `),
    refusals: valueOf(text, `${SERIES.refusals.name} `),
  };
}

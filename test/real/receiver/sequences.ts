// The page sequences of test/fixtures/sequences: the answers of a service to one scrape after the other. A folder has
// its pages (`.prom` is text 0.0.4, `.om` is OpenMetrics) and sequence.yaml: `about` says what happens, `steps` lists the
// answers, `scrape` and `metrics` change the defaults of the receiver's job and of the bridge.
//
// A step is the name of a page, `capture FILE`, or a failure: `status N`, `hang` until the client gives up, `cut FILE`
// half-way, `empty`, `html`, `json`. In a page, `<now-60>` is a timestamp 60 seconds before the answer.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkoutFolder } from '../support/folder.ts';

const FIXTURES = join(checkoutFolder, 'test/fixtures');
const TEXT = 'text/plain; version=0.0.4; charset=utf-8';
const OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

export interface Sequence {
  readonly name: string;
  readonly about: string;
  readonly steps: readonly Step[];
  /** Settings of the receiver's scrape job. */
  readonly scrape: Readonly<Record<string, boolean>>;
  /** Settings of the bridge, as its YAML has them under `metrics`. */
  readonly metrics: Readonly<Record<string, boolean | string>>;
}

export type Step =
  | { readonly kind: 'page'; readonly template: string; readonly contentType: string }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'cut'; readonly template: string; readonly contentType: string }
  | { readonly kind: 'hang' };

interface SequenceFile {
  readonly about: string;
  readonly steps: readonly string[];
  readonly scrape?: Sequence['scrape'];
  readonly metrics?: Sequence['metrics'];
}

/** All of them, by name. */
export function readSequences(): Sequence[] {
  const root = join(FIXTURES, 'sequences');
  return readdirSync(root)
    .sort()
    .map(name => {
      const folder = join(root, name);
      const file = parse(readFileSync(join(folder, 'sequence.yaml'), 'utf8')) as SequenceFile;
      const { about, steps, scrape = {}, metrics = {} } = file;
      return { name, about, steps: steps.map(step => readStep(folder, step)), scrape, metrics };
    });
}

const BODIES: Readonly<Record<string, { body: string; contentType: string }>> = {
  empty: { body: '', contentType: TEXT },
  html: { body: '<!doctype html><title>Sign in</title>\n', contentType: 'text/html' },
  json: { body: '{"error":"sign in first"}\n', contentType: 'application/json' },
};

function readStep(folder: string, step: string): Step {
  const [word = '', rest = ''] = step.split(' ', 2);
  const known = BODIES[word];
  if (known !== undefined)
    return { kind: 'page', template: known.body, contentType: known.contentType };
  if (word === 'hang') return { kind: 'hang' };
  if (word === 'status') return { kind: 'status', status: Number(rest) };
  if (word === 'cut') return { kind: 'cut', ...readTemplate(folder, rest) };
  if (word === 'capture')
    return { kind: 'page', ...readTemplate(join(FIXTURES, 'captures'), rest) };
  return { kind: 'page', ...readTemplate(folder, word) };
}

function readTemplate(folder: string, file: string): { template: string; contentType: string } {
  const contentType = file.endsWith('.om') ? OPENMETRICS : TEXT;
  return { template: readFileSync(join(folder, file), 'utf8'), contentType };
}

/** The page at a time: relative timestamps become absolute ones in its format. */
export function renderPage(template: string, contentType: string, nowMs: number): string {
  return template.replaceAll(/<now([+-][\d.]+)>/g, (_, seconds: string) => {
    const timeMs = nowMs + Number(seconds) * 1000;
    return contentType === OPENMETRICS ? (timeMs / 1000).toFixed(3) : String(timeMs);
  });
}

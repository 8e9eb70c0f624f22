// `show encode`: the OTLP/JSON that a sequence of pages would be sent as, one line per page.

import { parseDuration } from '../config/units.ts';
import { otlpJson } from '../pipeline/encode/otlp-json.ts';
import { defaultConfig, readPageFile, requireFiles, tellProblems } from './page-files.ts';
import { translatePages } from './show-pages.ts';
import { readArgs, usageError, type VerbContext } from './verb.ts';

const VERB = 'show encode';

/** Runs the verb; 1 when a page had problems. */
export function showEncode(context: VerbContext): Promise<number> {
  const { values, words } = readArgs(VERB, context.args, {
    mapping: { type: 'string', default: 'semantic' },
    at: { type: 'string' },
    interval: { type: 'string', default: '15s' },
    'service-id': { type: 'string' },
  });
  const { mapping } = values;
  if (mapping !== 'semantic' && mapping !== 'strict')
    throw usageError(VERB, `expected --mapping semantic or strict, got ${JSON.stringify(mapping)}`);
  const atMs = values.at === undefined ? context.clock.nowMs() : Date.parse(values.at);
  if (Number.isNaN(atMs))
    throw usageError(
      VERB,
      `expected --at as 2026-01-01T00:00:00Z, got ${JSON.stringify(values.at)}`,
    );
  const intervalMs = parseDuration(values.interval);
  if (intervalMs === undefined || intervalMs === 0)
    throw usageError(VERB, `expected --interval as 15s, got ${JSON.stringify(values.interval)}`);
  const config = defaultConfig();
  const pages = requireFiles(VERB, words).map(readPageFile);
  const options = {
    config: { ...config, metrics: { ...config.metrics, mapping } } as const,
    atMs,
    intervalMs,
    serviceId: values['service-id'] ?? null,
  };
  let exitCode = 0;
  let index = 0;
  for (const { translated } of translatePages(pages, options)) {
    context.out.line(otlpJson('metrics', translated.batch.payload));
    const file = words[index++] ?? '';
    const problems = translated.page?.problems ?? [];
    tellProblems(context.err, file, problems);
    if (problems.length > 0) exitCode = 1;
  }
  return Promise.resolve(exitCode);
}

// The files, verbs, configuration keys and alerts that the documents name exist, and the documents' numbers are true.

import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { defaultConfig } from '../../src/config/load.ts';
import { parseDuration } from '../../src/config/units.ts';
import { RETRY_AFTER_MS_MAX } from '../../src/lib/retry-after.ts';
import { REQUESTS_MAX } from '../../src/pipeline/send/delivery.ts';
import { shippedRules } from '../support/alert-rules.ts';

const root = join(import.meta.dirname, '../..');
const documents = globSync(['*.md', '.github/*.md', 'docs/**/*.md', 'test/**/*.md'], {
  cwd: root,
}).filter(file => !file.includes('fixtures'));

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

test('every relative link leads to a file', () => {
  const broken = documents.flatMap(file =>
    [...read(file).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
      .map(([, target]) => join(dirname(file), target ?? ''))
      .filter(target => !existsSync(join(root, target)))
      .map(target => `${file}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test('every file that is named in code style exists', () => {
  const missing = documents.flatMap(file =>
    [...read(file).matchAll(/`((?:src|test|config|deploy|tools|bench|docs)\/[\w./-]+\w)`/g)]
      .map(([, path]) => path ?? '')
      .filter(path => !existsSync(join(root, path)))
      .map(path => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});

test('every verb in a document is one of the program', () => {
  const source = read('src/cli/verbs.ts');
  const verbs = [...source.matchAll(/^ {2}(\w+): \(\) => /gm)].map(([, verb]) => verb);
  expect(verbs.length).toBeGreaterThan(5);
  const unknown = documents.flatMap(file =>
    commandsIn(read(file))
      .filter(verb => !verbs.includes(verb))
      .map(verb => `${file}: ${verb}`),
  );
  expect(unknown).toEqual([]);
});

/** The verbs of the commands in a document: after `npx`, in code style, or first on a line of a code block. */
function commandsIn(text: string): string[] {
  const blocks = [...text.matchAll(/^ *```.*\n([^]*?)^ *```/gm)].map(([, code = '']) => code);
  return [
    ...text.matchAll(/(?:npx |`)prom2otlp ([a-z]+)\b(?= |`|$)/gm),
    ...blocks.join('').matchAll(/^ *prom2otlp ([a-z]+)\b(?= |$)/gm),
  ].map(([, verb = '']) => verb);
}

// Each decision has a number of its own; the numbers of deleted ones are not used again. A link shows the number of
// the decision that it leads to.
describe('docs/how-it-works/decisions', () => {
  const names = readdirSync(join(root, 'docs/how-it-works/decisions'))
    .filter(name => /^\d{4}-/.test(name))
    .sort();
  const textOf = (name: string): string => read(`docs/how-it-works/decisions/${name}`);

  test('each has a number of its own, in its name and in its title', () => {
    expect(new Set(names.map(name => name.slice(0, 4))).size).toBe(names.length);
    for (const name of names)
      expect(textOf(name)).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. `));
  });

  test('links between them show the right number', () => {
    for (const name of names)
      for (const [, shown, file = ''] of textOf(name).matchAll(/\[(\d+)\]\((\d{4}-[^)#]+)/g)) {
        expect(names, name).toContain(file);
        expect(Number(shown), `${name}: ${file}`).toBe(Number(file.slice(0, 4)));
      }
  });
});

// Its defaults are those of the program, its table follows from its formula, and the window that it sets for Prometheus
// is as long as the queue keeps metrics.
describe('docs/how-it-works/delivery.md', () => {
  const text = read('docs/how-it-works/delivery.md');
  const { otlp, queue } = defaultConfig();
  const GIB = 2 ** 30;
  const HOUR_MS = 3_600_000;
  /** The bytes of a point that the text states: in a large request, and in one of 1,000 points. */
  const [LARGE_BYTES, SMALL_BYTES] = /takes (\d+) bytes in .*, and (\d+) in one/
    .exec(text)
    ?.slice(1)
    .map(Number) ?? [0, 0];

  test('the table of sizes follows from the formula', () => {
    const rows = [...text.matchAll(/^\| ([\d,]+) \| (\d+s) \| ([\d.]+) MB \| (\d+) h \|$/gm)];
    expect(rows.length).toBe(5);
    for (const [row, series = '', interval = '', megabytes, hours] of rows) {
      const count = Number(series.replaceAll(',', ''));
      const perPoint = (count > 1000 ? LARGE_BYTES : SMALL_BYTES) ?? 0;
      const bytes = count * (HOUR_MS / (parseDuration(interval) ?? 0)) * perPoint;
      expect(Math.abs(bytes / 1e6 - Number(megabytes)), row).toBeLessThanOrEqual(0.05);
      expect(Math.round(GIB / bytes), row).toBe(Number(hours));
    }
  });

  test('the defaults, and the limits of pauses and splits, are those of the program', () => {
    expect(text).toContain('| 1 GiB lasts for |');
    expect(queue.metrics.maxBytes).toBe(GIB);
    const [, maxAge = ''] = /`queue\.metrics\.max_age` \((\w+)\)/.exec(text) ?? [];
    expect(parseDuration(maxAge)).toBe(queue.metrics.maxAgeMs);
    expect(text).toContain(`\`otlp.concurrency: ${otlp.concurrency}\``);
    expect(text).toContain(`(${RETRY_AFTER_MS_MAX / 60_000} minutes at most)`);
    expect(text).toContain(`with at most ${REQUESTS_MAX} requests`);
    expect(text).toContain(`\`otlp.stuck_after\` (${otlp.stuckAfterMs / 60_000}m)`);
  });

  test('the window for Prometheus is as long as the queue keeps metrics', () => {
    const settings = read('docs/back-ends/settings.md');
    const [, yaml = ''] = /```yaml\n(storage:[^`]*)```/.exec(settings) ?? [];
    const { storage } = parse(yaml) as {
      storage: { tsdb: { out_of_order_time_window: string } };
    };
    expect(parseDuration(storage.tsdb.out_of_order_time_window)).toBe(queue.metrics.maxAgeMs);
  });
});

// Each alert has a section, which says what the alert means, how to see it and what to do. There are no other sections.
describe('docs/operate/runbooks.md', () => {
  const alerts = shippedRules();

  const sections = new Map(
    read('docs/operate/runbooks.md')
      .split('\n### ')
      .slice(1)
      .map(text => {
        const [title = '', ...lines] = text.split('\n');
        return [title, lines.join('\n').split('\n## ')[0] ?? ''];
      }),
  );

  test('each alert has a section, and each section an alert', () => {
    expect([...sections.keys()].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
  });

  test.each(alerts)('$alert links to its section', ({ alert, annotations }) => {
    expect(annotations.runbook_url).toBe(
      `https://github.com/prom2otlp/prom2otlp/blob/main/docs/operate/runbooks.md#${alert.toLowerCase()}`,
    );
  });

  test.each([...sections])('%s says what it means, how to see it and what to do', (_, text) => {
    const parts = [...text.matchAll(/^- \*\*(\w+):\*\* (\S[\s\S]*?)(?=\n- \*\*|\s*$)/gm)];
    expect(parts.map(([, name]) => name)).toEqual(['Means', 'See', 'Do']);
    for (const [, , words = ''] of parts) expect(words.length).toBeGreaterThan(15);
  });
});

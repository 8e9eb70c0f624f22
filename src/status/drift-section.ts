// The section of the page with the differences between the pages and the catalog.

import type { FamilyDrift } from '../catalog/drift.ts';
import { formatCount } from '../lib/format.ts';
import { html, type Html, type HtmlValue } from './html.ts';
import { section } from './page-parts.ts';
import type { TargetReport } from './scrape-status.ts';

/** Null without a difference. */
export function driftSection(targets: readonly TargetReport[]): Html | null {
  const blocks = targets.flatMap(({ name, drift }, index) =>
    Object.entries(drift).flatMap(([family, lists]) =>
      driftBlock(name, `${index}-${family}`, lists),
    ),
  );
  if (blocks.length === 0) return null;
  return section(
    'Drift',
    'differences between the pages and the catalog; every series is sent nevertheless',
    blocks,
  );
}

/** `key` identifies the block: the script keeps it open when the page is refreshed. */
function driftBlock(target: string, key: string, drift: FamilyDrift): readonly Html[] {
  const lists = Object.entries(DRIFT_WORDS).flatMap(([kind, words]) => {
    const { count, items } = drift[kind as keyof FamilyDrift];
    return count === 0 ? [] : [driftList(`${formatCount(count)} ${words}`, count, items)];
  });
  if (lists.length === 0) return [];
  const family = key.slice(key.indexOf('-') + 1);
  const counts = lists.map(({ title }) => title).join('; ');
  return [
    html`<details id="drift-${key}"><summary>${target}, ${family}: ${counts}</summary>${lists.map(
      ({ content }) => content,
    )}</details>
`,
  ];
}

const DRIFT_WORDS: Readonly<Record<keyof FamilyDrift, string>> = {
  appeared: 'unknown to the catalog',
  vanished: 'missing, although other series of their table exist',
  contradicted: 'with another type than in the catalog',
  mangled: 'with a damaged name',
};

type DriftItem = FamilyDrift[keyof FamilyDrift]['items'][number];

function driftList(
  title: string,
  count: number,
  found: readonly DriftItem[],
): { readonly title: string; readonly content: HtmlValue } {
  const items = found.map(item => html`<li><code>${driftText(item)}</code></li>`);
  const rest = count - items.length;
  if (rest > 0) items.push(html`<li class="faint">and ${formatCount(rest)} more</li>`);
  return { title, content: html`<p>${title}</p><ul class="names">${items}</ul>` };
}

function driftText(item: DriftItem): string {
  if (typeof item === 'string') return item;
  return `${item.name} (${'declared' in item ? item.declared : item.original})`;
}

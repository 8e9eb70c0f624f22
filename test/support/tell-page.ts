// Describes in lines what was sent for a page: Resource, scope, metric, and the points with times of the day.
import type { OtlpPoint } from './otlp-points.ts';
import type { Seen } from './target.ts';

/** The points of one page, the services that are down, and the outcomes of the samples. */
export function tellPage(title: string, seen: Seen): string {
  const lines = [`== ${title}`];
  let above: readonly string[] = [];
  for (const point of seen.points) {
    const heads = [point.resource, `scope ${point.scope}`, metricLine(point)];
    const same = heads.findIndex((head, i) => head !== above[i]);
    const from = same < 0 ? heads.length : same;
    for (const [i, head] of heads.entries()) if (i >= from) lines.push(`${'  '.repeat(i)}${head}`);
    above = heads;
    lines.push(`      ${pointLine(point)}`);
  }
  for (const { id, isUp, reason } of seen.translated.derived.services)
    if (!isUp) lines.push(`${id} is down: ${reason}`);
  for (const { service, outcome, count } of seen.translated.derived.reads)
    lines.push(`${service === '' ? 'nobody' : service}: ${count} ${outcome}`);
  return `${lines.join('\n')}\n`;
}

function metricLine(point: OtlpPoint): string {
  const { metric, type, temporality, isMonotonic, unit, metadata, description } = point;
  const kind = [type, temporality === 'none' ? '' : temporality, isMonotonic ? 'monotonic' : ''];
  const declared = metadata.replace('prometheus.type=', 'declared ');
  const facts = [
    kind.filter(Boolean).join(' '),
    unit === '' ? 'no unit' : `unit ${unit}`,
    declared,
  ];
  return `${metric}: ${facts.join(', ')}${description === '' ? '' : `, "${description}"`}`;
}

function pointLine(point: OtlpPoint): string {
  const { attributes, distribution, value, flags, startNs, timeNs, exemplars } = point;
  const shown =
    flags === 1
      ? `no recorded value${distribution === '' ? '' : ` (${distribution})`}`
      : distribution || String(value);
  const start = startNs === '0' ? '' : `${timeOfDay(startNs)} to `;
  const tail = exemplars.map(exemplar => `, exemplar ${JSON.stringify(exemplar)}`).join('');
  return `{${attributes}} ${shown}, ${start}${timeOfDay(timeNs)}${tail}`;
}

/** `08:58:20`, with milliseconds unless they are 0. */
function timeOfDay(nanoseconds: string): string {
  const text = new Date(Number(BigInt(nanoseconds) / 1_000_000n)).toISOString();
  return text.slice(11, 23).replace(/\.000$/, '');
}

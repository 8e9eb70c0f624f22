// Pages that a service could send to fill the memory of their reader: each kind is a gzip body, made in pieces so that
// the test itself needs little memory.

import { once } from 'node:events';
import { createGzip } from 'node:zlib';

export type LineOf = (index: number) => string;

const LONG = 'x'.repeat(1000);

type Kind =
  | 'series'
  | 'longLabels'
  | 'servers'
  | 'scopes'
  | 'names'
  | 'services'
  | 'histograms'
  | 'comments'
  | 'help'
  | 'duplicates'
  | 'bare';

/** The lines of each kind of page. */
export const LINES: Readonly<Record<Kind, LineOf>> = {
  series: (i: number) =>
    `engine_global_status_threads_connected{namespace="hostile",server_name="s1",label_one="value-${i}",mode="x"} ${i}\n`,
  longLabels: (i: number) => `a{namespace="hostile",b="${LONG}${i}"} 1\n`,
  servers: (i: number) => `a{namespace="hostile",server_name="s${i}"} 1\n`,
  scopes: (i: number) => `a{namespace="hostile",otel_scope_x="s${i}"} 1\n`,
  names: (i: number) => `engine_n${i}{namespace="hostile"} 1\n`,
  services: (i: number) => `a{namespace="s${i}"} 1\n`,
  histograms: (i: number) =>
    `${i === 0 ? '# TYPE h histogram\n' : ''}h_count{namespace="hostile",b="${i}"} 1\n`,
  comments: (i: number) => `# ${LONG}${i}\n`,
  help: (i: number) => `# HELP a${i} x\n`,
  duplicates: (i: number) => `a{namespace="hostile"} 1 ${1_772_614_800_000 + i}\n`,
  bare: (i: number) => `a{b="${i}"} 1\n`,
};

const PIECE_LINES = 2000;

/** A page of `count` lines, compressed. */
export async function gzipOf(lineOf: LineOf, count: number): Promise<Buffer> {
  const gzip = createGzip({ level: 1 });
  const packed: Buffer[] = [];
  gzip.on('data', (piece: Buffer) => packed.push(piece));
  for (let from = 0; from < count; from += PIECE_LINES) {
    const to = Math.min(from + PIECE_LINES, count);
    const lines = Array.from({ length: to - from }, (_, i) => lineOf(from + i));
    if (!gzip.write(lines.join(''))) await once(gzip, 'drain');
  }
  gzip.end();
  await once(gzip, 'end');
  return Buffer.concat(packed);
}

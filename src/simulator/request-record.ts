// What the simulator (or the receiver) was asked: counts for ever, and the last requests with their headers, so
// that a test can see that a key came here and went nowhere else. Held in memory, shown to nobody.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

export interface RecordedRequest {
  readonly method: string;
  /** Path and query as they came. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly atMs: number;
}

const RECORDED_MAX = 1_000;

/** Paths counted apart; what comes after that many different ones is counted together. */
const COUNTED_PATHS_MAX = 200;

export class RequestRecord {
  /** The latest, at most RECORDED_MAX of them, oldest first. */
  readonly latest: RecordedRequest[] = [];
  readonly countByPath: Map<string, number> = new Map();
  count = 0;

  add(request: IncomingMessage, atMs: number): void {
    const { method = '', url = '', headers } = request;
    this.count++;
    this.latest.push({ method, url, headers, atMs });
    if (this.latest.length > RECORDED_MAX) this.latest.shift();
    const path = url.replace(/\?.*$/u, '');
    const isRoom = this.countByPath.has(path) || this.countByPath.size < COUNTED_PATHS_MAX;
    const counted = isRoom ? path : 'other';
    this.countByPath.set(counted, (this.countByPath.get(counted) ?? 0) + 1);
  }
}

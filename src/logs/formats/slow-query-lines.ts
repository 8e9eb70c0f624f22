// What single lines of the slow query log may be. In: a line. Out: whether a header, a banner or a statement's
// end. Whether it counts as one is for the reader to say, who knows what the line stands in.
//
//   engined, Version: 11.4.5-log. started with:
//   Tcp port: 3306  Unix socket: /run/engine.sock
//   Time                Id Command  Argument

import { TIME_KEY, USER_KEY } from './slow-query-header.ts';

const SEMICOLON = 0x3b;
const COLON = 0x3a;
const HASH = 0x23;
/** Names of users and hosts are short; a longer line is no header. */
const HEADER_LENGTH_MAX = 2048;
const HEADER_SECOND = /^# (?:Thread_id|Query_time): /;
const BANNER_END = ' started with:';
const BANNER_VERSION = ', Version: ';
/** The program as it was called: its path, or its name. */
const BANNER_NAME = /^(?:\/[\w./-]+|[\w.-]+)$/;
const BANNER_PORT = 'Tcp port: ';
const BANNER_COLUMNS = /^Time\s+Id\s+Command/;

/** The last line seen of what may be a header or a banner. */
export type Candidate = 'none' | 'time' | 'user' | 'version' | 'port';

/** Whether it is the first line of a header. */
export function startsHeader(text: string): boolean {
  if (text.charCodeAt(0) !== HASH || text.length > HEADER_LENGTH_MAX) return false;
  return text.startsWith(TIME_KEY) || isUserLine(text);
}

/** The line that every header has. */
export function isUserLine(text: string): boolean {
  return text.startsWith(USER_KEY);
}

/** Whether a statement may end here. */
export function endsStatement(text: string): boolean {
  return text.charCodeAt(text.length - 1) === SEMICOLON;
}

/** Where a banner begins in the line; -1 where none does. */
export function findBanner(text: string): number {
  if (text.charCodeAt(text.length - 1) !== COLON || !text.endsWith(BANNER_END)) return -1;
  const versionAt = text.indexOf(BANNER_VERSION);
  // Behind other text the program's name cannot be told from it: the banner then begins with the version.
  return versionAt > 0 && BANNER_NAME.test(text.slice(0, versionAt)) ? 0 : versionAt;
}

/** The second and third line of a banner. */
export function isBannerRest(text: string): boolean {
  return text.startsWith(BANNER_PORT) || BANNER_COLUMNS.test(text);
}

/** What a candidate is with this line: `none` when it is complete, null when the line does not belong to it. */
export function nextOfCandidate(candidate: Candidate, text: string): Candidate | null {
  if (text.length > HEADER_LENGTH_MAX) return null;
  if (candidate === 'time') return isUserLine(text) ? 'user' : null;
  if (candidate === 'user') return HEADER_SECOND.test(text) ? 'none' : null;
  if (candidate === 'version') return text.startsWith(BANNER_PORT) ? 'port' : null;
  return BANNER_COLUMNS.test(text) ? 'none' : null;
}

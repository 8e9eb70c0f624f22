// Which process holds a lock on a file: the kernel's own list, so nothing remains of a process that has ended. Only Linux
// has the list, and it shows no process of another container or machine.

import { readFileSync, statSync } from 'node:fs';

/** A line of /proc/locks: `1: POSIX  ADVISORY  WRITE 4711 08:01:12345 128 128`. */
const LOCK = /^\d+: \w+ +\w+ +WRITE +(\d+) \w+:\w+:(\d+) /;

/** The process that has a lock for writing on the file; null if it is not known, or if it is this one. */
export function lockHolder(path: string): number | null {
  try {
    const inode = String(statSync(path).ino);
    const holders = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .map(line => LOCK.exec(line));
    const pids = new Set(
      holders.flatMap(found => (found?.[2] === inode ? [Number(found[1])] : [])),
    );
    // Files of two disks may have the same number.
    const [pid = 0] = pids.size === 1 ? pids : [];
    return pid > 0 && pid !== process.pid ? pid : null;
  } catch {
    return null;
  }
}

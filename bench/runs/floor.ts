// Runs bench/floor.ts in a separate process, and reads the floor under a page of the fleet from its output.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export interface FloorResult {
  readonly run: number;
  readonly nsPerSample: number;
}

const SCRIPT = fileURLToPath(new URL('../floor.ts', import.meta.url));

export async function runFloor(pages: number, run: number): Promise<FloorResult> {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, String(pages)]);
  const told = /(\d+) ns\/sample/.exec(stdout)?.[1];
  if (told === undefined) throw new Error(`the floor is not told: ${stdout}`);
  return { run, nsPerSample: Number(told) };
}

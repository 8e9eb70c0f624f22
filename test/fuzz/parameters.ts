// How often each property of the suite is tried: FUZZ_RUNS, or FUZZ_INPUTS for cheap ones. FUZZ_SEED repeats a run.

export const RUNS: number = Number(process.env['FUZZ_RUNS'] ?? 200);
export const INPUTS: number = Number(process.env['FUZZ_INPUTS'] ?? 2000);

export function parametersFor(numRuns: number): {
  readonly numRuns: number;
  readonly seed?: number;
} {
  const seed = process.env['FUZZ_SEED'];
  return seed === undefined ? { numRuns } : { numRuns, seed: Number(seed) };
}

export const PARAMETERS: ReturnType<typeof parametersFor> = parametersFor(RUNS);

import type { Results } from './results.ts';
export function goalLines(_results: Results): string[] {
  return [];
}

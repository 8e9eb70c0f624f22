// "Did you mean": the candidate nearest to a mistyped word.

const WORD_LENGTH_MAX = 64;
/** A single letter is near to every two-letter word that contains it. */
const WORD_LENGTH_MIN = 2;

/** The nearest candidate, or undefined if none is near enough. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word.length > WORD_LENGTH_MAX) return undefined;
  const plain = simplify(word);
  if (plain.length < WORD_LENGTH_MIN) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(plain.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(plain, simplify(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** The first two candidates that one slip of a finger makes of the word, as a question; '' if there is none. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const distance = (candidate: string): number =>
    editDistance(word.toLowerCase(), candidate.toLowerCase());
  const near = candidates
    .filter(candidate => distance(candidate) <= 1)
    .sort((a, b) => distance(a) - distance(b));
  return near.length === 0 ? '' : `did you mean ${near.slice(0, 2).join(' or ')}?`;
}

/** `baseUrl`, `base-url` and `BASE_URL` are all `baseurl`. */
function simplify(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const at = (cells: number[], k: number): number => cells[k] ?? Number.POSITIVE_INFINITY;
      row[j] = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + (isSame ? 0 : 1),
        isSwap ? at(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length] ?? 0;
}

// What is wrong, as an operator is told.

import { formatMistake, type Mistake, OperatorError } from '../../src/errors.ts';

/** The mistakes that this throws; [] when it succeeds. */
export function mistakesOf(run: () => unknown): readonly Mistake[] {
  try {
    run();
    return [];
  } catch (error) {
    if (error instanceof OperatorError) return error.mistakes;
    throw error;
  }
}

export function linesOf(run: () => unknown): readonly string[] {
  return mistakesOf(run).map(formatMistake);
}

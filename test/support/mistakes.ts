// The mistakes that the program reports to an operator, for tests.

import { formatMistake, type Mistake, OperatorError } from '../../src/errors.ts';

/** The mistakes in the OperatorError that `run` throws; [] when `run` succeeds. */
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

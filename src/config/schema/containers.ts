// Maps and lists of the configuration. A key with nothing after its colon is as good as no key at all, so
// that a block whose keys are all commented out stays legal.

import * as z from 'zod';
import { ExpandedText } from '../secrets.ts';

/** A map of known keys; any other key is an error. */
export function block<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodType<z.output<z.ZodObject<Shape>>> {
  return z.preprocess(orElse({}), z.strictObject(shape));
}

export function list<T>(element: z.ZodType<T>): z.ZodType<T[]> {
  return z.preprocess(orElse([]), z.array(element));
}

/** A map whose keys the user chooses; `name` judges them. */
export function mapOf<T>(
  name: z.ZodType<string, string>,
  value: z.ZodType<T>,
): z.ZodType<Record<string, T>> {
  return z.preprocess(orElse({}), z.record(name, value));
}

/** Judges the keys of a `mapOf`: gives the problem with one, or undefined when it is legal. */
export function keyName(
  judge: (name: string) => { problem: string; hint?: string } | undefined,
): z.ZodType<string, string> {
  return z.string().superRefine((name, context) => {
    const refusal = judge(name);
    if (refusal === undefined) return;
    context.addIssue({ code: 'custom', message: refusal.problem, params: { hint: refusal.hint } });
  });
}

/** Nothing becomes the empty container; what a reference gives is a text, whatever it looks like to zod. */
function orElse(empty: object): (value: unknown) => unknown {
  return value => (value instanceof ExpandedText ? value.text : (value ?? empty));
}

// Changes the JSON in an answer of the simulator.

import { type Answer, jsonAnswer } from '../../src/simulator/answer.ts';

/** The answer with another value; an answer that is no success stays as it is. */
export function alteredJson(answer: Answer, change: (value: unknown) => unknown): Answer {
  if (answer.status !== 200) return answer;
  return jsonAnswer(200, change(JSON.parse(answer.body.toString())));
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

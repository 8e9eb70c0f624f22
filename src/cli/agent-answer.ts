// An answer of the agent for people: what it said, the SQL it made, the rows it got. All of it is somebody else's text:
// nothing in it reaches the terminal that the terminal would obey.

import { printableJson, printableLine, printableText } from '../lib/printable.ts';
import type { ChatAnswer } from '../service/agent.ts';
import { rowsOf } from './logs-list.ts';
import { renderTable } from './table.ts';
import type { VerbContext } from './verb.ts';

export interface AnswerOptions {
  readonly isJson: boolean;
  /** The session that was asked in; null where there was none. */
  readonly session: string | null;
}

/** Prints an answer; true when the agent did answer. */
export function printAnswer(
  answer: ChatAnswer,
  { isJson, session }: AnswerOptions,
  { out, err }: Pick<VerbContext, 'out' | 'err'>,
): boolean {
  const { response, sql, data, columns, failure } = answer;
  if (isJson) out.line(printableJson(answer));
  else {
    const parts = [
      response === '' ? '' : printableText(response),
      sql === null ? '' : `SQL: ${printableText(sql)}`,
      data.length === 0 ? '' : renderTable(rowsOf(inOrder(data, columns)), { width: out.columns }),
    ].filter(part => part !== '');
    if (parts.length > 0) out.line(parts.join('\n\n'));
  }
  if (session !== null && answer.session_id !== null && answer.session_id !== session)
    err.line(`the answer names another session: ${printableLine(answer.session_id)}`);
  if (failure !== null)
    err.line(`the agent could not answer: ${printableLine(failure)}; put the question differently`);
  return failure === null;
}

/** Rows whose members stand in the order of the columns, those that no column names behind them. */
function inOrder(
  data: ChatAnswer['data'],
  columns: readonly string[],
): readonly Readonly<Record<string, unknown>>[] {
  const head = Object.fromEntries(columns.map(column => [column, undefined]));
  return columns.length === 0 ? data : data.map(row => ({ ...head, ...row }));
}

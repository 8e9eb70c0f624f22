// `agent session create`: opens a session and prints its id.

import { printableJson } from '../lib/printable.ts';
import { sessionProblems } from '../service/agent.ts';
import { errorLine } from '../service/service-error.ts';
import { AGENT_OPTIONS, OPTION_OF_FIELD, readPairs, requiredAgent } from './agent-options.ts';
import { withProgress } from './progress.ts';
import { refuseProblems } from './request-problems.ts';
import { withService } from './service-access.ts';
import { renderTable } from './table.ts';
import { readArgs, refuseWords, usageError, type VerbContext } from './verb.ts';

const VERB = 'agent session create';

export function agentSession(context: VerbContext): Promise<number> {
  const [word, ...args] = context.args;
  if (word !== 'create') throw usageError('agent', 'expected agent session create');
  const { values, words } = readArgs(VERB, args, {
    ...AGENT_OPTIONS,
    metadata: { type: 'string', multiple: true },
  });
  refuseWords(VERB, words);
  const agent_id = requiredAgent(VERB, values['agent-id']);
  const metadata = readPairs(VERB, 'metadata', values.metadata);
  const request = { agent_id, ...(metadata === undefined ? {} : { metadata }) };
  refuseProblems(VERB, sessionProblems(request), OPTION_OF_FIELD);
  return withService(VERB, values, context, async ({ client }) => {
    const creating = client.agent.createSession(request, { signal: context.stop });
    const result = await withProgress(context, 'opening the session', creating);
    if (!result.ok) {
      context.err.line(errorLine(result.error));
      return 1;
    }
    const { session_id, agent_id: agent = '', created_at: created = '' } = result.session;
    if (values.json === true) context.out.line(printableJson(result.session));
    else
      context.out.line(
        renderTable([
          ['SESSION', 'AGENT', 'CREATED'],
          [session_id, agent, created],
        ]),
      );
    return 0;
  });
}

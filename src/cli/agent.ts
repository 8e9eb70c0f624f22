// `agent`: sessions with the service's agent, and questions to it, from the shell.

import { agentChat } from './agent-chat.ts';
import { agentSession } from './agent-session.ts';
import { ACCESS_HELP } from './service-access.ts';
import { type Action, runAction, type Verb } from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  session: agentSession,
  chat: agentChat,
};

export const verb: Verb = {
  summary: "the service's agent: agent session create | chat",
  help: `
Usage: prom2otlp agent session create --agent-id UUID [options]
       prom2otlp agent chat --agent-id UUID [options] [PROMPT]

  ${ACCESS_HELP}
  --agent-id UUID    the agent
  --json             JSON instead of text and tables

session create       opens a session, in which questions keep their context
  --metadata KEY=VALUE        kept with it, such as user_id=u1; may be repeated
chat                 asks the agent: PROMPT, or what is typed until exit or Ctrl-D. Ctrl-C gives a question up
  --session-id ID             asks within this session. Without it, PROMPT stands alone; a conversation has a
                              session of its own, which is ended with it
  --filter TABLE='WHERE …'    a condition that the service applies to every query on the table; may be repeated
  --filter-key table_filter   the other spelling of the filters' key; table_filters when absent
  --timeout 60s               how long to wait for an answer

A question is never sent twice by itself. Answers come with the SQL that the agent made and the rows it gave.

Exit: 0 done, 1 when there is no answer, 2 for a mistake on the command line.

Examples:
  prom2otlp agent chat --config /etc/prom2otlp.yaml --agent-id 6f1c…-4b2a 'Which ten tables grow fastest?'
  prom2otlp agent chat --config /etc/prom2otlp.yaml --agent-id 6f1c…-4b2a --filter orders="WHERE region = 'north'"
  PROM2OTLP_API_KEY=… prom2otlp agent session create --base-url https://api.example.com --agent-id 6f1c…-4b2a`,
  run: context => runAction('agent', ACTIONS, context),
};

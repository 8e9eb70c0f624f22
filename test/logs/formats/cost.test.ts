// No line and no log takes longer than its size allows: whoever writes SQL writes lines of these logs.

import { expect, test } from 'vitest';
import { readLog } from '../../support/log-reading.ts';

/** Linear code never takes this long for so little text, on any machine. */
const SLOW_MS = 2000;

const USER = '# User@Host: app[app] @ web-1 [10.0.0.9]';
const OPEN = `${USER}\n# Thread_id: 1\nSET timestamp=5;\nselect ';`;

test.each([
  ['pairs of a doubtful header', `${OPEN}\n${USER}\n# Thread_id: 2\n#${'  a:'.repeat(28)}!`],
  ['a user line without an end', `;\n# User@Host: ${['[', '] @ ', '['].map(many).join('')}\nx`],
])('the header of a slow query does not take long: %s', (_, text) => {
  const start = performance.now();
  readLog('slow-query-log', text);
  expect(performance.now() - start).toBeLessThan(SLOW_MS);
});

function many(text: string): string {
  return text.repeat(300);
}

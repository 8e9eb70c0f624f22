// Prints a line for every test that gets a second try (vitest.config.ts), with the error of the first: .ci/run counts
// these lines.

import { beforeEach } from 'vitest';

beforeEach(({ task }) => {
  const [error] = task.result?.errors ?? [];
  if ((task.result?.retryCount ?? 0) === 0 || error === undefined) return;
  console.log(`second try: ${task.file.name} > ${task.name}: ${error.message}`);
});

// The plain stack of test/reference, which is built of the named packages alone. It is bundled before its start, as it
// would be shipped: stripping types at the start would cost it memory.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { checkoutFolder, runFolder } from '../../test/real/support/folder.ts';
import { API_KEY, PAGE_PATH } from '../page-server.ts';
import { type Contender, startNode } from './contender.ts';

export const plainStack: Contender = {
  name: 'plain-stack',
  title: 'plain stack',
  isRounded: false,
  prepare: () => Promise.resolve({ version: `Node ${process.version}` }),
  start: async task => {
    const folder = await runFolder('bench-plain');
    const options = join(folder, 'task.json');
    await writeFile(
      options,
      JSON.stringify({
        urls: task.origins.map(origin => `${origin}${PAGE_PATH}`),
        key: API_KEY,
        otlp: task.sinkUrl,
        intervalMs: task.intervalMs,
      }),
    );
    const file = join(folder, 'plain.mjs');
    await bundle(file);
    return startNode(['--max-old-space-size=8192', file, options], {
      log: join(folder, 'plain.log'),
      env: {},
      signal: 'SIGKILL',
    });
  },
};

async function bundle(file: string): Promise<void> {
  const built = await rolldown({
    input: join(checkoutFolder, 'bench/contenders/plain-main.ts'),
    platform: 'node',
    // In one file, `import.meta.main` would be true in the plain stack's module, too: it would run as the program.
    transform: { define: { 'import.meta.main': 'false' } },
    logLevel: 'silent',
  });
  const banner =
    "import { createRequire as createRequireOfBundle } from 'node:module';\n" +
    'const require = createRequireOfBundle(import.meta.url);';
  await built.write({ file, format: 'esm', banner, codeSplitting: false });
  await built.close();
}

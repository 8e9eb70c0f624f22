// The test projects: `unit` mirrors src and runs in seconds; `e2e` starts the program; `real` starts
// real servers; `deploy` builds and starts what deploy/ holds; `fuzz` and `faults` are heavy suites to
// which .ci/run gives a count and a deadline.
import { accessSync, constants, mkdtempSync } from 'node:fs';
import { availableParallelism, homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  defineConfig,
  type TestProjectInlineConfiguration,
  type ViteUserConfig,
} from 'vitest/config';

// vitest writes a file into the user's home, and does not start without it.
try {
  accessSync(homedir(), constants.W_OK);
} catch {
  process.env['XDG_DATA_HOME'] = mkdtempSync(join(tmpdir(), 'vitest-'));
}

const heavy = ['e2e', 'real', 'deploy', 'faults', 'fuzz'].map(name => `test/${name}/**`);

/** Builds what these projects start: the bundle, which is what ships. */
const bundle = 'test/support/bundle.ts';

function project(
  name: string,
  include: string,
  seconds: number,
  more: TestProjectInlineConfiguration['test'] = {},
): TestProjectInlineConfiguration {
  const exclude = name === 'unit' ? heavy : [];
  const timeout = seconds * 1000;
  // Unit tests share their modules: nothing in the sources is global, and loading them is most of the time.
  const isolate = name !== 'unit';
  return {
    test: {
      name,
      include: [include],
      exclude,
      isolate,
      testTimeout: timeout,
      hookTimeout: timeout,
      // A busy machine may take seconds for what takes milliseconds otherwise.
      expect: { poll: { timeout: 10_000 } },
      ...more,
    },
  };
}

const config: ViteUserConfig = defineConfig({
  test: {
    // By default two cores get one worker, which waits for processes most of the time.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      project('unit', 'test/**/*.test.ts', 90),
      project('e2e', 'test/e2e/**/*.test.ts', 90, {
        globalSetup: [bundle],
      }),
      project('real', 'test/real/**/*.test.ts', 900, { globalSetup: [bundle] }),
      project('deploy', 'test/deploy/**/*.test.ts', 900, {
        fileParallelism: false,
        globalSetup: ['test/deploy/support/clone.ts'],
      }),
      project('fuzz', 'test/fuzz/**/*.test.ts', 900),
      project('faults', 'test/faults/**/*.test.ts', 1800, {
        globalSetup: [bundle, 'test/faults/support/totals.ts'],
        // The bundle has no failpoints. memory.test.ts runs the bundle.
        env: { PROM2OTLP_ENTRY: 'src/main.ts' },
      }),
    ],
  },
});

export default config;

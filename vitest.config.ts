// The test projects: `unit` mirrors src and runs in seconds; `e2e` starts the program; `real` starts
// real servers; `deploy` builds and starts what deploy/ holds; `fuzz` and `faults` are heavy suites to
// which .ci/run gives a count and a deadline.
import {
  defineConfig,
  type TestProjectInlineConfiguration,
  type ViteUserConfig,
} from 'vitest/config';

const heavy = ['e2e', 'real', 'deploy', 'faults', 'fuzz'].map(name => `test/${name}/**`);

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
      ...more,
    },
  };
}

const config: ViteUserConfig = defineConfig({
  test: {
    projects: [
      project('unit', 'test/**/*.test.ts', 10),
      project('e2e', 'test/e2e/**/*.test.ts', 90),
      project('real', 'test/real/**/*.test.ts', 900),
      project('deploy', 'test/deploy/**/*.test.ts', 900, { fileParallelism: false }),
      project('fuzz', 'test/fuzz/**/*.test.ts', 900),
      project('faults', 'test/faults/**/*.test.ts', 1800, {
        globalSetup: ['test/faults/support/totals.ts'],
      }),
    ],
  },
});

export default config;

import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';
import { leanUndici } from '../../tools/lean-bundle.ts';

/** Bundles a program of one line. */
async function bundle(program: string): Promise<number> {
  const built = await rolldown({
    input: 'virtual:program',
    platform: 'node',
    plugins: [
      {
        name: 'program',
        resolveId: source => (source === 'virtual:program' ? source : null),
        load: id => (id === 'virtual:program' ? program : null),
      },
      leanUndici(),
    ],
  });
  const { output } = await built.generate({ format: 'esm' });
  return output.reduce((sum, file) => sum + (file.type === 'chunk' ? file.code.length : 0), 0);
}

it('leaves most of undici out of the bundle', async () => {
  const bytes = await bundle("export { Pool, buildConnector, ProxyAgent } from 'undici';");
  expect(bytes).toBeGreaterThan(100_000);
  expect(bytes).toBeLessThan(700_000);
});

it('fails when undici no longer has what it replaces', async () => {
  await expect(bundle('export {};')).rejects.toThrow(
    /cannot bundle undici: its modules no longer use client-h2, .*util\/timers, esbuildDetection/,
  );
});

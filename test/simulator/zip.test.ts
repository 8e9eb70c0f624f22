import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { zip } from '../../src/simulator/zip.ts';

async function unzip(file: Buffer): Promise<Record<string, string>> {
  const archive = await fromBufferPromise(file);
  const found: Record<string, string> = {};
  for await (const entry of archive.eachEntry()) {
    found[entry.fileName] = (await buffer(await archive.openReadStreamPromise(entry))).toString();
  }
  return found;
}

test('an archive holds its entries in order, empty ones and odd names too', async () => {
  const entries = { 'a.log': 'one\n'.repeat(1_000), 'b/empty.log': '', 'süß.log': 'ü' };
  const file = zip(
    Object.entries(entries).map(([name, text]) => ({ name, bytes: Buffer.from(text) })),
  );
  expect(file.length).toBeLessThan(1_000);
  const found = await unzip(file);
  expect(Object.entries(found)).toEqual(Object.entries(entries));
});

test('an archive without entries is an archive', async () => {
  expect(await unzip(zip([]))).toEqual({});
});

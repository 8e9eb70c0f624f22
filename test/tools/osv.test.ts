// tools/osv.ts asks for each component of a list, and fails when the database knows a weakness of one.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runAny } from '../real/support/process.ts';

const program = join(import.meta.dirname, '../../tools/osv.ts');
const purls = ['pkg:npm/one@1.0.0', 'pkg:npm/%40scope/two@2.0.0'];
const list = JSON.stringify({ components: purls.map(purl => ({ purl })) });

test.each([
  [{ results: [{}, {}] }, 0, 'no known weakness in 2 components\n'],
  [{ results: [{}, { vulns: [{ id: 'A-1' }, { id: 'A-2' }] }] }, 1, `${purls[1]} A-1 A-2\n`],
])('the answer %j gives exit code %i', async (answer, code, stdout) => {
  const asked: unknown[] = [];
  const server = createServer((request, response) => {
    void text(request).then(body => {
      asked.push(request.url, JSON.parse(body));
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const found = await runAny(process.execPath, [program, address], { input: list });
    expect(found).toMatchObject({ code, stdout });
    const queries = purls.map(purl => ({ package: { purl } }));
    expect(asked).toEqual(['/v1/querybatch', { queries }]);
  } finally {
    server.close();
  }
});

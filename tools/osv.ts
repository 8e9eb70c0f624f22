// `node tools/sbom.ts | node tools/osv.ts ADDRESS` asks an OSV database for known weaknesses of the components in a list
// (CycloneDX), and prints them: component, ids. Exits with 1 if there is one.

import { text } from 'node:stream/consumers';

interface Answer {
  /** One for each query, in their order. */
  readonly results: readonly { readonly vulns?: readonly { readonly id: string }[] }[];
}

const [address = ''] = process.argv.slice(2);
const { components } = JSON.parse(await text(process.stdin)) as { components: { purl: string }[] };
const purls = components.map(({ purl }) => purl);
const answer = await fetch(new URL('/v1/querybatch', address), {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ queries: purls.map(purl => ({ package: { purl } })) }),
});
if (!answer.ok)
  throw new Error(`cannot ask ${address}: HTTP status ${answer.status}; try again later`);
const { results } = (await answer.json()) as Answer;
const found = results.flatMap(({ vulns = [] }, index) =>
  vulns.length === 0 ? [] : [`${purls[index] ?? ''} ${vulns.map(({ id }) => id).join(' ')}`],
);
console.log(
  found.length === 0 ? `no known weakness in ${purls.length} components` : found.join('\n'),
);
process.exitCode = found.length === 0 ? 0 : 1;

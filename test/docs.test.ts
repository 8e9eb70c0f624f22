// What the documents name exists: files, verbs, configuration keys. Documents that name files can be tested.

import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('..', import.meta.url).pathname;
const documents = globSync(['*.md', 'docs/**/*.md', 'test/**/*.md'], { cwd: root }).filter(
  file => !file.includes('fixtures'),
);

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

test('every relative link leads to a file', () => {
  const broken = documents.flatMap(file =>
    [...read(file).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
      .map(([, target]) => join(dirname(file), target ?? ''))
      .filter(target => !existsSync(join(root, target)))
      .map(target => `${file}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test('every file that is named in code style exists', () => {
  const missing = documents.flatMap(file =>
    [...read(file).matchAll(/`((?:src|test|config|deploy|tools|bench|docs)\/[\w./-]+\w)`/g)]
      .map(([, path]) => path ?? '')
      .filter(path => !existsSync(join(root, path)))
      .map(path => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});

test('every verb in a document is one of the program', () => {
  const source = read('src/cli/verbs.ts');
  const verbs = [...source.matchAll(/^ {2}(\w+): \(\) => /gm)].map(([, verb]) => verb);
  expect(verbs.length).toBeGreaterThan(5);
  const unknown = documents.flatMap(file =>
    commandsIn(read(file))
      .filter(verb => !verbs.includes(verb))
      .map(verb => `${file}: ${verb}`),
  );
  expect(unknown).toEqual([]);
});

/** The verbs of the commands in a document: after `npx`, in code style, and at the beginning of a line of a block of code. */
function commandsIn(text: string): string[] {
  const blocks = [...text.matchAll(/^ *```.*\n([^]*?)^ *```/gm)].map(([, code = '']) => code);
  return [
    ...text.matchAll(/(?:npx |`)prom2otlp ([a-z]+)\b(?= |`|$)/gm),
    ...blocks.join('').matchAll(/^ *prom2otlp ([a-z]+)\b(?= |$)/gm),
  ].map(([, verb = '']) => verb);
}

// Finds exports that no other file imports. In: the TypeScript files that git does not ignore. Out: a line for each such
// export, and exit code 1 when there is one. `--tests` lists instead the exports of src that only tests, tools and the
// bench import. A type that its own file uses is not listed: it is the type of a function's parameter or result.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** An export, and whether a file of src or of another folder imports it. */
interface ExportUse {
  readonly file: string;
  readonly name: string;
  readonly isUsedInSource: boolean;
  readonly isUsedElsewhere: boolean;
}

/** Files that are imported from outside of the repository: by users of the package, and by the test runner. */
const OUTSIDE = new Set([
  'src/index.ts',
  'vitest.config.ts',
  'test/deploy/support/clone.ts',
  'test/faults/support/totals.ts',
]);
const DECLARATION =
  /^export (?:abstract )?(?:async )?(const|let|function\*?|class|interface|type) (\w+)/gm;
const LIST = /^export (?:type )?\{([^}]*)\}(?: from '([^']+)')?/gm;
const IMPORT = /(?:^|[\s;])import (?:type )?([\w*{][^'"()]*?) from '(\.[^']+)'/gm;
/** A dynamic import counts as a use of all exports, since it does not name them. */
const DYNAMIC = /import\(\s*'(\.[^']+)'\s*\)/g;
/** A dynamic import that does name them, by destructuring. */
const TAKEN = /const \{([^}]*)\} = await import\(\s*'(\.[^']+)'\s*\)/g;

/** Every export of `files` (texts by path), and whether it is imported. */
export function exportUses(files: ReadonlyMap<string, string>): readonly ExportUse[] {
  const inSource = new Set<string>();
  const elsewhere = new Set<string>();
  for (const [file, text] of files) {
    const used = file.startsWith('src/') ? inSource : elsewhere;
    for (const [path, name] of importsOf(text)) used.add(`${join(dirname(file), path)} ${name}`);
  }
  return [...files]
    .filter(([file]) => !OUTSIDE.has(file))
    .flatMap(([file, text]) =>
      exportsOf(text).map(name => {
        const isUsed = (used: ReadonlySet<string>): boolean =>
          used.has(`${file} ${name}`) || used.has(`${file} *`);
        return {
          file,
          name,
          isUsedInSource: isUsed(inSource),
          isUsedElsewhere: isUsed(elsewhere),
        };
      }),
    );
}

const TYPE_KINDS = new Set(['interface', 'type']);

function exportsOf(text: string): readonly string[] {
  const declared = [...text.matchAll(DECLARATION)]
    .filter(([, kind = '', name = '']) => !TYPE_KINDS.has(kind) || countOf(text, name) === 1)
    .map(([, , name = '']) => name);
  const listed = [...text.matchAll(LIST)].flatMap(match =>
    namesIn(match[1] ?? '').map(([, outer]) => outer),
  );
  return [...declared, ...listed];
}

/** The imports of a text, as pairs of a path as written and a name exported there; `*` for all names. */
function importsOf(text: string): readonly (readonly [path: string, name: string])[] {
  const found: [string, string][] = [];
  for (const [, clause = '', path = ''] of text.matchAll(IMPORT)) {
    const braces = /\{([^}]*)\}/.exec(clause);
    if (clause.includes('*')) found.push([path, '*']);
    for (const [inner] of namesIn(braces?.[1] ?? '')) found.push([path, inner]);
  }
  for (const [, list = '', path] of text.matchAll(LIST))
    if (path !== undefined) for (const [inner] of namesIn(list)) found.push([path, inner]);
  const taken = [...text.matchAll(TAKEN)];
  for (const [, list = '', path = ''] of taken)
    for (const [inner] of namesIn(list.replaceAll(':', ' as '))) found.push([path, inner]);
  const rest = text.replaceAll(TAKEN, '');
  for (const [, path = ''] of rest.matchAll(DYNAMIC)) found.push([path, '*']);
  return found;
}

/** The names in braces: for `a as b`, `inner` is `a` and `outer` is `b`; otherwise both are the same. */
function namesIn(list: string): readonly (readonly [inner: string, outer: string])[] {
  return list
    .split(',')
    .map(item => item.trim().replace(/^type /, ''))
    .filter(item => item !== '')
    .map(item => {
      const [inner = '', outer = inner] = item.split(/\s+as\s+/);
      return [inner, outer] as const;
    });
}

function countOf(text: string, word: string): number {
  return [...text.matchAll(new RegExp(`\\b${word}\\b`, 'g'))].length;
}

function projectFiles(): ReadonlyMap<string, string> {
  const names = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts'], {
    encoding: 'utf8',
  });
  const files = names.split('\n').filter(name => name !== '' && existsSync(name));
  return new Map(files.map(file => [file, readFileSync(file, 'utf8')]));
}

if (import.meta.main) {
  const uses = exportUses(projectFiles());
  const isForTests = process.argv.includes('--tests');
  const listed = uses.filter(({ file, isUsedInSource, isUsedElsewhere }) =>
    isForTests
      ? file.startsWith('src/') && !isUsedInSource && isUsedElsewhere
      : !isUsedInSource && !isUsedElsewhere,
  );
  for (const { file, name } of listed) console.log(`${file}: no other file imports ${name}`);
  if (!isForTests && listed.length > 0) process.exitCode = 1;
}

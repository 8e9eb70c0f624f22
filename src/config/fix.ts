// Rewrites the deprecated keys and values in the text of a configuration, for `check --fix`. It edits only the lines that
// have them: comments, order and layout of all others stay. An edit counts only if the new text says what the data with
// the replacement say; otherwise (an anchor that is used elsewhere, say) the key is left to the user.

import { isDeepStrictEqual } from 'node:util';
import { afterStep, DEPRECATED, type Deprecated, type Step, stepOf } from './deprecated.ts';
import { isPlainMap, type KeyPath, pathsAt, pathText, type YamlMap } from './paths.ts';
import { editYaml, lineOf, parseText } from './yaml-edit.ts';

export interface Fixed {
  readonly text: string;
  /** Such as `- line 4: logs.window.day_close_grace`; the only values are those that deprecated.ts declares. */
  readonly changes: readonly string[];
  /** The deprecated keys that stay. */
  readonly left: readonly string[];
}

/** `text` is that of a valid configuration. */
export function fixText(text: string, table: readonly Deprecated[] = DEPRECATED): Fixed {
  // Windows ends its lines with two characters, and may begin the file with a mark.
  const isTwo = text.includes('\r\n') && !/(?:^|[^\r])\n/.test(text);
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const own = text.slice(mark.length);
  const before = isTwo ? own.replaceAll('\r\n', '\n') : own;
  let fixed = before;
  const done: Step[] = [];
  const left: string[] = [];
  for (const entry of table)
    for (const from of pathsAt(dataOf(fixed), entry.path)) {
      const data = dataOf(fixed) ?? {};
      const step = stepOf(entry, from, data);
      if (step === null) continue;
      // A block does not go while one of its keys has to move.
      const isKept = left.some(key => key.startsWith(`${pathText(from)}.`));
      const edited = isKept ? null : editYaml(fixed, { ...step, value: step.change?.value });
      if (edited !== null && isDeepStrictEqual(dataOf(edited), afterStep(data, step))) {
        fixed = edited;
        done.push(step);
      } else left.push(pathText(from));
    }
  done.sort((a, b) => lineOf(before, a.from) - lineOf(before, b.from));
  const changes = done.flatMap(step => changeOf(step, before, fixed));
  return { text: mark + (isTwo ? fixed.replaceAll('\n', '\r\n') : fixed), changes, left };
}

function changeOf({ from, to, change }: Step, before: string, after: string): string[] {
  const show = (sign: string, text: string, path: KeyPath, value: string | undefined): string => {
    const shown = value === undefined ? '' : `: ${value}`;
    return `${sign} line ${String(lineOf(text, path))}: ${pathText(path)}${shown}`;
  };
  const old = show('-', before, from, change?.was);
  return to === null ? [old] : [old, show('+', after, to, change?.value)];
}

/** As plain data, without the values of references; undefined if it is not YAML. */
function dataOf(text: string): YamlMap | undefined {
  const document = parseText(text);
  if (document.errors.length > 0) return undefined;
  try {
    // The file was judged, so its aliases are not too many.
    const data: unknown = document.toJS({ maxAliasCount: -1 });
    return isPlainMap(data) ? data : undefined;
  } catch {
    // An alias has lost its anchor.
    return undefined;
  }
}

// Shell completion from the declarations: one script per shell, which knows verbs, actions, options, their values and
// files. The scripts do not call the program, so that completion is immediate.

import { bug } from '../errors.ts';
import { oneLine } from './help.ts';
import type { Action, Option, Verb } from './verb.ts';

export function completionScript(shell: 'bash' | 'zsh' | 'fish', verbs: readonly Verb[]): string {
  const levels = levelsOf(verbs);
  const known = levels.map(({ command }) => quoted(command)).slice(1);
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](levels, known);
}

/** What may follow a command: '' is the program itself, `logs` a verb with actions, `logs tail` an action. */
interface Level {
  readonly command: string;
  readonly next: [name: string, text: string][];
  readonly action: Action | null;
}

function levelsOf(verbs: readonly Verb[]): readonly Level[] {
  const levels = new Map<string, Level>([['', { command: '', next: [], action: null }]]);
  for (const { name, summary, actions } of verbs)
    for (const action of actions) {
      let before = '';
      for (const word of [name, ...action.name.split(' ')].filter(one => one !== '')) {
        const { next } = levels.get(before) ?? bug('the level before comes first');
        const text = before === '' ? summary : action.summary;
        if (!next.some(([known]) => known === word)) next.push([word, text]);
        before = `${before} ${word}`.trim();
        const level = levels.get(before) ?? { command: before, next: [], action: null };
        const isWhole = before === `${name} ${action.name}`.trim();
        levels.set(before, isWhole ? { ...level, action } : level);
      }
    }
  return [...levels.values()];
}

/** The spellings of an option: `-n`, if it has a short one, and `--name`. */
function spellings(name: string, { short }: Option<unknown>): readonly string[] {
  return [...(short === undefined ? [] : [`-${short}`]), `--${name}`];
}

function optionsOf({ action }: Level): readonly (readonly [string, Option<unknown>])[] {
  return action === null ? [] : Object.entries(action.options);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

// The script finds the level of the cursor: the longest known command before it.
function bashScript(levels: readonly Level[], known: readonly string[]): string {
  const values = levels.flatMap(level =>
    optionsOf(level).flatMap(([name, option]) => {
      if (option.value === '') return [];
      const cases = spellings(name, option).map(one => quoted(`${level.command} ${one}`));
      const fill =
        option.isFile === true ? 'files' : `words ${quoted(option.choices?.join(' ') ?? '')}`;
      return [`    ${cases.join('|')}) _prom2otlp_${fill}; return ;;`];
    }),
  );
  const words = levels.map(level => {
    const names = [
      ...level.next.map(([name]) => name),
      ...(level.action?.words?.choices ?? []),
      ...optionsOf(level).flatMap(([name, option]) => spellings(name, option)),
      '--help',
    ];
    const isFile = level.action?.words?.isFile === true;
    const files = isFile ? '[[ $cur == -* ]] || { _prom2otlp_files; return; }; ' : '';
    return `    ${quoted(level.command)}) ${files}_prom2otlp_words ${quoted(names.join(' '))} ;;`;
  });
  return `# Completion of prom2otlp for bash: source <(prom2otlp completion bash)
_prom2otlp_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_prom2otlp_files() {
  local IFS=$'\\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY=($(compgen -f -- "$cur"))
}
_prom2otlp() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}" command='' next i
  COMPREPLY=()
  # Bash makes three words of --name=value.
  [[ $before != '=' ]] || before="\${COMP_WORDS[COMP_CWORD - 2]}"
  [[ $cur != '=' ]] || cur=''
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${command:+$command }\${COMP_WORDS[i]}"
    case "$next" in
      ${known.join('|')}) command="$next" ;;
      *) break ;;
    esac
  done
  case "$command $before" in
${values.join('\n')}
  esac
  case "$command" in
${words.join('\n')}
  esac
}
complete -F _prom2otlp prom2otlp`;
}

function zshScript(levels: readonly Level[], known: readonly string[]): string {
  const cases = levels.map(level => {
    const { next, action } = level;
    if (next.length > 0) {
      const names = next.map(([name, text]) => quoted(`${name}:${oneLine(text)}`));
      return `    ${quoted(level.command)}) local -a next=(${names.join(' ')}); _describe action next ;;`;
    }
    const words = action?.words;
    const specs = [
      ...optionsOf(level).flatMap(([name, option]) =>
        spellings(name, option).map(spelling => zshOption(spelling, option)),
      ),
      ...(words === undefined ? [] : [quoted(`*:${words.value}:${zshValues(words)}`)]),
      quoted('--help[shows the help]'),
    ];
    return `    ${quoted(level.command)}) _arguments ${specs.join(' ')} ;;`;
  });
  return `#compdef prom2otlp
# Completion of prom2otlp for zsh: prom2otlp completion zsh > "\${fpath[1]}/_prom2otlp"
_prom2otlp() {
  local at='' next
  integer i count=0
  for ((i = 2; i < CURRENT; i++)); do
    next="\${at:+$at }\${words[i]}"
    case "$next" in
      ${known.join('|')}) at="$next"; ((count++)) ;;
      *) break ;;
    esac
  done
  # What follows sees the last word of the command as the program.
  shift $count words
  ((CURRENT -= count))
  case "$at" in
${cases.join('\n')}
  esac
}
if [[ "\${funcstack[1]}" == _prom2otlp ]]; then _prom2otlp "$@"; else compdef _prom2otlp prom2otlp; fi`;
}

function zshOption(spelling: string, option: Option<unknown>): string {
  const text = oneLine(option.about).replaceAll(/[[\]:\\]/g, mark => `\\${mark}`);
  const value = option.value === '' ? '' : `:${option.value}:${zshValues(option)}`;
  return quoted(`${option.isRepeated === true ? '*' : ''}${spelling}[${text}]${value}`);
}

function zshValues({ isFile, choices }: Pick<Option<unknown>, 'isFile' | 'choices'>): string {
  if (isFile === true) return '_files';
  return choices === undefined ? ' ' : `(${choices.join(' ')})`;
}

function fishScript(levels: readonly Level[], known: readonly string[]): string {
  const lines = levels.flatMap(level => {
    const at = `complete -c prom2otlp -n ${quoted(`__prom2otlp_at ${quoted(level.command)}`)}`;
    const { words } = level.action ?? {};
    return [
      ...level.next.map(([name, text]) => `${at} -f -a ${name} -d ${quoted(oneLine(text))}`),
      ...(words?.choices === undefined ? [] : [`${at} -f -a ${quoted(words.choices.join(' '))}`]),
      ...(level.action !== null && words?.isFile !== true ? [`${at} -f`] : []),
      ...optionsOf(level).map(([name, option]) => {
        const short = option.short === undefined ? '' : ` -s ${option.short}`;
        const values =
          option.choices === undefined ? '' : ` -a ${quoted(option.choices.join(' '))}`;
        const value = option.value === '' ? '' : option.isFile === true ? ' -rF' : ` -x${values}`;
        return `${at} -l ${name}${short}${value} -d ${quoted(oneLine(option.about))}`;
      }),
    ];
  });
  return `# Completion of prom2otlp for fish: prom2otlp completion fish > ~/.config/fish/completions/prom2otlp.fish
function __prom2otlp_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$at $word")
    contains -- $next ${known.join(' ')}; or break
    set at $next
  end
  test "$at" = "$argv[1]"
end
complete -c prom2otlp -l help -s h -d 'shows the help'
${lines.join('\n')}`;
}

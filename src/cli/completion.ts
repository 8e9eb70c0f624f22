// Shell completion: what may come next, from the declarations of the verbs and the services of the configuration. The
// script of a shell only asks the program, by a word that no user types, and shows the answer.

import { loadConfig } from '../config/load.ts';
import { COMMON_OPTIONS, COMPLETE } from './command.ts';
import { oneLine, shownOptions } from './help.ts';
import type { Offers, Option } from './options.ts';
import { type Action, configOf, type Verb, type VerbContext } from './verb.ts';

/** The answer that means the files of the shell. */
const FILES = ':files';

type Spelled = Pick<Option<unknown>, 'value' | 'about' | 'short' | 'offers' | 'isHidden'>;
type Candidates = readonly (readonly [word: string, about: string])[];
type Listed = Candidates | 'files' | 'services';

/** Lines for the script: a word, a tab, and what it means; or FILES. */
export function candidates(
  typed: readonly string[],
  verbs: readonly Verb[],
  environment: VerbContext['environment'],
): readonly string[] {
  // Bash makes three words of --name=value; other shells leave it as one.
  const words = typed.filter(word => word !== '=');
  const whole = typed.at(-1) === '=' ? '' : (words.pop() ?? '');
  const [, head = '', text = whole]: readonly (string | undefined)[] =
    /^(--[\w-]+)=(.*)$/s.exec(whole) ?? [];
  if (head !== '') words.push(head);
  const place = placeOf(words, verbs);
  const offered = offersAt(place, text);
  if (offered === 'files') return [FILES];
  const found = offered === 'services' ? servicesOf(place, environment) : offered;
  const prefix = head === '' ? '' : `${head}=`;
  return found
    .filter(([word]) => word.startsWith(text))
    .map(([word, about]) => `${prefix}${word}\t${oneLine(about)}`.trimEnd());
}

interface Place {
  readonly verbs: readonly Verb[];
  readonly verb: Verb | undefined;
  readonly action: Action | undefined;
  /** The words after the verb that are no options. */
  readonly names: readonly string[];
  readonly options: Readonly<Record<string, Spelled>>;
  /** The option whose value comes next. */
  readonly open: Spelled | undefined;
  readonly config: string | undefined;
}

function placeOf(words: readonly string[], verbs: readonly Verb[]): Place {
  let options: Place['options'] = COMMON_OPTIONS;
  const names: string[] = [];
  let [verb, action, open, config]: [Verb?, Action?, Spelled?, string?] = [];
  for (const word of words) {
    if (open !== undefined) {
      if (open.short === COMMON_OPTIONS.config.short) config = word;
      open = undefined;
    } else if (word.startsWith('-')) {
      const known = Object.entries(options);
      const [, option] = known.find(([name, one]) => spellings(name, one).includes(word)) ?? [];
      open = option?.value === '' ? undefined : option;
    } else {
      if (verb === undefined) verb = verbs.find(({ name }) => name === word);
      else names.push(word);
      action = verb?.actions.find(({ name }) =>
        name.split(' ').every((part, i) => part === '' || names[i] === part),
      );
      options = action?.options ?? COMMON_OPTIONS;
    }
  }
  return { verbs, verb, action, names, options, open, config };
}

function offersAt(place: Place, text: string): Listed {
  const { verbs, verb, action, names, options, open } = place;
  if (open !== undefined) return listed(open.offers);
  const shown = shownOptions(options).flatMap(([name, option]) =>
    spellings(name, option).map(one => [one, option.about] as const),
  );
  const flags: Candidates = [...shown, ['--help', 'shows the help']];
  if (text.startsWith('-')) return flags;
  if (verb === undefined) return [...verbs.map(one => [one.name, one.summary] as const), ...flags];
  if (action !== undefined) {
    const words = listed(action.words?.offers);
    return typeof words === 'string' ? words : [...words, ...flags];
  }
  const next = new Map<string, string>();
  for (const { name, summary } of verb.actions) {
    const parts = name.split(' ');
    const word = parts[names.length];
    if (word !== undefined && names.every((one, i) => one === parts[i])) next.set(word, summary);
  }
  return [...next, ...flags];
}

function spellings(name: string, { short }: Spelled): readonly string[] {
  return [...(short === undefined ? [] : [`-${short}`]), `--${name}`];
}

function listed(offers: Offers = []): Listed {
  return typeof offers === 'string' ? offers : offers.map(word => [word, ''] as const);
}

/** The services of the configuration that the words name, or that the verb would read; none if it cannot be read. */
function servicesOf({ config }: Place, environment: VerbContext['environment']): Candidates {
  try {
    const file = configOf({ command: COMPLETE, values: { config } }, environment);
    const { services, elsewhere } = loadConfig({ file, environment });
    return [...services, ...elsewhere].map(({ id, name }) => [id, name === id ? '' : name]);
  } catch {
    return [];
  }
}

// The scripts.

export const SCRIPTS: Readonly<Record<'bash' | 'zsh' | 'fish', string>> = {
  bash: `# Completion of prom2otlp for bash: source <(prom2otlp completion bash)
_prom2otlp() {
  local word about cur="\${COMP_WORDS[COMP_CWORD]}"
  [[ $cur != '=' ]] || cur=''
  COMPREPLY=()
  while IFS=$'\t' read -r word about; do
    if [[ $word == ${FILES} ]]; then
      compopt -o filenames 2> /dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    else
      COMPREPLY+=("$word")
    fi
  done < <("$1" ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -F _prom2otlp prom2otlp`,

  zsh: `#compdef prom2otlp
# Completion of prom2otlp for zsh: prom2otlp completion zsh > "\${fpath[1]}/_prom2otlp"
_prom2otlp() {
  local line
  local -a found
  for line in "\${(@f)$("\${words[1]}" ${COMPLETE} "\${(@Q)words[2,CURRENT]}" 2> /dev/null)}"; do
    case "$line" in
      ${FILES}) compset -P '*='; _files; return ;;
      ?*) line="\${line//:/\\:}"; found+=("\${line/$'\t'/:}") ;;
    esac
  done
  _describe 'prom2otlp' found
}
if [[ "\${funcstack[1]}" == _prom2otlp ]]; then _prom2otlp "$@"; else compdef _prom2otlp prom2otlp; fi`,

  fish: `# Completion of prom2otlp for fish: prom2otlp completion fish > ~/.config/fish/completions/prom2otlp.fish
function __prom2otlp_next
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in ($words[1] ${COMPLETE} $words[2..-1] "$current" 2> /dev/null)
    if test "$line" = '${FILES}'
      __fish_complete_path "$current"
    else
      echo $line
    end
  end
end
complete -c prom2otlp -f -a '(__prom2otlp_next)'`,
};

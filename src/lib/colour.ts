// Whether a stream gets colours: only a terminal does, unless the environment decides.

import { styleText } from 'node:util';

/** FORCE_COLOR decides, else NO_COLOR, else the ability of the terminal. See no-color.org and force-color.org. */
export function wantsColour(
  isTerminal: boolean,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  const { FORCE_COLOR: force = '', NO_COLOR: no = '', TERM: term } = environment;
  if (force !== '') return force !== '0' && force !== 'false';
  return no === '' && isTerminal && term !== 'dumb';
}

/** The styles of the program's own words, which printableOutput() lets through. */
export type Style = 'bold' | 'red' | 'yellow' | 'green';

export function painted(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false });
}

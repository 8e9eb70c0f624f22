// The colours of the status page, in light and dark. The test computes their contrast: 4.5 for text, 3 for bars and
// borders with a meaning (WCAG 2.1, 1.4.3 and 1.4.11).

/** Each colour as #rrggbb. */
export interface Palette {
  /** What the page, and what cards and tables lie on. */
  readonly paper: string;
  readonly card: string;
  /** Text. */
  readonly ink: string;
  readonly faint: string;
  /** Between rows; has no meaning. */
  readonly line: string;
  /** Around fields. */
  readonly edge: string;
  readonly bar: string;
  readonly good: string;
  readonly warn: string;
  readonly bad: string;
  readonly busy: string;
  /** What pills of these tones lie on. */
  readonly goodPaper: string;
  readonly warnPaper: string;
  readonly badPaper: string;
  readonly busyPaper: string;
}

export const PALETTES: Readonly<Record<'light' | 'dark', Palette>> = {
  light: {
    paper: '#f6f7f9',
    card: '#ffffff',
    ink: '#1b2330',
    faint: '#545f6f',
    line: '#dde2e9',
    edge: '#848f9f',
    bar: '#5c80c8',
    good: '#17703f',
    warn: '#8a5a00',
    bad: '#b3261e',
    busy: '#2458b8',
    goodPaper: '#e3f5eb',
    warnPaper: '#fdf0d2',
    badPaper: '#fde7e5',
    busyPaper: '#e4ecfb',
  },
  dark: {
    paper: '#12161c',
    card: '#1a2029',
    ink: '#e3e8ef',
    faint: '#97a3b4',
    line: '#2c3541',
    edge: '#6d7989',
    bar: '#6288cc',
    good: '#5fd39a',
    warn: '#f0c05a',
    bad: '#ff8f86',
    busy: '#8db4ff',
    goodPaper: '#14301f',
    warnPaper: '#352810',
    badPaper: '#3d1b19',
    busyPaper: '#1a2a47',
  },
};

/** The colours as CSS variables: `goodPaper` is `--good-paper`. */
export function cssVariables(palette: Palette): string {
  return Object.entries(palette)
    .map(([name, colour]) => `--${name.replace(/[A-Z]/g, '-$&').toLowerCase()}: ${colour};`)
    .join(' ');
}

// What a back end's words say about the size of a request: whether they refuse it for that, and which number they name.
// Caps on points are as common as caps on bytes, and have no status of their own: their answer is a 400 or 413 with
// words, or a partial success.

/** A limit that a refusal names; null where it names none. */
export interface NamedCap {
  readonly points: number | null;
  /** Uncompressed, as far as the words tell. */
  readonly bytes: number | null;
}

const NOTHING: NamedCap = { points: null, bytes: null };

const THINGS =
  '(?:data ?points?|points|samples|metrics|time ?series|log (?:records|entries|events)|records|entries|events|items)';
const REQUEST = '(?:request|payload|body|message|batch|entity|envelope|call|export)';

/** Only words about a whole request: `too many series` or `value too long` are about content. */
const SIZE_WORDS: readonly RegExp[] = [
  new RegExp(`\\b${REQUEST}\\b.{0,40}\\b(?:too (?:large|big)|larger than|size limit)`, 'i'),
  new RegExp(`\\btoo (?:large|big)\\b.{0,20}\\b${REQUEST}\\b`, 'i'),
  new RegExp(`\\b${REQUEST} size\\b.{0,60}\\b(?:exceed|limit|max)`, 'i'),
  new RegExp(`\\b(?:exceed\\w*|max\\w*|limit)\\b.{0,40}\\b${REQUEST} size`, 'i'),
  new RegExp(
    `\\b(?:max\\w*|limit|exceed\\w*|too many|more than)\\b.{0,60}\\b${THINGS}\\b.{0,40}\\b(?:per|in (?:a|one|the|this|single)|a) (?:single )?${REQUEST}`,
    'i',
  ),
  new RegExp(
    `\\b${REQUEST}\\b.{0,40}\\b(?:contains|has|with|carries)\\b.{0,20}\\b(?:too many|more than)\\b.{0,30}\\b${THINGS}`,
    'i',
  ),
];

const POINTS: readonly RegExp[] = [
  new RegExp(`(\\d[\\d,_]*)\\s+${THINGS}\\b`, 'gi'),
  new RegExp(
    `\\b${THINGS}\\b[^.;\\d]{0,60}?(\\d[\\d,_]*)(?![\\d.]*\\s*(?:bytes|[kmg]i?b)\\b)`,
    'gi',
  ),
  new RegExp(
    `\\b(?:max(?:imum)?|limit|up to|at most)\\b[^.;\\d]{0,20}(\\d[\\d,_]*)\\s+per ${REQUEST}`,
    'gi',
  ),
];
const BYTES = /(\d[\d,_]*(?:\.\d+)?)\s*(bytes|[kmg]i?b)\b/gi;

const UNITS: Readonly<Record<string, number>> = {
  bytes: 1,
  kb: 1000,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

export function isAboutSize(message: string): boolean {
  return SIZE_WORDS.some(words => words.test(message));
}

/** The smallest numbers of points and of bytes that a message names: it may name what was sent, too. */
export function namedCap(message: string): NamedCap {
  const points = POINTS.flatMap(words =>
    [...message.matchAll(words)].map(([, n = '']) => numberOf(n)),
  );
  const bytes = [...message.matchAll(BYTES)].map(([, n = '', unit = '']) =>
    Math.floor(numberOf(n) * (UNITS[unit.toLowerCase()] ?? 1)),
  );
  return { ...NOTHING, points: smallest(points), bytes: smallest(bytes) };
}

function numberOf(text: string): number {
  return Number(text.replaceAll(/[,_]/g, ''));
}

function smallest(numbers: readonly number[]): number | null {
  const real = numbers.filter(number => number >= 1 && Number.isFinite(number));
  return real.length === 0 ? null : Math.min(...real);
}

// Strict mode against the public suites, case by case. DISAGREEMENTS lists the cases that we judge
// differently, with the reason; a listed case that we no longer judge differently fails.

import { describe, expect, test } from 'vitest';
import { PROBLEMS_MAX } from '../../../src/model/page.ts';
import { strictProblems } from '../../../src/pipeline/decode/strict/strict.ts';
import { expositionSuites, pageBytes } from '../../support/exposition-cases.ts';

const NEWLINE =
  'the documentation: the last line must end with a line feed; common-expfmt rejects it too';
const ESCAPE =
  'the documentation: a backslash is written \\\\; common-expfmt rejects other escapes in labels, its parser also in HELP';
const COMMA = 'the documentation: a comma follows a label; the reference parser wants a label name';
const NEGATIVE =
  'the specification: sums and quantile values are not negative; client-python rejects them';
const TIMES =
  'the specification: points of one metric have increasing timestamps; client-python rejects a mix';
const INTERLEAVED = 'the specification: families are not interleaved; client-python rejects it';

const PROTOBUF =
  'the specification has the type: the suite means that its own target cannot hold it';

const DISAGREEMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'text/client-python': {
    'a comma without labels': COMMA,
    'a comma without labels, blanks before': COMMA,
    'a comma without labels, blanks behind': COMMA,
    'label value \\foo': ESCAPE,
    'help text \\foo': ESCAPE,
    'help text foo\\': ESCAPE,
    'escapes \\l, \\t and \\z': ESCAPE,
  },
  'text/prometheus-textparse': {
    'every kind of line, no newline at the end': NEWLINE,
    'quoted names, no newline at the end': NEWLINE,
    'NUL at the end of a label value, no newline': NEWLINE,
    'every kind of line, a comma missing between labels':
      'the documentation: labels are separated by commas; that test calls it a likely mistake itself',
    'families that come back, TYPE again each time':
      'the documentation: one TYPE line for a name; common-expfmt rejects a second',
  },
  'openmetrics/common-expfmt': {
    'every kind of line': `${INTERLEAVED}; counts without sums, names that begin with an underscore`,
    'quoted names': 'the specification: metrics are not interleaved; client-python rejects it',
    info: PROTOBUF,
    stateset: PROTOBUF,
    'quoted name, one series with and without timestamp': TIMES,
    'summary with a negative quantile and sum': NEGATIVE,
  },
  'openmetrics/openmetrics-validator': {
    'metadata of three names in a row':
      'the specification: families may be without samples; client-python accepts it, and the suite has dropped it since',
  },
  'openmetrics/prometheus-textparse': {
    'every kind of line': `${INTERLEAVED}; exemplars on counts, an info without _info, and more of that kind`,
    'quoted names': INTERLEAVED,
    'a counter without metadata': INTERLEAVED,
    'a histogram with negative thresholds, sum and exemplars': NEGATIVE,
    'a summary with a negative quantile and sum': NEGATIVE,
  },
};

for (const { name: suite, format, cases } of expositionSuites()) {
  describe(suite, () => {
    const disagreements = DISAGREEMENTS[suite] ?? {};
    for (const one of cases) {
      const reason = disagreements[one.name];
      const isAccepted = (one.expect === 'accept') === (reason === undefined);
      test(`${isAccepted ? 'accepts' : 'rejects'} ${one.name}`, () => {
        const problems = strictProblems(pageBytes(one), format);
        if (isAccepted) expect(problems).toStrictEqual([]);
        else expect(problems).not.toStrictEqual([]);
        if (one.line !== undefined) expect(problems[0]?.line).toBe(one.line);
      });
    }
    test('every disagreement names a case of the suite', () => {
      const names = cases.map(one => one.name);
      expect(names).toStrictEqual(expect.arrayContaining(Object.keys(disagreements)));
      expect(new Set(names).size).toBe(names.length);
    });
  });
}

test('a problem names its line and column, counted in bytes', () => {
  const check = (page: string, line: number, column: number): void => {
    expect(strictProblems(Buffer.from(page), 'text')).toMatchObject([{ line, column }]);
  };
  check('a x\n', 1, 3);
  check('a 1\nb{c="d",c="e"} 1\n', 2, 9);
  check('a{é="1"} 1\n', 1, 3);
  check('a{b="é",c=1} 1\n', 1, 12);
  check('# TYPE a counter\n  # TYPE a gauge\n', 2, 5);
});

test('problems come in the order of the page', () => {
  const page = '# TYPE h histogram\nh_bucket{le="1"} 1\nx  1\n# UNIT h s\n';
  const lines = strictProblems(Buffer.from(page), 'openmetrics').map(problem => problem.line);
  expect(lines).toStrictEqual(lines.toSorted((a, b) => a - b));
  expect(lines).toContain(2);
});

test('a page of a different format gives no more problems than the limit', () => {
  const page = Buffer.from('<p>this is no page of metrics</p>\n'.repeat(10 * PROBLEMS_MAX));
  expect(strictProblems(page, 'text')).toHaveLength(PROBLEMS_MAX);
  expect(strictProblems(page, 'openmetrics')).toHaveLength(PROBLEMS_MAX);
});

test('label values are compared after their escapes are read', () => {
  const problems = (first: string, second: string): readonly string[] => {
    const page = `# TYPE a gauge\na{b="${first}"} 1\na{b="${second}"} 2\n# EOF\n`;
    return strictProblems(Buffer.from(page), 'openmetrics').map(({ reason }) => reason);
  };
  expect(problems('\\n', 'n')).toEqual([]);
  expect(problems('\\\\n', '\\n')).toEqual([]);
  expect(problems('\\"', '\\"')).toEqual(['the same series occurs twice, without timestamps']);
});

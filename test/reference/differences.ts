// Pages that the plain stack and this project translate differently, with the reason, and pages that both translate
// alike. Every row is checked against the real plain stack, so that the README stays true about it. A row is
// `name{attributes} type value`, or has a distribution in place of the value.

export interface Comparison {
  /** A sentence that the README could quote. */
  readonly because: string;
  readonly page: readonly string[];
  /** The page has no newline at its end. */
  readonly isCut?: true;
  /** The points of the plain stack, or its message when it rejects the page. */
  readonly plain: readonly string[] | string;
  readonly ours: readonly string[];
}

export interface Agreement {
  readonly what: string;
  readonly page: readonly string[];
  readonly both: readonly string[];
}

export const AGREEMENTS: readonly Agreement[] = [
  {
    what: 'numbers of every type',
    page: ['# TYPE c counter', 'c{x="1"} 2', '# TYPE g gauge', 'g -3.5e-3', 'u +Inf', 'n NaN'],
    both: ['c{x=1} sum 2', 'g{} gauge -0.0035', 'u{} gauge Infinity', 'n{} gauge NaN'],
  },
  {
    what: 'a histogram without labels',
    page: [
      '# TYPE h histogram',
      'h_bucket{le="0.5"} 1',
      'h_bucket{le="1"} 3',
      'h_bucket{le="+Inf"} 4',
      'h_sum 2.5',
      'h_count 4',
    ],
    both: ['h{} histogram count=4 sum=2.5 le0.5:1 le1:2 inf:1'],
  },
  {
    what: 'timestamps, escapes and comments',
    page: ['# a comment', 'a{x="q\\"b\\\\n\\n"} 1 1760000000123'],
    both: ['a{x=q"b\\n\n} gauge 1 @1760000000123000000'],
  },
];

export const DIFFERENCES: readonly Comparison[] = [
  {
    because: 'the parser collapses the label sets of a histogram into one, and loses count and sum',
    page: [
      '# TYPE h histogram',
      'h_bucket{a="1",le="1"} 1',
      'h_bucket{a="1",le="+Inf"} 2',
      'h_sum{a="1"} 5',
      'h_count{a="1"} 2',
      'h_bucket{a="2",le="1"} 10',
      'h_bucket{a="2",le="+Inf"} 20',
      'h_sum{a="2"} 50',
      'h_count{a="2"} 20',
    ],
    plain: ['h{} histogram count=0 sum=0 le1:10 inf:10'],
    ours: [
      'h{a=1} histogram count=2 sum=5 le1:1 inf:1',
      'h{a=2} histogram count=20 sum=50 le1:10 inf:10',
    ],
  },
  {
    because: 'the SDK has no summaries, so that one becomes three metrics',
    page: ['# TYPE s summary', 's{quantile="0.5"} 1', 's_sum 5', 's_count 2'],
    plain: ['s{quantile=0.5} gauge 1', 's_sum{} sum 5', 's_count{} sum 2'],
    ours: ['s{} summary count=2 sum=5 q0.5:1'],
  },
  {
    because: 'the parser collapses the label sets of a summary into one, and loses count and sum',
    page: [
      '# TYPE s summary',
      's{a="1",quantile="0.5"} 1',
      's_sum{a="1"} 5',
      's_count{a="1"} 2',
      's{a="2",quantile="0.5"} 10',
      's_sum{a="2"} 50',
      's_count{a="2"} 20',
    ],
    plain: ['s{quantile=0.5} gauge 10'],
    ours: ['s{a=1} summary count=2 sum=5 q0.5:1', 's{a=2} summary count=20 sum=50 q0.5:10'],
  },
  {
    because: 'the parser loses the last line of a page that has no newline at its end',
    page: ['a{x="1"} 1', 'a{x="2"} 2'],
    isCut: true,
    plain: ['a{x=1} gauge 1'],
    ours: ['a{x=1} gauge 1', 'a{x=2} gauge 2'],
  },
  {
    because: 'with the last line goes the last family, when it has only that line',
    page: ['a 1', 'b 2'],
    isCut: true,
    plain: ['a{} gauge 1'],
    ours: ['a{} gauge 1', 'b{} gauge 2'],
  },
  {
    because: 'the parser gives up the whole page at one line with broken labels',
    page: ['a 1', 'b{x=1} 2', 'c 3'],
    plain: 'Encountered invalid line: b{x=1} 2',
    ours: ['a{} gauge 1', 'c{} gauge 3'],
  },
  {
    because: 'the parser gives up the whole page at an empty HELP line',
    page: ['# HELP a ', '# TYPE a gauge', 'a 1'],
    plain: 'Encountered invalid line: # HELP a',
    ours: ['a{} gauge 1'],
  },
  {
    because: 'the parser gives up the whole page at a quoted name',
    page: ['a 1', '{"b.c", x="1"} 2'],
    plain: 'Encountered invalid line: {"b.c", x="1"} 2',
    ours: ['a{} gauge 1', 'b.c{x=1} gauge 2'],
  },
  {
    because: 'a line without a value is read as a zero',
    page: ['a', 'b 1'],
    plain: ['a{} gauge 0', 'b{} gauge 1'],
    ours: ['b{} gauge 1'],
  },
  {
    because: 'what is no number in the format is taken for one, or for NaN',
    page: ['a 0x10', 'b 1_000', 'c 1'],
    plain: ['a{} gauge 16', 'b{} gauge NaN', 'c{} gauge 1'],
    ours: ['c{} gauge 1'],
  },
  {
    because: 'a TYPE line without its space is read as a sample, and the type is lost',
    page: ['#TYPE a counter', 'a 1'],
    plain: ['#TYPE{} gauge NaN @0', 'a{} gauge 1'],
    ours: ['a{} sum 1'],
  },
  {
    because: 'a family whose lines are not together loses its type',
    page: ['# TYPE a counter', 'a{x="1"} 1', 'b 2', 'a{x="2"} 3'],
    plain: ['a{x=1} sum 1', 'b{} gauge 2', 'a{x=2} gauge 3'],
    ours: ['a{x=1} sum 1', 'a{x=2} sum 3', 'b{} gauge 2'],
  },
  {
    because: 'a counter that is named like the count of a histogram is taken for it',
    page: ['# TYPE a histogram', '# TYPE a_count counter', 'a_count 4'],
    plain: ['a{} histogram count=4 sum=0'],
    ours: ['a_count{} sum 4'],
  },
  {
    because: 'an empty label value stays, where the format says that it means no label',
    page: ['a{x="",y="1"} 1'],
    plain: ['a{x=,y=1} gauge 1'],
    ours: ['a{y=1} gauge 1'],
  },
];

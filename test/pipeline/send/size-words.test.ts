import { expect, test } from 'vitest';
import { isAboutSize, namedCap } from '../../../src/pipeline/send/size-words.ts';

test.each([
  ['Maximum number of datapoints per request exceeded: 1000', 1000, null],
  [
    'the request contains more than 200 time series; the maximum is 200 points per request',
    200,
    null,
  ],
  ['limit of 15,000 data points per request exceeded, received 20,000 data points', 15_000, null],
  ['too many log records in one request: 5000 records, limit 1000 records', 1000, null],
  ['request body too large', null, null],
  ['payload is larger than 5 MB', null, 5_000_000],
  [
    'The size of the request body exceeds the maximum request size of 1048576 bytes',
    null,
    1_048_576,
  ],
])('about size: %s', (message, points, bytes) => {
  expect(isAboutSize(message)).toBe(true);
  expect(namedCap(message)).toEqual({ points, bytes });
});

test.each([
  'per-user series limit of 150000 exceeded',
  'label value too long for metric x, limit 2048',
  'out of order sample',
  'too many labels for one series: 40, limit 30',
  'rate limit of 10000 samples per second exceeded',
  'invalid temporality',
  '',
])('about content or rate: %s', message => {
  expect(isAboutSize(message)).toBe(false);
});

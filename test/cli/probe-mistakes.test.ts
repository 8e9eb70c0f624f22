// The likely mistake behind an answer to `check --probe`.

import { expect, test } from 'vitest';
import { likelyMistakes } from '../../src/cli/probe-causes.ts';

test.each([
  ['http://localhost:4317/v1/metrics', 'http/protobuf', 'cut off', /4317 is usually for gRPC/],
  ['http://localhost:4318', 'grpc', 'cut off', /4318 is usually for HTTP/],
  [
    'http://localhost:4318/v1/metrics/v1/metrics',
    'http/protobuf',
    'the back end answered 404',
    /ends twice/,
  ],
  ['http://otlp.example.com/v1/metrics', 'http/protobuf', 'cut off', /want https/],
  [
    'https://otlp.example.com/v1/metrics',
    'http/protobuf',
    'the back end answered 403',
    /of another region/,
  ],
] as const)('%s over %s: %s', (endpoint, protocol, reason, words) => {
  expect(likelyMistakes({ endpoint, protocol }, reason, null)).toEqual([
    expect.stringMatching(words),
  ]);
});

test('a refused token is named as the back end has it', () => {
  const settings = {
    endpoint: 'https://otlp.nr-data.net/v1/metrics',
    protocol: 'http/protobuf',
  } as const;
  const [words] = likelyMistakes(settings, 'the back end answered 401', 'new-relic');
  expect(words).toContain('the header api-key may be missing');
});

test.each([
  'the back end answered 503',
  'cannot get a token from https://login.example.com: it answered 401',
])('the address is not to blame: %s', reason => {
  const settings = {
    endpoint: 'http://localhost:4318/v1/metrics',
    protocol: 'http/protobuf',
  } as const;
  expect(likelyMistakes(settings, reason, null)).toEqual([]);
});

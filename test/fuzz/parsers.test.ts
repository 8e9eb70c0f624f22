// For any bytes from outside, every parser ends, throws only its documented errors, and returns no more than its limits
// allow. FUZZ_INPUTS is the number of inputs for each parser; FUZZ_SEED repeats a run. Configurations are in
// test/config/any-text.test.ts.

import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { SpoolFile } from '../../src/lib/spool-file.ts';
import { archiveEntries, ArchiveError } from '../../src/logs/archive.ts';
import type { ExpositionFormat } from '../../src/model/page.ts';
import { MESSAGE_LENGTH_MAX } from '../../src/pipeline/send/answer.ts';
import { classifyAnswer } from '../../src/pipeline/send/classify.ts';
import { classifyGrpcAnswer } from '../../src/pipeline/send/otlp-grpc.ts';
import { readErrorBody } from '../../src/service/service-error.ts';
import { decodePage } from '../support/decode-page.ts';
import { readLog } from '../support/log-reading.ts';
import { zip } from '../../src/simulator/logs-endpoint.ts';
import { Mutator } from './mutate.ts';
import { INPUTS } from './parameters.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);

const fixture = (path: string): string =>
  readFileSync(new URL(`../fixtures/${path}`, import.meta.url), 'utf8');
const fixtures = (folder: string): readonly string[] =>
  readdirSync(new URL(`../fixtures/${folder}/`, import.meta.url), { withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => fixture(`${folder}/${entry.name}`));

/** Calls `take` with INPUTS inputs. Its error is thrown again with the input that caused it. */
async function feed(
  mutator: Mutator,
  take: (bytes: Buffer, index: number) => void | Promise<void>,
): Promise<void> {
  for (let index = 0; index < INPUTS; index++) {
    const bytes = mutator.next();
    try {
      await take(bytes, index);
    } catch (error) {
      const words = `FUZZ_SEED=${String(SEED)}, input ${String(index)}: ${bytes.toString('base64')}`;
      throw new Error(words, { cause: error });
    }
  }
}

const PAGE = [
  '# HELP engine_global_status_questions Questions\n# TYPE engine_global_status_questions counter',
  '\nengine_global_status_questions{namespace="dbpgf1",server_name="s"} 1234 1770000000000',
  '\n# TYPE h histogram\nh_bucket{le="0.1"} 1\nh_bucket{le="+Inf"} 2\nh_sum 3\nh_count 2\n',
].join('');
const OPENMETRICS =
  '# TYPE a counter\n# UNIT a_seconds seconds\na_total{b="c"} 1 2 # {t="x"} 3 4\na_created 5\n# EOF\n';
const PAGE_TOKENS = [
  '# TYPE ',
  '# HELP ',
  '# EOF\n',
  '{',
  '}',
  'le="',
  'NaN',
  '+Inf',
  '1e999',
  ' ',
];

describe('any input', () => {
  for (const format of ['text', 'openmetrics'] as const satisfies readonly ExpositionFormat[])
    test(`pages: ${format}`, { timeout: 900_000 }, () =>
      feed(new Mutator([PAGE, OPENMETRICS], PAGE_TOKENS, SEED), bytes => {
        const { report } = decodePage(bytes, { format, limits: { samples: 50, labels: 4 } });
        expect(report.samples).toBeLessThanOrEqual(51);
      }),
    );

  test('lines of every log', { timeout: 900_000 }, () => {
    const logs = fixtures('captures').filter(text => !text.startsWith('# '));
    const lines = logs.map(text => text.slice(0, 4000));
    const tokens = [
      '# Time: ',
      '# User@Host: ',
      'SET timestamp=',
      "'",
      '/*',
      '*/',
      '--',
      '[Note] ',
    ];
    const types = ['error-log', 'slow-query-log', 'audit-log', 'proxy-log', 'other'];
    return feed(new Mutator(lines, tokens, SEED), (bytes, index) => {
      const type = types[index % types.length] ?? '';
      const text = bytes.toString('utf8');
      const records = readLog(type, text, { recordBytesMax: 4096 });
      for (const { raw } of records) expect(Buffer.byteLength(raw)).toBeLessThanOrEqual(3 * 4096);
      if (text.trim() !== '') expect(records.length).toBeGreaterThan(0);
    });
  });

  test('archives', { timeout: 900_000 }, () => {
    const bytes = Buffer.from('one line\nand another\n'.repeat(20));
    const archive = zip([
      { name: 'a.log', bytes },
      { name: 'dir/b.log', bytes: Buffer.alloc(3000, 0x61), isStored: true },
    ]);
    const limits = { unpackedBytes: 100_000, ratio: 50, entries: 4 };
    return feed(
      new Mutator([archive, gzipSync(bytes), bytes], ['PK\u0003\u0004'], SEED),
      async input => {
        const spool = await SpoolFile.create(tmpdir());
        try {
          spool.write(input);
          await spool.end();
          let unpacked = 0;
          for await (const { pieces } of archiveEntries(spool, limits))
            for await (const piece of pieces()) unpacked += piece.length;
          expect(unpacked).toBeLessThanOrEqual(limits.unpackedBytes + 65_536);
        } catch (error) {
          if (!(error instanceof ArchiveError)) throw error;
        } finally {
          await spool.close();
        }
      },
    );
  });

  test('answers of the back end and of the service', { timeout: 900_000 }, () => {
    const answers = [
      '{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"no"}}',
      '{"code":3,"message":"too old","details":[]}',
      '{"errors":[{"error":"x","message":"y"}],"trace_id":"abc"}',
      '{"detail":[{"loc":["a"],"msg":"b"}]}',
      Buffer.from('0a070803120362616400', 'hex'),
      Buffer.from('080d120362616420', 'hex'),
      '<html>no</html>',
    ];
    const types = ['application/json', 'application/x-protobuf', 'text/html', 'text/plain', ''];
    const redact = (text: string): string => text;
    return feed(new Mutator(answers, ['{', '[', ',', '1e999'], SEED), (body, index) => {
      for (const status of [200, 400, 429, 503]) {
        const contentType = types[index % types.length] ?? '';
        const retryAfter = body.toString('latin1', 0, 30);
        const answer = { status, contentType, retryAfter, body };
        const context = { signal: 'metrics', requestFormat: 'protobuf', nowMs: 0, redact } as const;
        const result = classifyAnswer(answer, context);
        const words = result.kind === 'accepted' ? result.message : result.reason;
        expect(words.length).toBeLessThan(MESSAGE_LENGTH_MAX + 200);
        expect(words).not.toMatch(/\p{Cc}/u);
      }
      const grpc = {
        code: index % 20,
        details: body.toString('latin1'),
        statusDetails: body,
        body,
      };
      classifyGrpcAnswer(grpc, { signal: 'logs', redact });
      expect((readErrorBody(body, redact).message ?? '').length).toBeLessThanOrEqual(300);
    });
  });
});

// `node bench/translate.ts SCENARIO [POLLS]`: measures the cost of translation alone (decode, derive, encode and state),
// in nanoseconds a sample, without sockets, queue and sending. Every target has its own table, as in the daemon. With
// Node's `--trace-deopt`, it shows code that V8 deoptimizes again and again: test/fuzz/given-up-code.test.ts refuses that.

import { Target } from '../test/support/target.ts';
import { WireWriter } from '../src/pipeline/encode/wire.ts';
import { translate } from '../src/pipeline.ts';
import { pageOf, serviceIds } from './corpus/corpora.ts';
import { PageSource } from './corpus/page-source.ts';
import { scenarioOf } from './scenarios.ts';

const POLLS = 100;
const REPORTED_POLLS = 20;

function main([name = 'churning', polls = String(POLLS)]: readonly string[]): void {
  const spec = scenarioOf(name);
  const targets = Array.from({ length: spec.addresses }, (_, address) => ({
    source: new PageSource(pageOf(spec, address)),
    translation: {
      ...new Target({ services: serviceIds(spec, address) }).translation,
      isKept: true,
    },
  }));
  const writer = new WireWriter();
  const startMs = Date.now();
  let workMs = 0;
  let samples = 0;
  for (let poll = 1; poll <= Number(polls); poll++) {
    const elapsedMs = poll * spec.intervalMs;
    const nowMs = startMs + elapsedMs;
    for (const { source, translation } of targets) {
      const bytes = source.render(nowMs);
      const times = {
        startedAtMs: nowMs,
        monotonicMs: elapsedMs,
        durationMs: 10,
        serverAtMs: nowMs,
      };
      const page = { bytes, format: 'text', wireBytes: bytes.length, ...times } as const;
      const begunMs = performance.now();
      const steps = translate(translation, { kind: 'page', page }, writer);
      while (steps.next().done !== true);
      workMs += performance.now() - begunMs;
      samples += source.sampleCount;
    }
    if (poll % REPORTED_POLLS !== 0) continue;
    console.log(`polls to ${poll}: ${((workMs * 1e6) / samples).toFixed(0)} ns/sample`);
    workMs = samples = 0;
  }
}

main(process.argv.slice(2));

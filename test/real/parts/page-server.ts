// Serves sequences of answers, each under its own path: the first request gets the first step, and so on; the last step
// is repeated. Keeps its answers, so that another reader can get exactly the same. Runs inside the test's own process.
// In a page, `<now-60>` is a timestamp 60 seconds before the answer.

import type { ServerResponse } from 'node:http';
import { listen } from '../../../src/simulator/loopback-server.ts';
import type { Running } from '../support/part.ts';

export interface Sequence {
  readonly name: string;
  readonly steps: readonly Step[];
}

export type Step =
  | { readonly kind: 'page'; readonly template: string }
  | { readonly kind: 'status'; readonly status: number };

/** The answer to a scrape: a complete body with status 200, or nothing that can be read. */
export type Answered =
  | { readonly kind: 'page'; readonly body: string }
  | { readonly kind: 'failure' };

export interface PageServerRunning extends Running {
  readonly port: number;
  /** The answers of a sequence so far, oldest first. */
  answers(name: string): readonly Answered[];
}

/** A sequence's page is at `/<name>`. */
export async function startPageServer(sequences: readonly Sequence[]): Promise<PageServerRunning> {
  const answered = new Map<string, Answered[]>(sequences.map(({ name }) => [name, []]));
  const { port, close } = await listen({}, (request, response) => {
    const name = (request.url ?? '').slice(1);
    const answers = answered.get(name);
    const steps = sequences.find(sequence => sequence.name === name)?.steps ?? [];
    const step = steps[answers?.length ?? 0] ?? steps.at(-1);
    if (answers === undefined || step === undefined) response.writeHead(404).end();
    else answers.push(answer(step, response));
  });
  return { port, answers: name => answered.get(name) ?? [], stop: close };
}

const TEXT = 'text/plain; version=0.0.4; charset=utf-8';

function answer(step: Step, response: ServerResponse): Answered {
  if (step.kind === 'status') {
    response.writeHead(step.status, { 'content-type': 'text/plain' }).end('no metrics\n');
    return { kind: 'failure' };
  }
  const nowMs = Date.now();
  const body = step.template.replaceAll(/<now([+-][\d.]+)>/g, (_, seconds: string) =>
    String(nowMs + Number(seconds) * 1000),
  );
  const length = Buffer.byteLength(body);
  response.writeHead(200, { 'content-type': TEXT, 'content-length': length }).end(body);
  return { kind: 'page', body };
}

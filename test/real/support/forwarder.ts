// Stands before one or more back ends and hands each request to the next of them in turn, as a balancer does. It
// notes how each request was compressed, and what came of it.

import { request as ask } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../../src/simulator/loopback-server.ts';

export interface Forwarded {
  readonly encoding: string;
  readonly status: number;
  /** Index of the back end. */
  readonly to: number;
}

export interface Forwarder {
  readonly url: string;
  readonly forwarded: readonly Forwarded[];
  stop(): Promise<void>;
}

/** Forwards to these URLs, whatever path it is asked for. */
export async function startForwarder(urls: readonly string[]): Promise<Forwarder> {
  const forwarded: Forwarded[] = [];
  let turn = 0;
  const { url, close } = await listen({}, (incoming, response) => {
    const to = turn++ % urls.length;
    void buffer(incoming).then(body => {
      const { host: _host, ...rest } = incoming.headers;
      const headers = { ...rest, connection: 'close' };
      const upstream = ask(urls[to] ?? '', { method: 'POST', headers }, answer => {
        const encoding = incoming.headers['content-encoding'] ?? 'none';
        forwarded.push({ encoding, status: answer.statusCode ?? 0, to });
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      upstream.on('error', () => response.destroy());
      upstream.end(body);
    });
  });
  return { url: `${url}/v1/metrics`, forwarded, stop: close };
}

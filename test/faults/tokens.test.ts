// The program sends through a real proxy to a back end that takes a token for a few seconds only, for TOKEN_SECONDS: no
// point is lost, and no output has a token. test/pipeline/send/tokens.test.ts plays an hour on a virtual clock.

import { expect, test } from 'vitest';
import { startHttpServer } from '../support/http-server.ts';
import { noTinyproxy, Tinyproxy } from '../support/tinyproxy.ts';
import { Stage } from './support/stage.ts';

const TOKEN_SECONDS = Number(process.env['TOKEN_SECONDS'] ?? 20);
/** A long run has longer tokens: the five minutes of the full size have ten of 30 s. */
const LIFETIME_S = TOKEN_SECONDS >= 120 ? 30 : 4;
const SECRETS = /canary-[\w.]+/;

if (noTinyproxy !== null) console.log(`faults: proxies are skipped: ${noTinyproxy}`);

test.skipIf(noTinyproxy !== null)(
  `with tokens of ${LIFETIME_S} s, through a proxy, nothing is lost in ${TOKEN_SECONDS} s`,
  async () => {
    await using proxy = await Tinyproxy.start(['me', 'canary-a55']);
    const ends = new Map<string, number>();
    await using login = await startHttpServer((_request, response) => {
      const token = `canary-${ends.size}.part`;
      ends.set(`Bearer ${token}`, performance.now() + LIFETIME_S * 1000);
      const body = { access_token: token, token_type: 'Bearer', expires_in: LIFETIME_S };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    });
    const client = { client_id: 'c', client_secret: 'canary-5ec', scopes: ['write'] };
    const auth = { oauth2: { token_url: `${login.origin}/token`, ...client } };
    const url = `http://me:canary-a55@127.0.0.1:${proxy.port}`;
    await using stage = await Stage.create({ name: 'tokens', otlp: { auth, proxy: url } });
    let refusedCount = 0;
    stage.sink.choose = (_, { authorization = '' }) => {
      if (performance.now() < (ends.get(authorization) ?? 0)) return { kind: 'accept' };
      refusedCount++;
      return { kind: 'refuse', status: 401 };
    };
    const life = await stage.started();
    await new Promise(resolve => setTimeout(resolve, TOKEN_SECONDS * 1000));
    // On a busy machine the run may have fewer: it goes on until tokens were renewed.
    await stage.until(
      'tokens are renewed',
      () => ends.size >= Math.min(3, TOKEN_SECONDS / LIFETIME_S),
    );
    const status = JSON.stringify(await life.status());
    await stage.end(life);
    const figures = stage.judge();
    console.log(`faults: tokens: ${ends.size} tokens, ${refusedCount} refused`);
    expect(figures.lost).toBe(0);
    expect(stage.bridge.account().setAside).toBe(0);
    const shown = `${life.stdout()}${life.stderr()}${status}`;
    expect(shown).not.toMatch(SECRETS);
    expect(proxy.requests.length).toBeGreaterThan(ends.size);
  },
  (TOKEN_SECONDS + 180) * 1000,
);

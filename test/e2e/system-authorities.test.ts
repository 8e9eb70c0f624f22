// The system's store of authorities is trusted beside Node's own list, by the service's client and by the sender.

import { expect, test } from 'vitest';
import { startHttpServer } from '../support/http-server.ts';
import { run, tempDirectory } from '../support/program.ts';

const CA = new URL('../support/tls/ca.pem', import.meta.url).pathname;

test('an authority in the system is trusted at both ends', async () => {
  await using server = await startHttpServer(
    ({ path }, response) => {
      const isPage = path.endsWith('/metrics') && !path.startsWith('/v1');
      response.setHeader('content-type', isPage ? 'text/plain' : 'application/json');
      response.end(isPage ? 'engine_up{namespace="a"} 1\n' : '{}');
    },
    { isTls: true },
  );
  using files = tempDirectory();
  const { origin } = server;
  const config = files.write(
    'prom2otlp.yaml',
    JSON.stringify({
      api: { base_url: origin, key: 'k' },
      services: [{ id: 'a' }],
      otlp: { endpoint: origin },
    }),
  );
  const probe = ['check', '--config', config, '--probe'];
  const trusted = await run(probe, { SSL_CERT_FILE: CA });
  expect(trusted.code, trusted.stdout + trusted.stderr).toBe(0);
  expect(new Set(server.requests.map(({ path }) => path))).toContain('/v1/metrics');
  const refused = await run(probe, { SSL_CERT_FILE: '/dev/null', SSL_CERT_DIR: '/dev/null' });
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(/certificate/i);
});

// The health check of the image: asks /readyz of the daemon beside it, without reading the configuration or loading the
// program. It asks 127.0.0.1:9464, or HOST:PORT from PROM2OTLP_HEALTH for another `status.listen`. Exits with 0 when the
// daemon is ready, and otherwise with 1 after printing the reason.

const { get } = process.getBuiltinModule('node:http');

const url = `http://${process.env.PROM2OTLP_HEALTH || '127.0.0.1:9464'}/readyz`;

const fail = reason => {
  console.error(`not ready: ${url}: ${reason}`);
  process.exit(1);
};

get(url, { agent: false, timeout: 3000 }, answer => {
  if (answer.statusCode === 200) process.exit(0);
  answer.setEncoding('utf8');
  answer.once('data', text => fail(`${answer.statusCode}: ${text.trim().replaceAll('\n', '; ')}`));
  answer.once('end', () => fail(answer.statusCode));
})
  .on('timeout', () => fail('no answer within 3 seconds'))
  .on('error', error => fail(error.message));

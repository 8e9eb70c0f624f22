// How a server in a test knows that processes which have ended have nothing more to say.

import { once } from 'node:events';
import { connect } from 'node:net';
import type { LoopbackServer } from '../../../src/simulator/loopback-server.ts';
import { until } from '../../support/program.ts';

/** Until everything was read that processes have sent which have ended. */
export async function caughtUp({ port, sockets }: LoopbackServer): Promise<void> {
  // Connections wait in line to be accepted: this one is the last.
  const probe = connect(port, '127.0.0.1');
  await once(probe, 'connect');
  const { localPort } = probe;
  await until('the last connection is accepted', () =>
    [...sockets].some(({ remotePort }) => remotePort === localPort),
  );
  probe.destroy();
  await until('all connections are closed', () => sockets.size === 0);
}

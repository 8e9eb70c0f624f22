// Lets a server in a test wait until it has read everything that ended processes have sent.

import { once } from 'node:events';
import { connect } from 'node:net';
import type { LoopbackServer } from '../../../src/simulator/loopback-server.ts';
import { until } from '../../support/program.ts';

/** Waits until all connections of ended processes have been read and closed. */
export async function caughtUp({ port, sockets }: LoopbackServer): Promise<void> {
  // Connections are accepted in their order, so this one is the last.
  const probe = connect(port, '127.0.0.1');
  await once(probe, 'connect');
  const { localPort } = probe;
  await until('the last connection is accepted', () =>
    [...sockets].some(({ remotePort }) => remotePort === localPort),
  );
  probe.destroy();
  await until('all connections are closed', () => sockets.size === 0);
}

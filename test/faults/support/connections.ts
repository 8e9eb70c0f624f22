// The open connections of a server in a test, and how it knows that processes which have ended have nothing more to say.

import { once } from 'node:events';
import { connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { until } from '../../support/program.ts';

export class Connections {
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.on('close', () => this.#open.delete(socket));
      socket.on('error', () => undefined);
    });
  }

  /** Until everything was read that processes have sent which have ended. */
  async caughtUp(): Promise<void> {
    // Connections wait in line to be accepted: this one is the last.
    const probe = connect((this.#server.address() as AddressInfo).port, '127.0.0.1');
    await once(probe, 'connect');
    const { localPort } = probe;
    await until('the last connection is accepted', () =>
      [...this.#open].some(({ remotePort }) => remotePort === localPort),
    );
    probe.destroy();
    await until('all connections are closed', () => this.#open.size === 0);
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

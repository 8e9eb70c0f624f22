// A client of the database's own protocol. A statement resolves only when the server has acknowledged it, so a caller
// that counts before and after has at most one doubtful statement at a kill. Can also log in with a wrong password.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const CAPABILITIES = 0x1 | 0x200 | 0x8000 | 0x80000;
const UTF8 = 33;
const PLUGIN = 'mysql_native_password';
const OK = 0x00;
const QUERY = 0x03;

/** A connection as root, without a password. `run` rejects once the server is gone. */
export class CountedConnection {
  readonly #socket: Socket;
  readonly #packets: AsyncIterator<Buffer>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#packets = packetsOf(socket);
  }

  static async open(port: number): Promise<CountedConnection> {
    const socket = await greeted(port);
    const connection = new CountedConnection(socket);
    await connection.#next();
    socket.write(login(Buffer.alloc(0)));
    await connection.#expectOk('log in');
    return connection;
  }

  /** Runs a statement without a result. Resolves when the server has acknowledged it. */
  async run(statement: string): Promise<void> {
    this.#socket.write(packet(0, Buffer.from([QUERY, ...Buffer.from(statement)])));
    await this.#expectOk(statement);
  }

  close(): void {
    this.#socket.destroy();
  }

  async #next(): Promise<Buffer> {
    const { value, done } = await this.#packets.next();
    if (done === true) throw new Error('the server is gone');
    return value;
  }

  async #expectOk(what: string): Promise<void> {
    const answer = await this.#next();
    if (answer[0] !== OK) throw new Error(`cannot ${what}: ${answer.subarray(9).toString()}`);
  }
}

/**
 * Logs in with a wrong password. Resolves to true when the server has refused the login and closed the connection: by
 * then it has counted the refusal. Resolves to false when the connection ended before that.
 */
export async function beRefused(port: number): Promise<boolean> {
  const socket = await greeted(port);
  try {
    const packets = packetsOf(socket);
    if ((await packets.next()).done === true) return false;
    socket.write(login(Buffer.alloc(20, 7)));
    const answer = await packets.next();
    if (answer.done === true) return false;
    if (answer.value[0] === OK) throw new Error('a wrong password was taken');
    return (await packets.next()).done === true;
  } finally {
    socket.destroy();
  }
}

async function greeted(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return socket;
}

function login(proof: Buffer): Buffer {
  const head = Buffer.alloc(32);
  head.writeUInt32LE(CAPABILITIES, 0);
  head.writeUInt32LE(0x1000000, 4);
  head[8] = UTF8;
  const end = Buffer.from(`${PLUGIN}\0`);
  return packet(1, Buffer.concat([head, Buffer.from('root\0'), proofText(proof), end]));
}

function proofText(proof: Buffer): Buffer {
  return Buffer.concat([Buffer.from([proof.length]), proof]);
}

function packet(sequence: number, body: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUIntLE(body.length, 0, 3);
  head[3] = sequence;
  return Buffer.concat([head, body]);
}

async function* packetsOf(socket: Socket): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readUIntLE(0, 3)) {
        const end = 4 + rest.readUIntLE(0, 3);
        yield rest.subarray(4, end);
        rest = rest.subarray(end);
      }
    }
  } catch {
    // A server that is killed resets its connections: the packets end here.
  }
}

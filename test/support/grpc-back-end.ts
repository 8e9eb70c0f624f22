// A loopback back end for OTLP over gRPC that answers as a test tells it and keeps the requests. It takes and gives
// bytes; the test decodes them.

import { once } from 'node:events';
import {
  connect,
  createServer,
  type AddressInfo,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import {
  Metadata,
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';

export interface GrpcRequest {
  /** The signal of the service that was called. */
  readonly signal: 'metrics' | 'logs';
  readonly metadata: Readonly<Record<string, string | Buffer>>;
  readonly bytes: Buffer;
  readonly deadlineMs: number;
}

export interface GrpcAnswer {
  /** 0 when absent. */
  readonly code?: number;
  readonly message?: string;
  readonly trailers?: Readonly<Record<string, string | Buffer>>;
  readonly body?: Buffer;
  /** Headers are sent before the status, as some servers do. */
  readonly hasHeaders?: boolean;
  readonly afterMs?: number;
}

/** Decides the answer to a request; null is no answer. */
export type GrpcAnswerer = (request: GrpcRequest, index: number) => GrpcAnswer | null;

type Call = ServerUnaryCall<Buffer, Buffer>;

export class GrpcBackEnd {
  readonly requests: GrpcRequest[] = [];
  /** A test may change this at any time. */
  answer: GrpcAnswerer = () => ({});
  readonly port: number;
  readonly #server: Server;
  readonly #front: TcpServer;
  readonly #sockets = new Set<Socket>();
  connectionCount = 0;
  /** The bytes received on the wire, over all connections. */
  receivedBytes = 0;

  private constructor(server: Server, front: TcpServer) {
    this.#server = server;
    this.#front = front;
    this.port = (front.address() as AddressInfo).port;
  }

  /** Listens on a free port unless a port is given. */
  static async start(
    credentials: ServerCredentials = ServerCredentials.createInsecure(),
    frontPort = 0,
  ): Promise<GrpcBackEnd> {
    const server = new Server({ 'grpc.max_receive_message_length': 64 * 1024 * 1024 });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', credentials, (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    // A TCP relay in front of the server counts the connections, and can cut them.
    const front = createServer();
    front.listen(frontPort, '127.0.0.1');
    await once(front, 'listening');
    const backEnd = new GrpcBackEnd(server, front);
    front.on('connection', socket => backEnd.#relay(socket, port));
    backEnd.#serve('metrics');
    backEnd.#serve('logs');
    return backEnd;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  /** Cuts every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    this.cut();
    this.#front.close();
    this.#server.forceShutdown();
    if (this.#front.listening) await once(this.#front, 'close');
  }

  #relay(socket: Socket, port: number): void {
    this.connectionCount++;
    const inner = connect(port, '127.0.0.1');
    socket.on('data', (chunk: Buffer) => (this.receivedBytes += chunk.length));
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      this.#sockets.add(one);
      one.setNoDelay(true);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  #serve(signal: GrpcRequest['signal']): void {
    const service = signal === 'metrics' ? 'metrics.v1.MetricsService' : 'logs.v1.LogsService';
    this.#server.addService(
      {
        Export: {
          path: `/opentelemetry.proto.collector.${service}/Export`,
          requestStream: false,
          responseStream: false,
          requestSerialize: asIs,
          requestDeserialize: asIs,
          responseSerialize: asIs,
          responseDeserialize: asIs,
        },
      },
      { Export: (call: Call, done: sendUnaryData<Buffer>) => this.#take(signal, call, done) },
    );
  }

  #take(signal: GrpcRequest['signal'], call: Call, done: sendUnaryData<Buffer>): void {
    const metadata = call.metadata.getMap();
    const deadlineMs = Number(call.getDeadline());
    const request = { signal, metadata, bytes: call.request, deadlineMs };
    this.requests.push(request);
    const answer = this.answer(request, this.requests.length - 1);
    if (answer === null) return;
    const { code = 0, message = '', trailers = {}, body = Buffer.alloc(0) } = answer;
    if (answer.hasHeaders === true) call.sendMetadata(new Metadata());
    const metadataOut = new Metadata();
    for (const [name, value] of Object.entries(trailers)) metadataOut.set(name, value);
    const error = code === 0 ? null : { code, details: message, metadata: metadataOut };
    setTimeout(() => done(error, body, metadataOut), answer.afterMs ?? 0);
  }
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

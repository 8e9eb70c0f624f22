// A real HTTP proxy on loopback: Debian's tinyproxy, with or without a user and a password.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { findClosedPort } from './http-server.ts';
import { tempDirectory, until } from './program.ts';

/** Why there is no proxy here; null if there is one. */
export const noTinyproxy: string | null =
  spawnSync('tinyproxy', ['-v']).status === 0 ? null : 'apt-get install tinyproxy';

export class Tinyproxy implements AsyncDisposable {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #files: Disposable;
  #log = '';

  private constructor(port: number, child: ChildProcess, files: Disposable) {
    this.port = port;
    this.#child = child;
    this.#files = files;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#log += text));
  }

  static async start(credentials?: readonly [user: string, password: string]): Promise<Tinyproxy> {
    const port = await findClosedPort();
    const files = tempDirectory();
    const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Allow 127.0.0.1', 'LogLevel Connect'];
    const wanted = credentials === undefined ? [] : [`BasicAuth ${credentials.join(' ')}`];
    const config = files.write('tinyproxy.conf', [...lines, ...wanted, ''].join('\n'));
    const child = spawn('tinyproxy', ['-d', '-c', config], { stdio: ['ignore', 'pipe', 'ignore'] });
    const proxy = new Tinyproxy(port, child, files);
    await until('tinyproxy listens', () => isListening(port));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The first lines of the requests so far, such as `CONNECT localhost:443 HTTP/1.1`. */
  get requests(): readonly string[] {
    return [...this.#log.matchAll(/Request \(file descriptor \d+\): (.*)/g)].map(
      ([, line = '']) => line,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise(resolve => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
    this.#files[Symbol.dispose]();
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

// Beginning and end of a server of ours: a bad address is the operator's mistake and says what to do; the end waits
// for answers under way, but not for clients that will not go.

import type { Server } from 'node:http';
import { causeText, OperatorError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';

export const CLOSE_MS = 1000;

/** Listens, or throws OperatorError that says what is in the way. */
export async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (error) {
    const advice = listenAdvice(error);
    const message = `cannot listen on ${shownHost(host)}:${port}: ${advice.cause}`;
    const { hint, isTransient } = advice;
    throw new OperatorError(
      [{ code: 'E_STATUS_LISTEN', key: 'status.listen', message, hint, isTransient }],
      { cause: error },
    );
  }
}

/** A host as it stands in a URL. */
export function shownHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

interface ListenAdvice {
  readonly cause: string;
  readonly hint: string;
  /** Somebody else may let go of it. */
  readonly isTransient: boolean;
}

function listenAdvice(error: unknown): ListenAdvice {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return {
      cause: 'the port is in use',
      hint: 'end the other program (another prom2otlp?), or choose another port',
      isTransient: true,
    };
  const isTransient = false;
  if (code === 'EACCES')
    return { cause: 'permission denied', hint: 'choose a port from 1024 on', isTransient };
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return {
      cause: 'this machine has no such address',
      hint: 'use 127.0.0.1, or 0.0.0.0 for all addresses of the machine',
      isTransient,
    };
  return { cause: causeText(error), hint: 'choose another address or port', isTransient };
}

/** Ends idle connections at once, the others when their answers are out, all of them after CLOSE_MS. */
export async function closeServer(server: Server, clock: Clock): Promise<void> {
  const timer = new AbortController();
  const closed = new Promise<void>(resolve => server.close(() => resolve()));
  await Promise.race([closed, clock.sleep(CLOSE_MS, timer.signal)]);
  timer.abort();
  server.closeAllConnections();
  await closed;
}

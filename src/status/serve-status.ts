// Puts a daemon's state on its status server.

import type { Daemon } from '../daemon.ts';
import type { Clock } from '../lib/clock.ts';
import { reportOf, waitingForOf } from './daemon-report.ts';
import { startStatusServer, type StatusServer } from './status-server.ts';

/** Starts the server that the configuration asks for. Throws an OperatorError when its port cannot be had. */
export function serveStatus(daemon: Daemon, clock: Clock): Promise<StatusServer> {
  const { host, port, token } = daemon.config.status;
  return startStatusServer({
    host,
    port,
    token,
    clock,
    counters: daemon.counters,
    report: () => reportOf(daemon, clock),
    isReady: () => {
      const waitingFor = waitingForOf(daemon);
      return { ready: waitingFor.length === 0, waitingFor };
    },
  });
}

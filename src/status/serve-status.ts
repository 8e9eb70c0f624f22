// Puts a daemon's state on its status server.

import type { Daemon } from '../daemon/daemon.ts';
import type { Clock } from '../lib/clock.ts';
import type { Reload } from '../daemon/reload.ts';
import { reportOf, waitingForOf } from './daemon-report.ts';
import { startStatusServer, type StatusServer } from './status-server.ts';

/** What is served: the daemon that runs now, which a reload replaces. */
export interface Running {
  readonly daemon: Daemon;
  readonly lastReload: Reload | null;
}

/** Starts the server that the configuration asks for. Throws an OperatorError when its port cannot be had. */
export function serveStatus(running: Running, clock: Clock): Promise<StatusServer> {
  const { config, counters } = running.daemon;
  const { host, port, token } = config.status;
  return startStatusServer({
    host,
    port,
    token,
    clock,
    counters,
    report: () => reportOf(running.daemon, clock, running.lastReload),
    isReady: () => {
      const waitingFor = waitingForOf(running.daemon);
      return { ready: waitingFor.length === 0, waitingFor };
    },
  });
}

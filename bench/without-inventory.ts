// For servers that take each request for one of their page: the service's list of services is not there.

import type { Handler } from '../src/simulator/loopback-server.ts';

/** Answers requests for the inventory with 404, and passes all others on. */
export function withoutInventory(handler: Handler): Handler {
  return (request, response) => {
    if (request.url?.includes('/provisioning/') !== true) return handler(request, response);
    response.writeHead(404, { 'content-length': 0 }).end();
  };
}

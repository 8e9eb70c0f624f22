// The proxy. Its common label server_name names the proxy itself; `id` names a backend in proxy_server_*, an
// endpoint in proxy_service_*, a worker in proxy_threads_*. Several counters are declared gauge by the page,
// and proxy_server_max_* are high-water marks, not limits.

import { type CatalogTable, counter, gauge, info, table, updown } from './catalog.ts';

const BY_ID = { declared: 'gauge', labels: ['id'] } as const;
const COUNTER = { declared: 'counter' } as const;

export const PROXY_TABLES: readonly CatalogTable[] = [
  table('proxy_', { declared: 'gauge' }, [
    gauge('up', '1', '1 if the proxy answered.'),
    gauge('uptime_seconds', 's', 'Age of the proxy process, in whole seconds.'),
    info('modules', '1', 'A loaded module, told by its labels; always 1.', {
      labels: ['module_name', 'module_type', 'version'],
    }),
    updown('service_connections', '{connection}', 'Client connections of an endpoint.', BY_ID),
  ]),

  table('proxy_server_', BY_ID, [
    updown('active_operations', '{operation}', 'Queries a backend is working on.'),
    updown('connections', '{connection}', 'Connections open to a backend.'),
    updown('persistent_connections', '{connection}', 'Idle connections kept for a backend.'),
    counter('total_connections', '{connection}', 'Connections opened to a backend.', COUNTER),
    counter('reused_connections', '{connection}', 'Connections taken from the pool of a backend.'),
    counter('connection_pool_empty', '{request}', 'Requests that the pool could not serve.'),
    counter('routed_packets', '{packet}', 'Packets passed on to a backend.'),
    gauge('max_connections', '{connection}', 'Most connections at one time since the start.'),
    gauge('max_pool_size', '{connection}', 'Most pooled connections since the start.'),
    gauge('adaptive_avg_select_time', 'ns', 'Moving mean of read times; mostly 0.'),
  ]),

  table('proxy_threads_', BY_ID, [
    updown('count', '{thread}', 'Worker threads.', { labels: [] }),
    updown('current_descriptors', '{descriptor}', 'Descriptors a worker watches.'),
    counter('total_descriptors', '{descriptor}', 'Descriptors a worker has ever watched.'),
    counter('reads', '{event}', 'Readable events that a worker took.', COUNTER),
    counter('writes', '{event}', 'Writable events that a worker took.', COUNTER),
    counter('hangups', '{event}', 'Hang-ups that a worker took.', COUNTER),
    counter('errors', '{event}', 'Errors that a worker took.', COUNTER),
    gauge('event_queue_length', '{event}', 'Mean events per poll since the start.'),
    gauge('max_queue_time', 'ms', 'Longest wait of an event since the start.'),
    gauge('stack_size', 'By', 'Stack of a worker; 0 where it is not reported.', { labels: [] }),
  ]),
];

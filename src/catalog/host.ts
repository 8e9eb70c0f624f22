// The container and the volume of an engine server, and what the service itself says of its servers. The specification
// does not have these series; newer deployments do. No series dates these counters: a container may start again while
// the age of the engine's process says nothing of it, so their start is the first sample (mapping.md, F6).

import { type CatalogTable, counter, gauge, table, updown } from './catalog.ts';

const HOST = { declared: 'unknown', uptimeSeries: null } as const;
/** What a volume is for; absent where a server has a single volume. */
const VOLUME = { labels: ['disk_purpose'] } as const;

export const HOST_TABLES: readonly CatalogTable[] = [
  table('engine_server_', HOST, [
    // Processor. The reference says that full load is 1.
    gauge('cpu', '1', 'Fraction of the processor time it may use that a server uses.'),
    counter(
      'cpu_system_seconds_total',
      's',
      "Processor time of a server's container in the kernel.",
    ),
    counter('cpu_user_seconds_total', 's', "Processor time of a server's container in programs."),
    gauge('spec_cpu_period', 'us', 'Period in which the processor time of a container is limited.'),

    // Memory.
    updown('memory_cache', 'By', "Page cache of a server's container."),
    updown('memory_rss', 'By', "Memory of a server's container that is not page cache."),
    updown('resident_memory_bytes', 'By', 'Physical memory of a server.'),
    updown('virtual_memory_bytes', 'By', 'Virtual memory of a server.'),
    updown('spec_memory_limit_bytes', 'By', 'Memory limit of a container; 0 if there is none.'),

    // Disk.
    counter('fs_reads_total', '{operation}', "Reads of a server's container from disk."),
    counter('fs_writes_total', '{operation}', "Writes of a server's container to disk."),
    counter('fs_reads_bytes_total', 'By', "Data that a server's container read from disk."),
    counter('fs_writes_bytes_total', 'By', "Data that a server's container wrote to disk."),
    updown('volume_stats_available_bytes', 'By', 'Free space of a volume.', VOLUME),
    updown('volume_stats_capacity_bytes', 'By', 'Size of a volume.', VOLUME),
    updown('volume_stats_used_bytes', 'By', 'Space of a volume in use.', VOLUME),

    // Network.
    counter('network_receive_bytes_total', 'By', 'Network traffic to a server.'),
    counter('network_receive_errors_total', '{error}', 'Network errors on the way in.'),
    counter('network_receive_packets_dropped_total', '{packet}', 'Packets dropped on the way in.'),
    counter('network_transmit_bytes_total', 'By', 'Network traffic from a server.'),
    counter('network_transmit_errors_total', '{error}', 'Network errors on the way out.'),
    counter(
      'network_transmit_packets_dropped_total',
      '{packet}',
      'Packets dropped on the way out.',
    ),
  ]),

  table('engine_service_', HOST, [
    // This one belongs to the service as a whole: it has no `server_name` and no `server_type`.
    gauge('status', '1', '1 while the service as a whole is active.'),
    gauge('server_status', '1', '1 while the service counts a server as active.'),
    gauge('server_network_status', '1', '1 while the network reaches a server.'),
  ]),
];

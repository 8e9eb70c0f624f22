// Multi-master clusters: the membership of each engine server, and the group communication between them.

import { ENGINE_UPTIME } from './engine.ts';
import {
  additive,
  type CatalogTable,
  counter,
  gauge,
  info,
  stateset,
  table,
  updown,
} from './table.ts';

// Status of an engine server as a member of a multi-master cluster. The series have the engine's prefix, but exist only
// on cluster members. Every member reports the cluster's size, view and position, and receives its own copy of a write
// set, so hardly any of them may be summed over servers.

export const engineCluster: CatalogTable = table(
  'engine cluster membership',
  {
    family: 'engine',
    prefix: 'engine_global_status_wsrep_',
    declared: 'untyped',
    confidence: 'certain',
    uptimeSeries: ENGINE_UPTIME,
  },
  [
    // Membership.
    gauge('cluster_size', '{node}', 'Members of the cluster in the view of this node.'),
    gauge('cluster_status', '1', '1 while this node belongs to the part that has quorum.'),
    gauge('cluster_conf_id', '1', 'Number of the membership view; rises with every change.', {
      confidence: 'likely',
    }),
    gauge('connected', '1', '1 while the node is attached to the replication provider.'),
    gauge('ready', '1', '1 while the node takes queries.'),
    stateset('local_state', '1', 'State: 0 none, 1 joining, 2 donor, 3 joined, 4 synced, 5 error.'),

    // Replication. Positions belong to the cluster: they jump with a state transfer.
    gauge('last_committed', '{transaction}', 'Position of the last commit, common to all members.'),
    gauge('cert_deps_distance', '{transaction}', 'Mean span of parallel commits.'),
    counter('replicated', '{writeset}', 'Write sets sent to the other members.'),
    counter('replicated_bytes', 'By', 'Size of the write sets sent to the other members.'),
    gauge('flow_control_paused', '1', 'Fraction of time paused since the reset.'),

    // Queues; mean, longest and shortest since the last reset of the statistics.
    updown('local_recv_queue', '{writeset}', 'Received write sets that wait to be applied.'),
    gauge('local_recv_queue_avg', '{writeset}', 'Mean length of the receive queue.'),
    gauge('local_recv_queue_max', '{writeset}', 'Greatest length of the receive queue.'),
    gauge('local_recv_queue_min', '{writeset}', 'Least length of the receive queue.'),
    additive('local_send_queue', '{writeset}', 'Write sets that wait to be sent.'),
    gauge('local_send_queue_avg', '{writeset}', 'Mean length of the send queue.'),
    gauge('local_send_queue_max', '{writeset}', 'Greatest length of the send queue.'),
    gauge('local_send_queue_min', '{writeset}', 'Least length of the send queue.'),
  ],
);

// Group communication of a multi-master cluster, measured by one member. The latencies cover a short window that the
// statistics timer resets, and are 0 on an idle node.

export const multimaster: CatalogTable = table(
  'multimaster',
  {
    family: 'multimaster',
    prefix: 'engine_multimaster_',
    declared: 'gauge',
    confidence: 'certain',
  },
  [
    gauge('evs_repl_latency_avg_seconds', 's', 'Mean replication round trip within the group.'),
    gauge('evs_repl_latency_max_seconds', 's', 'Longest replication round trip within the group.'),
    gauge('evs_repl_latency_min_seconds', 's', 'Shortest replication round trip within the group.'),
    info('status_info', '1', 'Identity of the node, its cluster and its provider; always 1.', {
      labels: ['wsrep_local_state_uuid', 'wsrep_cluster_state_uuid', 'wsrep_provider_version'],
    }),
  ],
);

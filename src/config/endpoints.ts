// The keys that say what the service's API looks like: paths below base_url, names of parameters, JSON pointers into
// answers. Their defaults are also those of the typed client, which other programs use without a configuration.

import { block, key, orNull, readAlone, type Key, type ValueOf } from './declare.ts';
import { urlPath } from './http-kinds.ts';
import { choice, integer, text } from './kinds.ts';
import { bug } from '../errors.ts';

export const metricsPath: Key<string> = key('path', urlPath(), '/observability/v2/metrics').about(`
  The path of the page, below base_url.`);

export const inventoryPath: Key<string> = key(
  'path',
  urlPath(),
  '/provisioning/v1/services',
).about(`
  The path of the list, below base_url.`);

export const historyPath: Key<string> = key('path', urlPath(), '/observability/v2/query').about(`
  The path that answers PromQL, below base_url.`);

function parameter(name: string, fallback: string): Key<string> {
  const kind = text({ expected: 'the name of a query parameter', pattern: /^[^\s&=#?]+$/ });
  return key(name, kind, fallback);
}

const parameters = block({
  from: parameter('from', 'fromDate'),
  to: parameter('to', 'toDate'),
  limit: parameter('limit', 'limit'),
  offset: parameter('offset', 'offset'),
  order: parameter('order', 'orderBy'),
  type: parameter('type', 'logType'),
  server: parameter('server', 'serverContext'),
  ids: parameter('ids', 'logIds'),
  format: parameter('format', 'logFormat'),
});

function pointer(name: string, fallback: string): Key<string> {
  const pattern = /^(?:\/(?:[^~/]|~[01])*)*$/;
  const kind = text({ expected: 'a JSON pointer such as /logs', pattern, isEmptyLegal: true });
  return key(name, kind, fallback);
}

const pointers = block({
  items: pointer('items', '/logs'),
  count: pointer('count', '/count'),
  id: pointer('id', '/id'),
  name: pointer('name', '/name'),
  type: pointer('type', '/logType'),
  server: pointer('server', '/server'),
  service: pointer('service', '/service'),
  source: pointer('source', '/serverDataSourceId'),
  size: pointer('size', '/size'),
  start: pointer('start', '/startTime'),
  message: pointer('message', '/log'),
  time: pointer('time', '/time'),
  stream: pointer('stream', '/stream'),
});

export const logEndpoints = block({
  list: key('list', urlPath(), '/observability/v2/logs').about('Lists archives, or records.'),
  archive: key('archive', urlPath(), '/observability/v2/logs/archive').about(`
    Gives one archive.`),
  types: key('types', urlPath(), '/observability/v2/logs/types').about(`
    Lists the types of logs.`),
  servers: key('servers', urlPath(), '/observability/v2/logs/servers').about(`
    Lists the servers that log.`),
  retention: key('retention', urlPath(), '/observability/v2/logs/retention').about(`
    Says how long logs are kept.`),
  parameters: key('parameters', parameters).about('The names of the query parameters.'),
  pointers: key('pointers', pointers).about(`
    The positions of values in the answers, as JSON pointers: \`items\` and \`count\` in the whole
    answer; \`message\`, \`time\` and \`stream\` in each log record, or in each line of an archive
    in json; the others in each item.`),
  format: key('format', choice(['json', 'raw']), 'json').about(`
    json has a reliable time for every line; raw is the unchanged log of the server.`),
  pagination: key('pagination', choice(['offset', 'page', 'none']), 'offset').about(`
    The meaning of the parameter \`offset\`: items from 0 (offset), pages from 1 (page), or no
    paging (none).`),
  pageSize: key('page_size', integer({ min: 1, max: 10_000 }), 100).about(`
    The number of items per request.`),
});

export const backupEndpoints = block({
  schedules: key('schedules', urlPath(), '/backup/v1/backups/schedules').about(`
    Lists schedules and takes new ones.`),
  backups: key('backups', urlPath(), '/backup/v1/backups').about('Lists backups.'),
  restores: key('restores', urlPath(), '/backup/v1/restores').about(`
    Lists restores and takes new ones.`),
  lookup: key('lookup', orNull(urlPath()), null).about(`
    Tells the point-in-time window of a service. null: /pointintime/lookup below restores.`),
  restoreKey: key('restore_key', choice(['key', 'id']), 'key').about(`
    The member of a new restore that holds the backup's path in the bucket: key or id.`),
});

/** The defaults, which apply without a configuration. */
export const DEFAULT_ENDPOINTS: {
  readonly metricsPath: string;
  readonly logs: ValueOf<typeof logEndpoints>;
  readonly backups: ValueOf<typeof backupEndpoints>;
  readonly inventoryPath: string;
} = {
  metricsPath: readAlone(metricsPath, undefined) ?? bug('no default'),
  logs: readAlone(key('endpoints', logEndpoints), undefined) ?? bug('no default'),
  backups: readAlone(key('endpoints', backupEndpoints), undefined) ?? bug('no default'),
  inventoryPath: readAlone(inventoryPath, undefined) ?? bug('no default'),
};

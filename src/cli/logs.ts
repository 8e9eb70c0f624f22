// `logs`: the log endpoints of the service from the shell.

import { logsDownload } from './logs-download.ts';
import { logsList, logsServers, logsTypes } from './logs-list.ts';
import { logsRetention } from './logs-retention.ts';
import { logsTail } from './logs-tail.ts';
import { ACCESS_HELP } from './service-access.ts';
import { type Action, runAction, type Verb } from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  list: logsList,
  types: logsTypes,
  servers: logsServers,
  download: logsDownload,
  tail: logsTail,
  retention: logsRetention,
};

export const verb: Verb = {
  summary: 'the logs of the service: logs list | types | servers | download | tail | retention',
  help: `
Usage: prom2otlp logs list|types|servers|download|tail|retention [options]

  ${ACCESS_HELP}
  --type TYPE        such as error-log
  --server NAME      the name of a server, or its data source id
  --from, --to TIME  RFC 3339, or back from now such as 2h; the last day when absent
  --json             JSON instead of a table

list                 the archives of that time
types, servers       what there is to ask for
download ID…         these archives as one file
  --format raw|json  lines as the server wrote them (default), or each in a JSON object
  --output FILE      a new file
tail                 the last lines of the archives of that time
  --lines 20         how many of each
  --follow           and what is written after them
retention            how long the service keeps logs
  --bucket, --provider NAME    which logs
  --set-days N --confirm NAME  changes it; older logs are deleted for good. NAME is that of the bucket again

Exit: 0 done, 1 when the service did not give it, 2 for a mistake on the command line.

Examples:
  prom2otlp logs list --config /etc/prom2otlp.yaml --type error-log --from 2h
  prom2otlp logs tail --config /etc/prom2otlp.yaml --type error-log --follow
  PROM2OTLP_API_KEY=… prom2otlp logs types --base-url https://api.example.com`,
  isStoppable: true,
  run: context => runAction('logs', ACTIONS, context),
};

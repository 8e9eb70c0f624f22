// `backups`: the backup schedules of the service, and the credentials of buckets, from the shell.

import { credentialsEncode } from './backups-credentials.ts';
import { schedulesCreate, schedulesList } from './backups-schedules.ts';
import { ACCESS_HELP } from './service-access.ts';
import { type Action, runAction, type Verb } from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  'schedules list': schedulesList,
  'schedules create': schedulesCreate,
  'credentials encode': credentialsEncode,
};

export const verb: Verb = {
  summary: 'backups: backups schedules list | create, backups credentials encode',
  help: `
Usage: prom2otlp backups schedules list [--service-id ID] [options]
       prom2otlp backups schedules create --service-id ID --type full --schedule '0 3 * * *' [options]
       prom2otlp backups credentials encode --storage s3|gs --file FILE [--output FILE]

  ${ACCESS_HELP}
  --json             JSON instead of a table

schedules list       the schedules of one service, or of all that the key can see
schedules create     plans backups
  --type full        what is backed up; the service names no other type
  --schedule CRON    five fields (minute, hour, day, month, weekday) in UTC, or the word once
  --bucket ADDRESS   keeps them in a bucket of yours: s3://NAME or gs://NAME
  --credentials-file FILE   what opens that bucket, plain or encoded; see below

credentials encode   checks the credentials of a bucket member by member and encodes them; asks nobody
  --storage s3       FILE has a section [default] with aws_access_key_id, aws_secret_access_key and region,
                     a line for each
  --storage gs       FILE is the JSON key of a service account
  --output FILE      a new file, by default FILE.base64; - is stdout

Credentials are never taken as an argument and never shown. A request that was sent is not sent again by itself.

Exit: 0 done, 1 when the service did not do it, 2 for a mistake: then nothing was sent.

Examples:
  prom2otlp backups schedules list --config /etc/prom2otlp.yaml
  prom2otlp backups schedules create --config /etc/prom2otlp.yaml --service-id dbpgf12345678 --type full \\
    --schedule '0 3 * * *' --bucket s3://my-backups --credentials-file ~/.aws/credentials
  PROM2OTLP_API_KEY=… prom2otlp backups schedules list --base-url https://api.example.com --json
  prom2otlp backups credentials encode --storage gs --file account.json`,
  isStoppable: true,
  run: context => {
    const [first = '', second = '', ...args] = context.args;
    return runAction('backups', ACTIONS, { ...context, args: [`${first} ${second}`, ...args] });
  },
};

// `restores`: database services filled from backups in buckets, from the shell.

import { restoresCreate } from './restores-create.ts';
import { restoresList, restoresShow } from './restores-show.ts';
import { ACCESS_HELP } from './service-access.ts';
import { type Action, runAction, type Verb } from './verb.ts';

const ACTIONS: Readonly<Record<string, Action>> = {
  create: restoresCreate,
  list: restoresList,
  show: restoresShow,
};

export const verb: Verb = {
  summary: 'restores from a bucket: restores create | list | show',
  help: `
Usage: prom2otlp restores create --service-id ID --key PATH --bucket gs://NAME --method enginebackup|enginedump
                                 --credentials-file FILE [--encryption-key-file FILE] --yes-erase ID [options]
       prom2otlp restores list [--service-id ID] [options]
       prom2otlp restores show RESTORE [options]

  ${ACCESS_HELP}
  --json             JSON instead of a table

create               puts a backup in the place of all that the service holds: ITS DATA IS ERASED
  --key PATH         the backup's path in the bucket
  --bucket ADDRESS   gs://NAME or s3://NAME
  --method TOOL      what made it: enginebackup (physical) or enginedump (logical)
  --credentials-file FILE      what opens the bucket, plain or encoded (see backups --help)
  --encryption-key-file FILE   the key of an encrypted backup, in one line
  --yes-erase ID     the service's id once more. Without it, a terminal asks for the id to be typed;
                     anything else refuses
list                 the restores that the key can see
show RESTORE         one of them, and how far it is

Where an answer is lost, create looks at the list of restores before it tries again, once; where it cannot know,
it says so. Credentials and keys are never taken as an argument and never shown.
The paths and the name of the member are in the configuration: backups.endpoints.

Exit: 0 begun or shown, 1 when the service did not do it or nobody knows, 2 for a mistake: then nothing was sent.

Examples:
  prom2otlp restores create --config /etc/prom2otlp.yaml --service-id dbpgf12345678 --key nightly/2026-03-04.gz \\
    --bucket gs://my-backups --method enginebackup --credentials-file account.json --yes-erase dbpgf12345678
  prom2otlp restores list --config /etc/prom2otlp.yaml --service-id dbpgf12345678
  PROM2OTLP_API_KEY=… prom2otlp restores show 42 --base-url https://api.example.com`,
  isStoppable: true,
  run: context => runAction('restores', ACTIONS, context),
};

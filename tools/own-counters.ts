// All metrics of the program itself, by section of docs/operate/telemetry.md. In: the groups that the files
// of src declare next to the code that counts. A new counter needs no entry here; a new group needs
// one, and a test finds a missing one.

import { DIGEST_COUNTERS } from '../src/logs/digests/digests.ts';
import { BACKUP_COUNTERS } from '../src/backups/service-backups.ts';
import { BACKFILL_COUNTERS } from '../src/daemon/backfill.ts';
import { OWN_TELEMETRY_COUNTERS } from '../src/daemon/own-telemetry.ts';
import { PROCESS_COUNTERS } from '../src/daemon/process-counters.ts';
import { FORECAST_COUNTERS } from '../src/daemon/queue-forecast.ts';
import { DISCOVERY_COUNTERS } from '../src/daemon/discovery.ts';
import { INVENTORY_COUNTERS } from '../src/daemon/inventory.ts';
import { RELOAD_COUNTERS } from '../src/daemon/reload.ts';
import { type Counter, type CounterGroup, Counters } from '../src/lib/counters.ts';
import { LOG_COUNTERS } from '../src/logs/log-meter.ts';
import { SCHEDULE_COUNTERS } from '../src/pipeline/collect/schedule.ts';
import { SCRAPE_COUNTERS } from '../src/pipeline/collect/scrape.ts';
import { ATTRIBUTE_COUNTERS } from '../src/pipeline/encode/attribute-limit.ts';
import { QUEUE_COUNTERS } from '../src/pipeline/queue/account.ts';
import { FILE_COUNTERS } from '../src/pipeline/queue/storage.ts';
import { SEND_COUNTERS } from '../src/pipeline/send/sender.ts';
import { PAGE_COUNTERS } from '../src/pipeline/translate-meter.ts';
import { SERVICE_COUNTERS } from '../src/service/http-client.ts';
import { PULL_COUNTERS } from '../src/service/pull-report.ts';
import { STATUS_COUNTERS } from '../src/status/status-server.ts';

const SECTIONS: Readonly<Record<string, readonly CounterGroup[]>> = {
  Scraping: [SCRAPE_COUNTERS, SCHEDULE_COUNTERS, BACKFILL_COUNTERS],
  'Requests to the service': [SERVICE_COUNTERS, PULL_COUNTERS, INVENTORY_COUNTERS],
  'Pages, samples and points': [PAGE_COUNTERS, ATTRIBUTE_COUNTERS],
  'The queue': [QUEUE_COUNTERS, FILE_COUNTERS, FORECAST_COUNTERS],
  Sending: [SEND_COUNTERS],
  Logs: [LOG_COUNTERS, DIGEST_COUNTERS],
  'Backup schedules': [BACKUP_COUNTERS],
  'The status address': [STATUS_COUNTERS],
  'The configuration': [RELOAD_COUNTERS, DISCOVERY_COUNTERS],
  'Own telemetry': [OWN_TELEMETRY_COUNTERS],
  'The process': [PROCESS_COUNTERS],
};

/** A section of the page and its counters, by name. */
export interface CounterSection {
  readonly title: string;
  readonly counters: readonly Counter[];
}

export const COUNTER_SECTIONS: readonly CounterSection[] = Object.entries(SECTIONS).map(
  ([title, groups]) => {
    const counters = new Counters();
    for (const group of groups) counters.of(group);
    return { title, counters: counters.list().toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
  },
);

// What may go wrong with the log API of the simulated service: lists that are refused, repeat themselves or say less,
// parameters that have no effect, and archives that are missing, broken or packed in another way.

import { gzipSync } from 'node:zlib';
import {
  type Answer,
  type EndpointRequest,
  errorAnswer,
  jsonAnswer,
} from '../../src/simulator/answer.ts';
import type { LogArchive, LogLine, LogSource } from '../../src/simulator/log-source.ts';
import { entriesOf, NO_DATE, zip, type ZipEntry } from '../../src/simulator/logs-endpoint.ts';
import { alteredJson, isRecord } from './altered-json.ts';
import { gzipBomb } from './faulty-delivery.ts';

export interface LogFaults {
  /** By archive id; `*` means every archive that has no entry. A number is the status of its download. */
  readonly archives: Readonly<Record<string, ArchiveFault>>;
  readonly archiveForm: 'zip' | 'gzip' | 'plain';
  /** Whether lines have the prefix of a container runtime, which splits long lines. */
  readonly hasLinePrefix: boolean;
  /** The list has no sizes; its count changes from page to page. */
  readonly isSizeHidden: boolean;
  readonly isCountUnsteady: boolean;
  /** A list that begins before `oldestMs` is refused; one whose range contains `poisonMs` repeats its page for ever. */
  readonly oldestMs: number | null;
  readonly poisonMs: number | null;
  /** The status of a list whose range contains `poisonMs`; null repeats its page. */
  readonly poisonStatus: number | null;
  /** By type of log: the status of its lists. */
  readonly listStatuses: Readonly<Record<string, number>>;
  readonly ignoredParameters: readonly string[];
}

type ArchiveFault =
  | 'cut'
  | 'checksum'
  | 'encrypted'
  | 'nested'
  | 'bomb'
  | 'html'
  | 'missing'
  | 'lacking'
  | number;

export const NO_LOG_FAULTS: LogFaults = {
  archives: {},
  archiveForm: 'zip',
  hasLinePrefix: false,
  isSizeHidden: false,
  isCountUnsteady: false,
  oldestMs: null,
  poisonMs: null,
  poisonStatus: null,
  listStatuses: {},
  ignoredParameters: [],
};

interface LogCase {
  readonly request: EndpointRequest;
  readonly faults: LogFaults;
  readonly logs: LogSource;
  /** Whether the number of lists so far is odd. */
  readonly isOdd: boolean;
}

/** `serve` gives the answer without faults. */
export function faultyLogs(one: LogCase, serve: (request: EndpointRequest) => Answer): Answer {
  const { method, path } = one.request;
  if (method === 'GET' && path.endsWith('/logs')) return faultyList(one, serve);
  const answer = serve(one.request);
  return method === 'GET' && path.endsWith('/archive') ? faultyArchive(one, answer) : answer;
}

function faultyList(
  { request, faults, isOdd }: LogCase,
  serve: (request: EndpointRequest) => Answer,
): Answer {
  const { oldestMs, poisonMs, poisonStatus, ignoredParameters } = faults;
  const heeded = [...request.query].filter(([name]) => !ignoredParameters.includes(name));
  const query = new URLSearchParams(heeded);
  const failed = (status: number): Answer => errorAnswer(status, 'Simulated failure', request);
  const status = faults.listStatuses[query.get('logType') ?? ''];
  if (status !== undefined) return failed(status);
  const from = Date.parse(query.get('fromDate') ?? '1970-01-01');
  const to = Date.parse(query.get('toDate') ?? '9999-01-01');
  if (from < (oldestMs ?? -Infinity)) return errorAnswer(400, NO_DATE, request);
  if (poisonMs !== null && from <= poisonMs && poisonMs < to) {
    if (poisonStatus !== null) return failed(poisonStatus);
    const logs = Array.from({ length: Number(query.get('limit')) }, (_, id) => ({ id }));
    return jsonAnswer(200, { logs });
  }
  return alteredJson(serve({ ...request, query }), value => {
    if (!isRecord(value) || !Array.isArray(value['logs'])) return value;
    const logs = value['logs'].map(log =>
      faults.isSizeHidden ? { ...log, size: undefined } : log,
    );
    return { count: Number(value['count']) + (faults.isCountUnsteady && isOdd ? 1 : 0), logs };
  });
}

function faultyArchive({ request, faults, logs }: LogCase, answer: Answer): Answer {
  const { query, nowMs } = request;
  const [id = ''] = (query.get('logIds') ?? '').split(',');
  const fault = faults.archives[id] ?? faults.archives['*'];
  if (fault === 'missing') return errorAnswer(404, 'No such log', request);
  if (answer.status !== 200) return answer;
  if (typeof fault === 'number') return errorAnswer(fault, 'Simulated failure', request);
  const source = faults.hasLinePrefix ? withLinePrefix(logs) : logs;
  const entries = entriesOf(source, logs.archives(nowMs, 90), query, nowMs) ?? [];
  return { ...answer, body: archiveBody(entries, fault, faults.archiveForm) };
}

function archiveBody(
  entries: readonly ZipEntry[],
  fault: ArchiveFault | undefined,
  form: LogFaults['archiveForm'],
): Buffer {
  if (fault === 'bomb') return Buffer.concat([...gzipBomb()]);
  if (fault === 'html') return Buffer.from('<!doctype html><title>Maintenance</title>\n');
  if (fault === 'encrypted') return zip(entries.map(one => ({ ...one, flags: 1 })));
  if (fault === 'checksum') return zip(entries.map(one => ({ ...one, checksum: 1 })));
  if (fault === 'nested') return zip([{ name: 'inner.zip', bytes: zip(entries) }]);
  if (fault === 'lacking') return zip(entries.slice(1));
  const whole = packed(entries, form);
  return fault === 'cut' ? whole.subarray(0, Math.floor(whole.length / 2)) : whole;
}

/** Several entries need a ZIP. */
function packed(entries: readonly ZipEntry[], form: LogFaults['archiveForm']): Buffer {
  const [first, second] = entries;
  if (form === 'zip' || first === undefined || second !== undefined) return zip(entries);
  return form === 'gzip' ? gzipSync(first.bytes) : first.bytes;
}

/** Container runtimes cut lines at this length. */
const PART_LENGTH = 16_384;

/** The same logs with the prefix of a container runtime before each line or part of a line. */
function withLinePrefix(logs: LogSource): LogSource {
  return {
    services: logs.services,
    archives: (nowMs, days) => logs.archives(nowMs, days),
    *lines(archive: LogArchive, nowMs: number): Iterable<LogLine> {
      for (const { text, atMs } of logs.lines(archive, nowMs)) {
        const time = new Date(atMs).toISOString();
        for (let from = 0; from === 0 || from < text.length; from += PART_LENGTH) {
          const isLast = from + PART_LENGTH >= text.length;
          const part = text.slice(from, from + PART_LENGTH);
          yield { text: `${time} stderr ${isLast ? 'F' : 'P'} ${part}`, atMs };
        }
      }
    },
  };
}

// The record that each line of the simulated logs must become at the back end, derived from the line itself in the
// simplest way: one pattern per form that the simulator writes, and constants for the rest.

import type { LogLine } from '../../../src/simulator/log-source.ts';

export interface ExpectedLog {
  readonly severityNumber: number;
  readonly severityText: string;
  readonly eventName: string;
  /** The attributes that not every record has. */
  readonly attributes: Readonly<Record<string, string>>;
}

const LEVELS: Readonly<Record<string, number>> = {
  Note: 9,
  Warning: 13,
  ERROR: 17,
  notice: 10,
  error: 17,
};

/** Throws for a line of an unknown form. */
export function expectedLog(type: string, { text }: LogLine): ExpectedLog {
  if (type === 'error-log') return errorLog(text);
  if (type === 'slow-query-log') return slowQuery(text);
  if (type === 'audit-log') return audit(text);
  return proxyLog(text);
}

function errorLog(text: string): ExpectedLog {
  const [, thread = '', level = ''] = matched(text, /^\S+ +\S+ (\d+) \[(\w+)\]/);
  const aborted = text.includes('Aborted connection')
    ? {
        'db.namespace': 'string shop',
        'user.name': 'string app',
        'client.address': 'string 10.0.0.9',
      }
    : {};
  return {
    severityNumber: LEVELS[level] ?? 0,
    severityText: level,
    eventName: '',
    attributes: { 'thread.id': `int ${thread}`, ...aborted },
  };
}

function slowQuery(text: string): ExpectedLog {
  const [, thread = '', seconds = ''] = matched(text, /Thread_id: (\d+) [^]*Query_time: ([\d.]+)/);
  const [, statement = ''] = matched(text, /;\n(SELECT [^]*);$/);
  return {
    severityNumber: 13,
    severityText: '',
    eventName: 'prom2otlp.slow_query',
    attributes: {
      'user.name': 'string app',
      'client.address': 'string 10.0.0.9',
      'thread.id': `int ${thread}`,
      'db.namespace': 'string shop',
      'db.query.text': `string ${statement}`,
      'db.response.returned_rows': 'int 1',
      'prom2otlp.slow_query.client_host': 'string web-1',
      'prom2otlp.slow_query.qc_hit': 'bool false',
      'prom2otlp.slow_query.query_time_s': `double ${Number(seconds)}`,
      'prom2otlp.slow_query.lock_time_s': 'double 0.000031',
      'prom2otlp.slow_query.rows_examined': 'int 90210',
      'prom2otlp.slow_query.rows_affected': 'int 0',
      'prom2otlp.slow_query.bytes_sent': 'int 65',
    },
  };
}

function audit(text: string): ExpectedLog {
  const [, server = '', user = '', thread = '', query = '', operation = '', rest = ''] = matched(
    text,
    /^[^,]+,([^,]+),(\w+),10\.0\.0\.9,(\d+),(\d+),(\w+),(.*)$/,
  );
  const isQuery = operation === 'QUERY';
  const [, number = ''] = isQuery ? matched(rest, /^shop,'select \\'a,b\\', (\d+)',0$/) : [];
  const statement = {
    'db.namespace': 'string shop',
    'db.query.text': `string select 'a,b', ${number}`,
  };
  return {
    severityNumber: isQuery ? 9 : 17,
    severityText: '',
    eventName: 'prom2otlp.audit',
    attributes: {
      'prom2otlp.audit.operation': `string ${operation}`,
      'prom2otlp.audit.server': `string ${server}`,
      'prom2otlp.audit.query_id': `int ${query}`,
      'user.name': `string ${user}`,
      'client.address': 'string 10.0.0.9',
      'thread.id': `int ${thread}`,
      'db.response.status_code': isQuery ? 'string 0' : 'string 1045',
      ...(isQuery ? statement : {}),
    },
  };
}

function proxyLog(text: string): ExpectedLog {
  const [, level = '', session, module = '', object = ''] = matched(
    text,
    /^\S+ \S+ {3}(\w+) *: (?:\((\d+)\) )?\[(\w+)\] \(([\w-]+)\); /,
  );
  return {
    severityNumber: LEVELS[level] ?? 0,
    severityText: level,
    eventName: '',
    attributes: {
      ...(session === undefined ? {} : { 'prom2otlp.proxy.session_id': `int ${session}` }),
      'prom2otlp.proxy.module': `string ${module}`,
      'prom2otlp.proxy.object': `string ${object}`,
    },
  };
}

function matched(text: string, pattern: RegExp): RegExpExecArray {
  const match = pattern.exec(text);
  if (match === null) throw new Error(`not a line that the simulator writes: ${text}`);
  return match;
}

import { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { describe, expect, test } from 'vitest';
import { type OtlpPoint, otlpPoints } from '../support/otlp-points.ts';
import { T0, Target } from '../support/target.ts';
import { AGREEMENTS, DIFFERENCES } from './differences.ts';
import { oracleDecodeMetrics } from './oracle.ts';
import { plainTranslate } from './plain-stack.ts';

const NOW_MS = 1_760_000_060_000;

/** A row in the form of differences.ts, with the time if it differs from the scrape's. */
function rowText({ metric, attributes, type, value, distribution, timeNs }: OtlpPoint): string {
  const time = timeNs === `${String(NOW_MS)}000000` ? '' : ` @${timeNs}`;
  return `${metric}{${attributes}} ${type} ${value === undefined ? distribution : String(value)}${time}`;
}

/** The points that the plain stack sends for a page. */
function plainRows(page: string): string[] {
  const metrics = plainTranslate(page, { nowMs: NOW_MS, startMs: NOW_MS, resource: {} });
  const bytes = ProtobufMetricsSerializer.serializeRequest(metrics);
  return otlpPoints(oracleDecodeMetrics(bytes ?? new Uint8Array())).map(rowText);
}

/** The points that our data path sends for a page. */
function ourRows(page: string): string[] {
  const target = new Target({ metrics: { badShare: 1 } });
  return target.page((NOW_MS - T0) / 1000, page).points.map(rowText);
}

const text = (page: readonly string[], isCut = false): string =>
  page.join('\n') + (isCut ? '' : '\n');

describe('the plain stack agrees', () => {
  for (const { what, page, both } of AGREEMENTS) {
    test(what, () => {
      expect(plainRows(text(page))).toStrictEqual(both);
      expect(ourRows(text(page)).sort()).toStrictEqual(both.toSorted());
    });
  }
});

describe('the plain stack differs:', () => {
  for (const { because, page, isCut, plain, ours } of DIFFERENCES) {
    test(because, () => {
      if (typeof plain === 'string') expect(() => plainRows(text(page, isCut))).toThrow(plain);
      else expect(plainRows(text(page, isCut))).toStrictEqual(plain);
      expect(ourRows(text(page, isCut)).sort()).toStrictEqual(ours.toSorted());
    });
  }
});

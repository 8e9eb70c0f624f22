// Compares the OTLP points that two programs made from one page, and finds every field in which they differ. In: requests
// as OTLP/JSON, decoded by readers that share nothing with the program's encoder.

import type {
  ExemplarJson,
  KeyValueJson,
  MetricsRequestJson,
  ScopeMetricsJson,
} from '../../../src/pipeline/encode/otlp-fields.ts';
import { attributesText, type OtlpPoint, otlpPoints } from '../../support/otlp-points.ts';

/** A point with its whole resource and scope. */
export interface ComparablePoint extends Omit<OtlpPoint, 'exemplars'> {
  /** Attributes with the types of their values. */
  readonly resource: string;
  /** Name, version, schema and attributes. */
  readonly scope: string;
  /** The scope as the page gives it, without a name or version that one of the two programs has added. */
  readonly pageScope: string;
  readonly exemplars: string;
}

const FIELDS: readonly Field[] = [
  'resource',
  'scope',
  'type',
  'unit',
  'description',
  'metadata',
  'temporality',
  'isMonotonic',
  'startNs',
  'timeNs',
  'value',
  'distribution',
  'flags',
  'exemplars',
];

export type Field = Exclude<
  keyof ComparablePoint,
  'metric' | 'attributes' | 'pageScope' | 'serviceName' | 'serviceId'
>;

/** A field in which the two points of a pair differ, or a point without a partner (`field` is `point`). */
export type Difference =
  | {
      readonly field: Field;
      readonly ours: ComparablePoint;
      readonly theirs: ComparablePoint;
    }
  | { readonly field: 'point'; readonly ours: ComparablePoint; readonly theirs: null }
  | { readonly field: 'point'; readonly ours: null; readonly theirs: ComparablePoint };

const RECEIVER_SCOPE =
  'github.com/open-telemetry/opentelemetry-collector-contrib/receiver/prometheusreceiver';
const OUR_SCOPE = 'prom2otlp';

/** All points of a request. */
export function comparablePoints(request: MetricsRequestJson): ComparablePoint[] {
  return (request.resourceMetrics ?? []).flatMap(({ resource, scopeMetrics = [] }) =>
    scopeMetrics.flatMap(scoped => {
      const points = otlpPoints({ resourceMetrics: [{ scopeMetrics: [scoped] }] });
      const envelope = {
        resource: typedText(resource?.attributes),
        scope: scopeText(scoped),
        pageScope: scopeText(asThePageTells(scoped)),
      };
      return points.map(point => ({
        ...point,
        ...envelope,
        exemplars: point.exemplars.map(exemplarText).join(' '),
      }));
    }),
  );
}

/** Removes the name and version that a program gives a scope which the page does not name. */
function asThePageTells({ scope = {}, schemaUrl }: ScopeMetricsJson): ScopeMetricsJson {
  const { name = '', version = '', attributes = [] } = scope;
  const isReceivers = name === RECEIVER_SCOPE;
  const told = {
    name: isReceivers || name === OUR_SCOPE ? '' : name,
    version: isReceivers ? '' : version,
    attributes,
  };
  return schemaUrl === undefined ? { scope: told } : { scope: told, schemaUrl };
}

function scopeText({ scope = {}, schemaUrl = '' }: ScopeMetricsJson): string {
  const { name = '', version = '', attributes } = scope;
  return JSON.stringify([name, version, schemaUrl, typedText(attributes)]);
}

function typedText(attributes: readonly KeyValueJson[] = []): string {
  return attributes
    .map(({ key, value }) => `${key}=${JSON.stringify(value)}`)
    .sort()
    .join(' ');
}

function exemplarText(exemplar: ExemplarJson): string {
  const { timeUnixNano, asDouble, traceId = '', spanId = '', filteredAttributes } = exemplar;
  const ids = `trace=${traceId} span=${spanId}`;
  return `${String(asDouble)}@${timeUnixNano} ${ids} {${attributesText(filteredAttributes)}}`;
}

/** The identity of a series within its resource. */
export function seriesOf({ metric, attributes, pageScope }: ComparablePoint): string {
  return JSON.stringify([metric, attributes, pageScope]);
}

/** Pairs the points of one scrape by series, and by time if a series has several, and compares each pair. */
export function differencesOf(
  ours: readonly ComparablePoint[],
  theirs: readonly ComparablePoint[],
): Difference[] {
  const mine = Map.groupBy(ours, seriesOf);
  const other = Map.groupBy(theirs, seriesOf);
  const keys = new Set([...mine.keys(), ...other.keys()]);
  return [...keys].flatMap(key => pairUp(mine.get(key) ?? [], other.get(key) ?? []));
}

function pairUp(
  ours: readonly ComparablePoint[],
  theirs: readonly ComparablePoint[],
): Difference[] {
  const isSingle = ours.length === 1 && theirs.length === 1;
  const left = [...theirs];
  const found: Difference[] = [];
  for (const point of ours) {
    const at = isSingle ? 0 : left.findIndex(({ timeNs }) => timeNs === point.timeNs);
    const [partner] = at < 0 ? [] : left.splice(at, 1);
    if (partner === undefined) found.push({ field: 'point', ours: point, theirs: null });
    else found.push(...fieldDifferences(point, partner));
  }
  for (const point of left) found.push({ field: 'point', ours: null, theirs: point });
  return found;
}

function fieldDifferences(ours: ComparablePoint, theirs: ComparablePoint): Difference[] {
  return FIELDS.filter(field => !Object.is(ours[field], theirs[field])).map(field => ({
    field,
    ours,
    theirs,
  }));
}

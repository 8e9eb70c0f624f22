// Checks what must hold for every metrics request that leaves the program: envelopes are not empty, attributes are
// unique, buckets add up, there is one point per identity and time, times increase, and starts do not overlap. In:
// requests as the oracle decodes them, in the order in which they were taken. Out: what is wrong, in words. It knows
// nothing of pages: the golden files, the ledger and the oracle check whether a value is right.
//
// An identity is (resource, scope, metric, attributes); a stream is what one identity counts, in one temporality.

import type {
  ExemplarJson,
  HistogramPointJson,
  JsonDouble,
  KeyValueJson,
  MetricJson,
  MetricsRequestJson,
  NumberPointJson,
  SummaryPointJson,
} from '../../src/pipeline/encode/otlp-fields.ts';
import { oracleDecodeMetrics } from '../reference/oracle.ts';

export interface WireSanityOptions {
  /** An answer may be lost, and its request sent again: a point may come again unchanged. */
  readonly mayResend?: boolean;
  /** A wrong clock may be corrected: where time goes back, earlier points no longer count. */
  readonly mayGoBack?: boolean;
}

type AnyPoint = NumberPointJson & HistogramPointJson & SummaryPointJson;

interface Data {
  readonly dataPoints?: readonly AnyPoint[];
  readonly aggregationTemporality?: number;
}
type Kind = 'gauge' | 'sum' | 'histogram' | 'summary';

interface Shape {
  readonly kind: Kind;
  readonly isDelta: boolean;
  readonly isMonotonic: boolean;
}

/** The history of an identity. */
interface Track {
  /** Each point by its time, as text: to tell a resend from a conflict. */
  readonly points: Map<bigint, string>;
  lastNs: bigint;
  /** The time of the last staleness marker. */
  endedNs: bigint;
  /** The last point that is not a staleness marker. */
  counted: { readonly shape: Shape; readonly startNs: bigint; readonly timeNs: bigint } | null;
  /** The numbers of that point that may not fall within one stream, by their names. */
  totals: ReadonlyMap<string, number>;
}

const KINDS: readonly Kind[] = ['gauge', 'sum', 'histogram', 'summary'];
const DELTA = 1;
const CUMULATIVE = 2;
const NO_RECORDED_VALUE = 1;
/** Only this many findings are shown: many series often have the same one. */
const FOUND_SHOWN = 10;
/**
 * A point that comes this long after the one before may begin again: a series that is gone for an hour is forgotten, and
 * stamps may be a quarter of an hour off, on either side.
 */
export const FORGOTTEN_NS = 1_800_000_000_000n;
const COUNT_MAX = 2n ** 63n - 1n;

export class WireSanity {
  readonly #options: WireSanityOptions;
  readonly #tracks = new Map<string, Track>();
  #found: string[] = [];

  constructor(options: WireSanityOptions = {}) {
    this.#options = options;
  }

  /** Takes the next request of one sender. Returns what is wrong with it, alone or after the requests before. */
  take(request: MetricsRequestJson): readonly string[] {
    this.#found = [];
    for (const { resource, scopeMetrics = [] } of request.resourceMetrics ?? []) {
      const around = this.#attributes('a resource', resource?.attributes);
      this.#expectSome(`the resource ${around}`, scopeMetrics);
      for (const { scope, metrics = [] } of scopeMetrics) {
        const name = scope?.name ?? '';
        const within = `${around} ${name}${this.#attributes(`the scope ${name}`, scope?.attributes)}`;
        this.#expectSome(`the scope ${within}`, metrics);
        for (const metric of metrics) this.#takeMetric(metric, within);
      }
    }
    return this.#found;
  }

  #takeMetric(metric: MetricJson, within: string): void {
    const name = metric.name ?? '';
    if (name === '') this.#tell(within, 'a metric has no name');
    this.#attributes(`the metadata of ${name}`, metric.metadata);
    const kinds = KINDS.filter(kind => metric[kind] !== undefined);
    const [kind] = kinds;
    if (kind === undefined || kinds.length > 1)
      return this.#tell(name, `the metric has data of ${String(kinds.length)} kinds`);
    const data: Data = metric[kind] ?? {};
    const { dataPoints = [], aggregationTemporality = 0 } = data;
    this.#expectSome(`the metric ${name}`, dataPoints);
    const isStream = kind === 'sum' || kind === 'histogram';
    if (isStream && ![DELTA, CUMULATIVE].includes(aggregationTemporality))
      this.#tell(name, 'its temporality is not specified');
    const isMonotonic = kind === 'histogram' || metric.sum?.isMonotonic === true;
    const shape = { kind, isMonotonic, isDelta: aggregationTemporality === DELTA };
    for (const point of dataPoints) {
      const identity = `${name}${this.#attributes(`a point of ${name}`, point.attributes)} of ${within}`;
      this.#takePoint(point, shape, identity);
    }
  }

  #takePoint(point: AnyPoint, shape: Shape, identity: string): void {
    const tell = (words: string): void => this.#tell(identity, words);
    for (const exemplar of point.exemplars ?? []) this.#checkExemplar(exemplar, identity);
    const isMarker = ((point.flags ?? 0) & NO_RECORDED_VALUE) !== 0;
    if (shape.kind === 'gauge' || shape.kind === 'sum') checkNumber(point, isMarker, tell);
    if (shape.kind === 'histogram') checkHistogram(point, tell);
    if (shape.kind === 'summary') checkSummary(point, tell);
    if (shape.kind === 'sum' && shape.isDelta && shape.isMonotonic && doubleOf(point) < 0)
      tell(`its growth is ${String(doubleOf(point))}`);
    this.#checkTimes(point, { shape, identity, isMarker });
  }

  /** Compares a point with the earlier points of its identity. */
  #checkTimes(
    point: AnyPoint,
    facts: { readonly shape: Shape; readonly identity: string; readonly isMarker: boolean },
  ): void {
    const { shape, identity, isMarker } = facts;
    const tell = (words: string): void => this.#tell(identity, words);
    const timeNs = BigInt(point.timeUnixNano ?? '0');
    const startNs = BigInt(point.startTimeUnixNano ?? '0');
    if (timeNs === 0n) tell('it has no time');
    if (startNs > timeNs) tell(`it starts ${secondsBetween(timeNs, startNs)} after its time`);
    // A number and a distribution with the same name are two identities: one may end while the other begins.
    const isNumber = shape.kind === 'gauge' || shape.kind === 'sum';
    const track = this.#trackOf(`${isNumber ? 'number' : 'distribution'} ${identity}`);
    const text = JSON.stringify([shape, point]);
    // With deltas, the baseline at which time went back is not sent: the start of the next delta shows its time.
    const beganNs = shape.isDelta && !isMarker ? startNs : timeNs;
    const isBack = this.#options.mayGoBack === true && beganNs < track.lastNs;
    if (isBack) {
      track.counted = null;
      track.endedNs = 0n;
      for (const laterNs of track.points.keys())
        if (laterNs > beganNs) track.points.delete(laterNs);
    }
    const former = track.points.get(timeNs);
    if (former !== undefined) {
      const isResend = former === text && this.#options.mayResend === true;
      if (!isResend)
        tell(`its time came before, ${former === text ? 'with the same' : 'with another'} point`);
      return;
    }
    track.points.set(timeNs, text);
    if (!isBack && timeNs < track.lastNs)
      return tell(`it is ${secondsBetween(timeNs, track.lastNs)} older than the one before`);
    track.lastNs = timeNs;
    if (isMarker) {
      const ended = track.counted;
      const isOwn = ended !== null && startNs !== 0n && isAlike(ended.shape, shape);
      const ownNs = isOwn ? (shape.isDelta ? ended.timeNs : ended.startNs) : startNs;
      if (startNs < ownNs)
        tell(`a marker starts ${secondsBetween(startNs, ownNs)} before its stream`);
      if (track.endedNs > (track.counted?.timeNs ?? 0n)) tell('a marker follows a marker');
      track.endedNs = timeNs;
      return;
    }
    const { counted } = track;
    const isStream = shape.kind === 'sum' || shape.kind === 'histogram';
    const isSame = counted !== null && isAlike(counted.shape, shape);
    const totals = totalsOf(point, shape);
    if (isStream && isSame && startNs !== 0n && counted.startNs !== 0n) {
      const isNew = shape.isDelta || startNs !== counted.startNs;
      if (isNew && startNs < counted.timeNs)
        tell(`it starts ${secondsBetween(startNs, counted.timeNs)} before the one before ended`);
      else if (isNew && !shape.isDelta && startNs < track.endedNs)
        tell(`it starts ${secondsBetween(startNs, track.endedNs)} before the last marker`);
      // A first point whose start is unknown starts at its own time, and so does a stream that begins after it.
      const isFirst = counted.startNs === counted.timeNs;
      const isForgotten = timeNs - counted.timeNs >= FORGOTTEN_NS;
      const isComparable = !isNew && shape.isMonotonic && !isFirst && !isForgotten;
      for (const [name, total] of isComparable ? totals : [])
        if (total < (track.totals.get(name) ?? total))
          tell(
            `${name} falls from ${String(track.totals.get(name))} to ${String(total)}, its start stays`,
          );
    }
    track.counted = { shape, startNs, timeNs };
    track.totals = totals;
  }

  #trackOf(identity: string): Track {
    const known = this.#tracks.get(identity);
    if (known !== undefined) return known;
    const track = { points: new Map(), lastNs: 0n, endedNs: 0n, counted: null, totals: new Map() };
    this.#tracks.set(identity, track);
    return track;
  }

  #checkExemplar(exemplar: ExemplarJson, identity: string): void {
    this.#attributes(`an exemplar of ${identity}`, exemplar.filteredAttributes);
    for (const id of [exemplar.traceId ?? '', exemplar.spanId ?? ''])
      if (id !== '' && /^0*$/.test(id)) this.#tell(identity, 'an exemplar has an id of zeros');
  }

  /** The attributes as text, sorted. Reports keys that are empty or occur twice. */
  #attributes(owner: string, attributes: readonly KeyValueJson[] = []): string {
    const texts = new Map<string, string>();
    for (const { key = '', value } of attributes) {
      if (key === '') this.#tell(owner, 'an attribute has no key');
      if (texts.has(key)) this.#tell(owner, `the attribute ${key} stands twice`);
      texts.set(key, JSON.stringify(value ?? {}));
    }
    const sorted = [...texts].sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${sorted.map(([key, text]) => `${key}=${text}`).join(',')}}`;
  }

  #expectSome(what: string, items: readonly unknown[]): void {
    if (items.length === 0) this.#tell(what, 'it is empty');
  }

  #tell(what: string, words: string): void {
    this.#found.push(`${what}: ${words}`);
  }
}

type Tell = (words: string) => void;

function checkNumber(point: NumberPointJson, isMarker: boolean, tell: Tell): void {
  const values = [point.asDouble, point.asInt].filter(value => value !== undefined);
  if (!isMarker && values.length !== 1) tell(`it has ${String(values.length)} values`);
}

function checkHistogram(point: HistogramPointJson, tell: Tell): void {
  const { count = '0', bucketCounts = [], explicitBounds = [] } = point;
  checkCount('its count', count, tell);
  for (const bucket of bucketCounts) checkCount('a bucket', bucket, tell);
  const sum = bucketCounts.reduce((all, bucket) => all + BigInt(bucket), 0n);
  if (bucketCounts.length > 0 && sum !== BigInt(count))
    tell(`its buckets add up to ${String(sum)} instead of ${count}`);
  const isWhole = bucketCounts.length === explicitBounds.length + 1;
  if (!isWhole && bucketCounts.length + explicitBounds.length > 0)
    tell(`it has ${bucketCounts.length} buckets for ${explicitBounds.length} bounds`);
  const bounds = explicitBounds.map(Number);
  if (bounds.some(bound => Number.isNaN(bound) || bound === Infinity))
    tell(`its bounds are ${bounds.join(', ')}`);
  if (!isIncreasing(bounds)) tell(`its bounds do not increase: ${bounds.join(', ')}`);
}

function checkSummary({ count = '0', quantileValues = [] }: SummaryPointJson, tell: Tell): void {
  checkCount('its count', count, tell);
  const quantiles = quantileValues.map(({ quantile = 0 }) => Number(quantile));
  if (!quantiles.every(quantile => quantile >= 0 && quantile <= 1))
    tell(`its quantiles are ${quantiles.join(', ')}`);
  if (!isIncreasing(quantiles)) tell(`its quantiles do not increase: ${quantiles.join(', ')}`);
}

/** A negative count would be at least 2^63 on the wire, which is unsigned. */
function checkCount(name: string, count: string, tell: Tell): void {
  if (BigInt(count) < 0n || BigInt(count) > COUNT_MAX) tell(`${name} is ${count}`);
}

function isIncreasing(numbers: readonly number[]): boolean {
  return numbers.every((number, i) => i === 0 || !(number <= (numbers[i - 1] ?? Number.NaN)));
}

function isAlike(a: Shape, b: Shape): boolean {
  return a.kind === b.kind && a.isDelta === b.isDelta && a.isMonotonic === b.isMonotonic;
}

/** The numbers that may not fall within a cumulative, monotonic stream. A NaN never counts as a fall. */
function totalsOf(point: AnyPoint, { kind }: Shape): ReadonlyMap<string, number> {
  if (kind === 'sum') return new Map([['its value', doubleOf(point)]]);
  if (kind !== 'histogram') return new Map();
  const totals = new Map([['its count', Number(point.count ?? 0)]]);
  let below = 0;
  for (const [i, bound] of (point.explicitBounds ?? []).entries())
    totals.set(`what is up to ${String(bound)}`, (below += Number(point.bucketCounts?.[i] ?? 0)));
  return totals;
}

function doubleOf({ asDouble, asInt }: NumberPointJson): number {
  const value: JsonDouble | undefined = asInt === undefined ? asDouble : Number(asInt);
  return value === undefined ? Number.NaN : Number(value);
}

function secondsBetween(fromNs: bigint, toNs: bigint): string {
  return `${String(Number(toNs - fromNs) / 1e9)} s`;
}

/** Throws when a request is not sane. */
export function expectSane(sanity: WireSanity, request: MetricsRequestJson): void {
  throwFound(sanity.take(request));
}

/** Decodes a single request with the oracle; throws when it is not sane. */
export function saneMetrics(bytes: Uint8Array): MetricsRequestJson {
  const request = oracleDecodeMetrics(bytes);
  expectSane(new WireSanity(), request);
  return request;
}

/** Checks all requests that a back end of the tests receives, and reports at its end, when a test can still fail. */
export class WireGate {
  #sanity: WireSanity;
  readonly #options: WireSanityOptions;
  readonly #found: string[] = [];

  constructor(options: WireSanityOptions = {}) {
    this.#options = options;
    this.#sanity = new WireSanity(options);
  }

  take(request: MetricsRequestJson): void {
    this.#found.push(...this.#sanity.take(request));
  }

  /** From now on, another process sends, which does not continue the streams of the one before. */
  anotherSender(): void {
    this.#sanity = new WireSanity(this.#options);
  }

  /** Throws when anything was wrong since the last call. */
  expectSane(): void {
    throwFound(this.#found.splice(0));
  }
}

function throwFound(found: readonly string[]): void {
  if (found.length === 0) return;
  const more = found.length > FOUND_SHOWN ? `\n  and ${found.length - FOUND_SHOWN} more` : '';
  throw new Error(`the wire is not sane:\n  ${found.slice(0, FOUND_SHOWN).join('\n  ')}${more}`);
}

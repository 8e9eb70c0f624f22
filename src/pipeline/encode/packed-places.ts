// Says of the points of a template, block by block, what of their bytes varies: numbers, and times, which are units that
// many points share (lib/deflate/matches.ts). In: a template whose bytes hold a page. Out: the symbols of each block, and
// the columns of a packed template that are by point.

import { NUMBER, UNITS, UNITS_MAX, WIDTH } from '../../lib/deflate/matches.ts';
import {
  type CompoundTails,
  FORM,
  NO_UNIT,
  type PayloadTemplate,
  type TemplateBlock,
} from '../../repeating.ts';

/** A number or time and the tag before it. */
const SLOT = 9;
const START_TAG = 0x11;
const HISTOGRAM_SUM_TAG = 0x29;
const PACKED_COUNTS_TAG = 0x32;
const QUANTILE_TAG = 0x32;

/** No field begins with it: here the quantiles of a summary end. */
const TAIL_END = Buffer.alloc(1);

const NONE = { low: 0, high: 0, unit: NO_UNIT };

/** What is known of a block once its points were gone through. */
export interface BlockPlaces {
  /** By byte of the block; valid until the next block. */
  readonly symbols: Uint16Array;
  /** The bytes of the block, with zeros in the place of all that varies; valid until the next block. */
  readonly constant: Buffer;
  readonly firstUnit: number;
  readonly unitCount: number;
  readonly firstCompound: number;
}

export class Places {
  readonly startUnits: Uint16Array;
  readonly timeUnits: Uint16Array;
  /** See PackedTemplate. */
  readonly unitPoints: number[] = [];
  readonly isStart: number[] = [];
  readonly #template: PayloadTemplate;
  #symbols = new Uint16Array(0);
  #constant = Buffer.alloc(0);
  /** Units of the block by kind and time. */
  readonly #units = new Map<string, number>();
  /** Mostly a point has the times of the one before. */
  readonly #last = { start: { ...NONE }, time: { ...NONE } };
  #block: TemplateBlock | null = null;
  readonly #tails: Buffer[] = [];
  #tailsLength = 0;
  readonly #tailOffsets: Uint32Array;
  readonly #places: number[] = [];
  readonly #ends: number[] = [];

  constructor(template: PayloadTemplate) {
    this.#template = template;
    const { length } = template.rows;
    this.startUnits = new Uint16Array(length).fill(NO_UNIT);
    this.timeUnits = new Uint16Array(length);
    const hasCompounds = template.forms.some(isCompound);
    this.#tailOffsets = new Uint32Array(hasCompounds ? length : 0);
  }

  /** Null when a block has more different times than can be told apart. */
  block(block: TemplateBlock): BlockPlaces | null {
    const { bytes } = this.#template;
    const { offset, length, firstPoint, pointCount } = block;
    if (length > this.#symbols.length) {
      this.#symbols = new Uint16Array(length);
      this.#constant = Buffer.alloc(length);
    }
    this.#symbols.set(bytes.subarray(offset, offset + length));
    this.#constant.set(bytes.subarray(offset, offset + length));
    this.#block = block;
    this.#units.clear();
    this.#last.start.unit = NO_UNIT;
    this.#last.time.unit = NO_UNIT;
    const firstUnit = this.unitPoints.length;
    const firstCompound = this.#ends.length;
    for (let point = firstPoint; point < firstPoint + pointCount; point++) this.#point(point);
    const unitCount = this.#units.size;
    if (unitCount > UNITS_MAX) return null;
    const constant = this.#constant.subarray(0, length);
    return { symbols: this.#symbols, constant, firstUnit, unitCount, firstCompound };
  }

  /** The bytes of compounds, and where in them numbers stand; complete after the last block. */
  compounds(): CompoundTails {
    const bytes = Buffer.concat(this.#tails);
    return {
      bytes,
      view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
      offsets: this.#tailOffsets,
      forms: this.#tailOffsets.length === 0 ? new Uint8Array(0) : this.#template.forms,
      places: Uint32Array.from(this.#places),
      ends: Uint32Array.from(this.#ends),
    };
  }

  #point(point: number): void {
    const { bytes, offsets, forms } = this.#template;
    const form = forms[point] ?? 0;
    let at = offsets[point] ?? 0;
    if (bytes[at] === START_TAG) {
      this.startUnits[point] = this.#unit('start', point, at + 1);
      at += SLOT;
    }
    this.timeUnits[point] = this.#unit('time', point, at + 1);
    at += SLOT;
    if (isCompound(form)) this.#compound(point, at);
    else this.#number(at + 1);
  }

  /** Histogram: count, sum if it has one, n + 1 counts. Summary: count, sum, quantiles with a value each. */
  #compound(point: number, start: number): void {
    const { bytes, offsets, forms } = this.#template;
    const times = offsets[point] ?? 0;
    let from = times;
    const isHistogram = forms[point] === FORM.histogram;
    const numbers = [start + 1];
    let at = start + SLOT;
    if (!isHistogram || bytes[at] === HISTOGRAM_SUM_TAG) {
      numbers.push(at + 1);
      at += SLOT;
    }
    if (isHistogram && bytes[at] === PACKED_COUNTS_TAG) {
      let length = 0;
      let shift = 0;
      for (at++; ; shift += 7) {
        const byte = bytes[at++] ?? 0;
        length |= (byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      // The bounds stand before the times: they are kept to be compared.
      from -= length - WIDTH;
      for (const end = at + length; at < end; at += WIDTH) numbers.push(at);
    } else {
      // Tag, length, quantile, tag, value.
      for (; bytes[at] === QUANTILE_TAG; at += 2 + 2 * SLOT) numbers.push(at + 2 + SLOT + 1);
    }
    this.#tailOffsets[point] = this.#tailsLength + times - from;
    for (const place of numbers) {
      this.#number(place);
      this.#places.push(this.#tailsLength + place - from);
    }
    this.#ends.push(this.#places.length);
    this.#tails.push(bytes.subarray(from, at), TAIL_END);
    this.#tailsLength += at - from + TAIL_END.length;
  }

  #number(place: number): void {
    const at = place - (this.#block?.offset ?? 0);
    this.#symbols.fill(NUMBER, at, at + WIDTH);
    this.#constant.fill(0, at, at + WIDTH);
  }

  /** The unit of the time at `place`: that of the points before with the same time. */
  #unit(kind: 'start' | 'time', point: number, place: number): number {
    const { view } = this.#template;
    const low = view.getInt32(place, true);
    const high = view.getInt32(place + 4, true);
    const last = this.#last[kind];
    if (low !== last.low || high !== last.high || last.unit === NO_UNIT)
      Object.assign(last, { low, high, unit: this.#unitOf(kind, point, `${kind} ${low} ${high}`) });
    const at = place - (this.#block?.offset ?? 0);
    const symbol = UNITS + last.unit * WIDTH;
    for (let i = 0; i < WIDTH; i++) this.#symbols[at + i] = symbol + i;
    this.#constant.fill(0, at, at + WIDTH);
    return last.unit;
  }

  #unitOf(kind: 'start' | 'time', point: number, key: string): number {
    const known = this.#units.get(key);
    if (known !== undefined) return known;
    const unit = this.#units.size;
    this.#units.set(key, unit);
    this.unitPoints.push(point);
    this.isStart.push(kind === 'start' ? 1 : 0);
    return unit;
  }
}

function isCompound(form: number): boolean {
  return form === FORM.histogram || form === FORM.summary;
}

// Makes a template of a payload that was encoded in full: walks the protobuf once and notes where the numbers of
// each point are. In: the table, and the payload of this page. Out: a PayloadTemplate, or null where the payload
// cannot be patched (markers, exemplars, repeated samples). A template has proven itself: writing this page's
// numbers into it must give the same bytes.

import { FATE, type SeriesTable } from '../../model/series-table.ts';
import { FORM, type PayloadTemplate, type TemplateBlock } from '../../model/memory.ts';
import { patchPoints } from './patch.ts';
import { WireReader } from './wire-reader.ts';

// Fields of the messages that are walked through; see encode.ts and points.ts.
const RESOURCE_METRICS = 1;
const SCOPE_METRICS = 2;
const METRICS = 2;
const DATA_POINTS = 1;
/** Field of a metric's data to the fields that may come before a point's times, and its form. */
const DATA: Readonly<
  Record<number, { readonly before: readonly number[]; readonly form: number }>
> = {
  5: { before: [7], form: FORM.number },
  7: { before: [7], form: FORM.number },
  9: { before: [9, 7], form: FORM.histogram },
  11: { before: [7], form: FORM.summary },
};
const START_FIELD = 2;
const TIME_FIELD = 3;

/** How many points are walked through before the event loop gets its turn. */
const SLICE_POINTS = 2048;

/**
 * Notes the places in `payload`, which is copied; it must hold exactly the points of this page, and stay as it is
 * until the end. Yields between slices.
 */
export function* makeTemplate(
  table: SeriesTable,
  payload: Buffer,
): Generator<void, PayloadTemplate | null> {
  if (table.exemplars.size > 0 || table.repeats.length > 0) return null;
  const rows = table.order.filter(row => table.fate[row] === FATE.point);
  const walk = new Walk(payload, rows, table);
  if (!(yield* walk.run())) return null;
  const bytes = Buffer.from(payload);
  const template: PayloadTemplate = {
    bytes,
    view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
    blocks: walk.blocks,
    rows,
    offsets: walk.offsets,
    forms: walk.forms,
  };
  for (let from = 0; from < rows.length; from += SLICE_POINTS) {
    if (!patchPoints(table, template, from, Math.min(from + SLICE_POINTS, rows.length)))
      return null;
    yield;
  }
  return bytes.equals(payload) ? template : null;
}

class Walk {
  readonly blocks: TemplateBlock[] = [];
  readonly offsets: Uint32Array;
  readonly forms: Uint8Array;
  readonly #reader: WireReader;
  readonly #rows: Uint32Array;
  readonly #table: SeriesTable;
  #point = 0;

  constructor(payload: Buffer, rows: Uint32Array, table: SeriesTable) {
    this.#reader = new WireReader(payload, 'a payload of our own');
    this.#rows = rows;
    this.#table = table;
    this.offsets = new Uint32Array(rows.length);
    this.forms = new Uint8Array(rows.length);
  }

  /** False when the payload is not what the rows say. */
  *run(): Generator<void, boolean> {
    const reader = this.#reader;
    let sliceEnd = SLICE_POINTS;
    while (!reader.isAtEnd) {
      if (this.#point >= sliceEnd) {
        sliceEnd = this.#point + SLICE_POINTS;
        yield;
      }
      const offset = reader.offset;
      const firstPoint = this.#point;
      if (!this.#enterOnly(RESOURCE_METRICS, () => this.#resourceMetrics())) return false;
      const head = this.#rows[firstPoint];
      if (head === undefined) return false;
      const block = this.#table.block[head]!;
      const { service } = this.#table.blocks[block]!;
      const pointCount = this.#point - firstPoint;
      const length = reader.offset - offset;
      this.blocks.push({ block, service, offset, length, firstPoint, pointCount });
    }
    return this.#point === this.#rows.length;
  }

  #resourceMetrics(): boolean {
    return this.#eachField(field =>
      field === SCOPE_METRICS ? this.#enter(() => this.#scopeMetrics()) : null,
    );
  }

  #scopeMetrics(): boolean {
    return this.#eachField(field => (field === METRICS ? this.#enter(() => this.#metric()) : null));
  }

  #metric(): boolean {
    return this.#eachField(field => {
      const data = DATA[field];
      if (data === undefined) return null;
      return this.#enter(() =>
        this.#eachField(inner =>
          inner === DATA_POINTS ? this.#enter(() => this.#dataPoint(data)) : null,
        ),
      );
    });
  }

  /** Notes where the times begin. Before them only bounds may change: patch.ts compares those. */
  #dataPoint(data: { readonly before: readonly number[]; readonly form: number }): boolean {
    const reader = this.#reader;
    while (!reader.isAtEnd) {
      const offset = reader.offset;
      const tag = reader.tag();
      const field = tag >>> 3;
      if (field === START_FIELD || field === TIME_FIELD) {
        const isStarted = data.form === FORM.number && field === START_FIELD;
        this.offsets[this.#point] = offset;
        this.forms[this.#point] = isStarted ? FORM.numberWithStart : data.form;
        this.#point++;
        reader.offset = reader.end;
        return true;
      }
      if (!data.before.includes(field)) return false;
      reader.skip(tag & 7);
    }
    return false;
  }

  /** Goes through the fields of a message; `visit` says null for one to pass over. */
  #eachField(visit: (field: number) => boolean | null): boolean {
    const reader = this.#reader;
    while (!reader.isAtEnd) {
      const tag = reader.tag();
      const isGood = visit(tag >>> 3);
      if (isGood === false) return false;
      if (isGood === null) reader.skip(tag & 7);
    }
    return true;
  }

  #enterOnly(field: number, visit: () => boolean): boolean {
    return this.#reader.tag() >>> 3 === field && this.#enter(visit);
  }

  #enter(visit: () => boolean): boolean {
    const outerEnd = this.#reader.enter();
    const isGood = visit();
    this.#reader.leave(outerEnd);
    return isGood;
  }
}

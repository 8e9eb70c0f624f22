// Writes blocks of a packed template as deflate, with the numbers of this page. Nothing is searched for repetitions: the
// bits of what is known are copied, numbers are put between them as literals, and the checksum follows from the numbers
// alone (lib/deflate/crc.ts). A part is a run of whole bytes that can be put behind any other part:
//
//   header with the codes │ bits of its blocks │ end of block │ empty stored block, up to a whole byte
//
// RFC 1951. What stands where is drawn in repeating.ts.

import { BitWriter } from '../../lib/deflate/bits.ts';
import { absorb, shift } from '../../lib/deflate/crc.ts';
import { LENGTH_MAX, LENGTH_MIN, putEntry } from '../../lib/deflate/repeats.ts';
import { FATE, type PackedPart, type SeriesTable } from '../../model.ts';
import { FORM, NO_UNIT, type PackedBlock, type PackedTemplate } from '../../repeating.ts';
import { patchCompound } from './patch.ts';
import { alikeAbove, alikeBelow, NUMBER_BYTES } from './alike.ts';
import { putDouble, putTimeMs } from './wire.ts';

const END_OF_BLOCK = 256;
/** Eight codes of 15 bits, or two repetitions. */
const NUMBER_BITS_MAX = 8 * 15 + 2 * (20 + 27);
const ENDING_BITS_MAX = 15 + 3 + 7 + 32;
const NUMBERS_MIN = 256;

/** The part that is being written. */
interface OpenPart {
  readonly service: string;
  readonly offset: number;
  readonly start: number;
  points: number;
  length: number;
  register: number;
}

/** Memory for packing pages one after the other: begin, add block by block, end. */
export class Packer {
  readonly #bits = new BitWriter();
  /** Numbers of one block, and its units, as they stand in the payload. */
  #numbers = new DataView(new ArrayBuffer(NUMBERS_MIN * NUMBER_BYTES));
  #units = new DataView(new ArrayBuffer(NUMBERS_MIN * NUMBER_BYTES));
  #unitMs = new Float64Array(NUMBERS_MIN);
  #parts: PackedPart[] = [];
  #open: OpenPart | null = null;
  #table: SeriesTable | null = null;
  #template: PackedTemplate | null = null;

  begin(table: SeriesTable, template: PackedTemplate): void {
    this.#bits.reset();
    this.#parts = [];
    this.#open = null;
    this.#table = table;
    this.#template = template;
  }

  /** Writes a block; false when its points are not those of the template. */
  add(block: PackedBlock): boolean {
    const [table, template] = [this.#table, this.#template];
    if (table === null || template === null) return false;
    if (!this.#takeUnits(table, template, block)) return false;
    if (!this.#takeNumbers(table, template, block)) return false;
    const part = this.#partOf(table, template, block);
    part.register = shift(part.register, block.length) ^ this.#write(template, block);
    part.points += block.pointCount;
    part.length += block.length;
    return true;
  }

  /** Everything since begin(); valid until the next one. */
  end(): { readonly bytes: Buffer; readonly parts: readonly PackedPart[] } {
    this.#endPart();
    const parts = this.#parts;
    this.#table = null;
    this.#template = null;
    return { bytes: this.#bits.bytesFrom(0), parts };
  }

  /** Reads the time of each unit from the point that stands for it; false when one has none. */
  #takeUnits(table: SeriesTable, template: PackedTemplate, block: PackedBlock): boolean {
    const { firstUnit, unitCount } = block;
    if (unitCount > this.#unitMs.length) {
      this.#unitMs = new Float64Array(2 * unitCount);
      this.#units = new DataView(new ArrayBuffer(2 * unitCount * NUMBER_BYTES));
    }
    for (let unit = 0; unit < unitCount; unit++) {
      const row = template.rows[template.unitPoints[firstUnit + unit] ?? 0] ?? 0;
      const times = template.isStart[firstUnit + unit] === 1 ? table.startMs : table.timeMs;
      const timeMs = times[row] ?? Number.NaN;
      if (Number.isNaN(timeMs)) return false;
      this.#unitMs[unit] = timeMs;
      putTimeMs(this.#units, unit * NUMBER_BYTES, timeMs);
    }
    return true;
  }

  /** Takes the numbers of all points; false when one has not the times of its units, or another form. */
  #takeNumbers(table: SeriesTable, template: PackedTemplate, block: PackedBlock): boolean {
    const { rows, forms, startUnits, timeUnits } = template;
    const { fate, value, timeMs, startMs } = table;
    const { firstPoint, pointCount, chunkCount } = block;
    if (chunkCount * NUMBER_BYTES > this.#numbers.byteLength)
      this.#numbers = new DataView(new ArrayBuffer(2 * chunkCount * NUMBER_BYTES));
    const numbers = this.#numbers;
    const unitMs = this.#unitMs;
    let at = 0;
    let compound = block.firstCompound;
    for (let point = firstPoint; point < firstPoint + pointCount; point++) {
      const row = rows[point] ?? 0;
      if (fate[row] !== FATE.point) return false;
      if (timeMs[row] !== unitMs[timeUnits[point] ?? NO_UNIT]) return false;
      const startUnit = startUnits[point] ?? NO_UNIT;
      const start = startMs[row] ?? Number.NaN;
      if (startUnit === NO_UNIT ? !Number.isNaN(start) : start !== unitMs[startUnit]) return false;
      const form = forms[point] ?? 0;
      if (form === FORM.number || form === FORM.numberWithStart) {
        putDouble(numbers, at, value[row] ?? 0);
        at += NUMBER_BYTES;
      } else {
        if (!patchCompound(table, template.compounds, point, row)) return false;
        at = this.#takeCompound(template, compound++, at);
      }
    }
    return true;
  }

  /** Copies the numbers of a histogram or summary from its patched bytes; gives where they end. */
  #takeCompound({ compounds }: PackedTemplate, compound: number, start: number): number {
    const { view, places, ends } = compounds;
    let at = start;
    for (let i = ends[compound - 1] ?? 0; i < (ends[compound] ?? 0); i++) {
      const place = places[i] ?? 0;
      this.#numbers.setInt32(at, view.getInt32(place, true), true);
      this.#numbers.setInt32(at + 4, view.getInt32(place + 4, true), true);
      at += NUMBER_BYTES;
    }
    return at;
  }

  /** Chunks and numbers in turn; gives the register of the block's bytes. */
  #write(template: PackedTemplate, block: PackedBlock): number {
    const { codes, lengths, chunks } = template;
    const { words, bitCounts, gaps, mixes } = chunks;
    // Columns are named one by one: what a call may change is looked up anew after every one.
    const { lengths: headLengths, distances: headDistances, sources: headSources } = chunks.heads;
    const { lengths: tailLengths, distances: tailDistances, sources: tailSources } = chunks.tails;
    const { firstChunk, chunkCount, unitChunks, register } = block;
    const bits = this.#bits;
    const numbers = this.#numbers;
    bits.reserve(32 * block.wordCount + NUMBER_BITS_MAX * (chunkCount + 1));
    const mixed = block.mixes.map(mix => this.#registerOf(mix));
    let varying = 0;
    let word = block.firstWord;
    let at = 0;
    let units = 0;
    let unitChunk = unitChunks[0]?.chunk ?? -1;
    // How many of the last number's bytes the chunk's head covers.
    let covered = 0;
    for (let chunk = firstChunk; ; chunk++) {
      const head = (headLengths[chunk] ?? 0) + covered;
      if (head > 0) {
        putEntry(bits, lengths[head] ?? 0);
        putEntry(bits, headDistances[chunk] ?? 0);
      }
      const count = bitCounts[chunk] ?? 0;
      bits.putWords(words, word, count);
      word += (count + 31) >>> 5;
      varying = shift(varying, gaps[chunk] ?? 0);
      const mix = mixes[chunk] ?? 0;
      if (mix > 0) varying ^= mixed[mix - 1] ?? 0;
      if (chunk === firstChunk + chunkCount) return register ^ varying;
      if (chunk - firstChunk === unitChunk) {
        const from = (unitChunks[units++]?.unit ?? 0) * NUMBER_BYTES;
        unitChunk = unitChunks[units]?.chunk ?? -1;
        const low = this.#units.getInt32(from, true);
        const high = this.#units.getInt32(from + 4, true);
        bits.putLiterals(codes, low, high, 0, NUMBER_BYTES);
        varying = absorb(varying, low, high);
        continue;
      }
      const low = numbers.getInt32(at, true);
      const high = numbers.getInt32(at + 4, true);
      at += NUMBER_BYTES;
      varying = absorb(varying, low, high);
      let from = 0;
      const tail = tailLengths[chunk] ?? 0;
      if (tail > 0) {
        from = Math.min(alikeBelow(numbers, tailSources[chunk] ?? 0, low, high), LENGTH_MAX - tail);
        putEntry(bits, lengths[tail + from] ?? 0);
        putEntry(bits, tailDistances[chunk] ?? 0);
      }
      covered = 0;
      if (headDistances[chunk + 1] !== 0) {
        const next = headLengths[chunk + 1] ?? 0;
        const most = Math.min(NUMBER_BYTES - from, LENGTH_MAX - next);
        covered = Math.min(alikeAbove(numbers, headSources[chunk + 1] ?? 0, low, high), most);
        if (next + covered < LENGTH_MIN) covered = 0;
      }
      bits.putLiterals(codes, low, high, from, NUMBER_BYTES - covered);
    }
  }

  /** What units that stand before a number add to the register there. */
  #registerOf(mix: PackedBlock['mixes'][number]): number {
    let register = 0;
    for (const { unit, distance } of mix) {
      const low = this.#units.getInt32(unit * NUMBER_BYTES, true);
      const high = this.#units.getInt32(unit * NUMBER_BYTES + 4, true);
      register ^= shift(absorb(0, low, high), distance);
    }
    return register;
  }

  /** The open part, or a new one where another service begins. */
  #partOf(table: SeriesTable, template: PackedTemplate, block: PackedBlock): OpenPart {
    const service = table.services[block.service]?.id ?? '';
    if (this.#open?.service === service) return this.#open;
    this.#endPart();
    const last = this.#parts.at(-1);
    const offset = last === undefined ? 0 : last.offset + last.length;
    const start = this.#bits.bitLength;
    const { words, bits } = template.header;
    this.#bits.reserve(bits);
    this.#bits.putWords(words, 0, bits);
    return (this.#open = { service, offset, start, points: 0, length: 0, register: 0 });
  }

  #endPart(): void {
    const part = this.#open;
    const template = this.#template;
    if (part === null || template === null) return;
    const bits = this.#bits;
    const end = template.codes[END_OF_BLOCK] ?? 0;
    bits.reserve(ENDING_BITS_MAX);
    bits.put(end & 0xffff, end >>> 16);
    // Stored, without a byte: its length and the complement of that.
    bits.put(0, 3);
    bits.align();
    bits.put(0, 16);
    bits.put(0xffff, 16);
    const { service, points, offset, length, register } = part;
    const place = { start: part.start >>> 3, end: bits.bitLength >>> 3 };
    this.#parts.push({ service, points, offset, length, register, ...place });
    this.#open = null;
  }
}

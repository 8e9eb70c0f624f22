// Makes a packed template of a template: finds once what repeats in its payload, and keeps the bits of that. In: a table
// whose template holds this page, and the batch that patch.ts made of it. Out: a PackedTemplate, or null where packing
// does not do or does not pay: it is larger than what zlib makes at level 1. A packed template has proven itself: what it
// makes of this page inflates to the same batch.

import { crc32, constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { BitWriter } from '../../lib/deflate/bits.ts';
import { finish, registerOf, shiftTables } from '../../lib/deflate/crc.ts';
import { type Codes, HEADER_BITS_MAX, putHeader } from '../../lib/deflate/huffman.ts';
import { Matcher } from '../../lib/deflate/matches.ts';
import { lengthEntries } from '../../lib/deflate/repeats.ts';
import type { Batch, PackedPart, SeriesTable } from '../../model.ts';
import type {
  PackedBlock,
  PackedTemplate,
  PayloadTemplate,
  TemplateBlock,
} from '../../repeating.ts';
import { pack } from './pack.ts';
import { ChunkCollector } from './packed-chunks.ts';
import type { Packer } from './packer.ts';
import { Places } from './packed-places.ts';

/** Bytes, and the end of a block. */
const LITERALS = 257;

/** What packing needs beside the table. */
export interface Packing {
  /** Memory that all targets share: one page is packed at a time. */
  readonly packer: Packer;
  /** A service that takes more, uncompressed, is not packed: it could not be sent in one piece. */
  readonly partBytesMax: number;
  /** It pays up to this size, as a multiple of what zlib makes at level 1. */
  readonly ratioMax: number;
}

/** Yields between slices. */
export function* makePacked(
  table: SeriesTable,
  batch: Batch,
  { packer, partBytesMax, ratioMax }: Packing,
): Generator<void, PackedTemplate | null> {
  const { template } = table;
  if (template === null || batch.parts.some(({ length }) => length > partBytesMax)) return null;
  const packed = yield* compile(template, table.page);
  if (packed === null) return null;
  table.packed = packed;
  const proof = yield* pack(table, packer, batch.madeAtMs);
  table.packed = null;
  if (proof?.parts.length !== batch.parts.length) return null;
  let packedBytes = 0;
  let deflatedBytes = 0;
  for (const part of proof.parts) {
    const bytes = batch.payload.subarray(part.offset, part.offset + part.length);
    if (!isPacked(part, proof.packed.subarray(part.start, part.end), bytes)) return null;
    yield;
    packedBytes += part.end - part.start;
    deflatedBytes += deflateRawSync(bytes, { level: 1 }).length;
    yield;
  }
  return packedBytes <= ratioMax * deflatedBytes ? packed : null;
}

/** Whether a part inflates to these bytes, and has their checksum. */
function isPacked(part: PackedPart, packed: Buffer, bytes: Buffer): boolean {
  const inflated = inflateRawSync(packed, { finishFlush: constants.Z_SYNC_FLUSH });
  return inflated.equals(bytes) && finish(part.register, part.length) === crc32(bytes);
}

function* compile(
  template: PayloadTemplate,
  madePage: number,
): Generator<void, PackedTemplate | null> {
  yield* shiftTables();
  const places = new Places(template);
  const chunks = new ChunkCollector();
  const matcher = new Matcher();
  const drafts: Omit<PackedBlock, 'firstWord' | 'wordCount'>[] = [];
  for (const block of template.blocks) {
    const found = places.block(block);
    if (found === null) return null;
    yield;
    const { symbols, constant, ...counts } = found;
    const bytes = template.bytes.subarray(block.offset, block.offset + block.length);
    const firstChunk = chunks.length;
    chunks.begin(symbols, bytes);
    yield* matcher.run(symbols, bytes, chunks);
    chunks.end();
    if (!chunks.isGood) return null;
    yield;
    const chunkCount = chunks.length - firstChunk - 1;
    const { unitChunks, blockMixes: mixes } = chunks;
    const register = registerOf(crc32(constant), block.length);
    drafts.push({ ...block, ...counts, firstChunk, chunkCount, unitChunks, mixes, register });
    yield;
  }
  const { literals, distances } = chunks.codes(countParts(template.blocks));
  const columns = yield* chunks.encode(literals, distances);
  if (columns === null) return null;
  const { rows, forms } = template;
  return {
    madePage,
    rows,
    forms,
    startUnits: places.startUnits,
    timeUnits: places.timeUnits,
    unitPoints: Uint32Array.from(places.unitPoints),
    isStart: Uint8Array.from(places.isStart),
    blocks: placeWords(drafts, columns.bitCounts),
    chunks: columns,
    compounds: places.compounds(),
    codes: literals.subarray(0, LITERALS),
    lengths: lengthEntries(literals),
    header: headerOf(literals, distances),
  };
}

/** Every chunk begins with a word of its own. */
function placeWords(
  drafts: readonly Omit<PackedBlock, 'firstWord' | 'wordCount'>[],
  bitCounts: Uint16Array,
): PackedBlock[] {
  let firstWord = 0;
  return drafts.map(draft => {
    let wordCount = 0;
    for (let chunk = draft.firstChunk; chunk <= draft.firstChunk + draft.chunkCount; chunk++)
      wordCount += ((bitCounts[chunk] ?? 0) + 31) >>> 5;
    firstWord += wordCount;
    return { ...draft, firstWord: firstWord - wordCount, wordCount };
  });
}

function headerOf(literals: Codes, distances: Codes): PackedTemplate['header'] {
  const bits = new BitWriter();
  bits.reserve(HEADER_BITS_MAX);
  putHeader(bits, literals, distances);
  return { words: bits.words(), bits: bits.bitLength };
}

/** Services: each is a part. */
function countParts(blocks: readonly TemplateBlock[]): number {
  return blocks.filter(({ service }, i) => service !== blocks[i - 1]?.service).length;
}

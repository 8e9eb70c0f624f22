import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { SpoolFile } from '../../src/lib/spool-file.ts';
import {
  archiveEntries,
  ArchiveError,
  type ArchiveLimits,
  formOf,
  PIECE_BYTES,
} from '../../src/logs/archive.ts';
import { useDirectory } from '../support/temporary-directory.ts';
import { zip } from '../../src/simulator/logs-endpoint.ts';

const MIB = 1024 * 1024;
const LIMITS: ArchiveLimits = { unpackedBytes: 64 * MIB, ratio: 200, entries: 3 };

const directory = useDirectory();

/** Each entry as its name with its text, or with the fault that ends it. */
async function read(archive: Buffer, limits: Partial<ArchiveLimits> = {}): Promise<string[]> {
  const spool = await SpoolFile.create(directory.path);
  spool.write(archive);
  await spool.end();
  const found: string[] = [];
  try {
    for await (const { name, pieces } of archiveEntries(spool, { ...LIMITS, ...limits }))
      found.push(`${name}=${await textOf(pieces())}`);
  } catch (error) {
    found.push(faultOf(error));
  } finally {
    await spool.close();
  }
  return found;
}

async function textOf(pieces: AsyncIterable<Buffer>): Promise<string> {
  let bytes = 0;
  const parts: Buffer[] = [];
  try {
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes < 1000) parts.push(piece);
    }
  } catch (error) {
    return `${bytes}!${faultOf(error)}`;
  }
  return bytes < 1000 ? Buffer.concat(parts).toString() : `${bytes} bytes`;
}

function faultOf(error: unknown): string {
  if (error instanceof ArchiveError) return error.fault;
  throw error;
}

/** Within a piece of the packed bytes, and over several. */
const ZEROS = [1, 512, 200_000].map(bytes => Buffer.alloc(bytes));

const entry = (name: string, text: string): { name: string; bytes: Buffer } => ({
  name,
  bytes: Buffer.from(text),
});

test.each([
  ['', 'plain'],
  [zip([entry('a', 'x')]), 'zip'],
  [zip([]), 'zip'],
  [gzipSync('x'), 'gzip'],
  ['PKs are lines, too', 'plain'],
  ['2026-03-04  9:05:33 0 [Note] x', 'plain'],
])('the first bytes identify the format: %s', (first, form) =>
  expect(formOf(Buffer.from(first))).toBe(form),
);

describe('a good archive', () => {
  test('returns its entries in order, packed or stored', async () => {
    const stored = { ...entry('dir/b.log', 'two'), isStored: true };
    expect(await read(zip([entry('a.log', 'one'), stored, entry('empty', '')]))).toEqual([
      'a.log=one',
      'dir/b.log=two',
      'empty=',
    ]);
    expect(await read(gzipSync('text'))).toEqual(['=text']);
    expect(await read(Buffer.from('text'))).toEqual(['=text']);
    expect(await read(Buffer.alloc(0))).toEqual([]);
    expect(await read(zip([]))).toEqual([]);
  });

  test('may be gzip in several members, with zeros after the last one', async () => {
    expect(await read(Buffer.concat([gzipSync('a'), gzipSync('b')]))).toEqual(['=ab']);
    for (const zeros of ZEROS)
      expect(await read(Buffer.concat([gzipSync('a'), zeros]))).toEqual(['=a']);
  });

  test('may use any entry names: names lead nowhere', async () => {
    const names = ['../../etc/passwd', '/root', 'C:\\x'];
    const archive = zip(names.map(name => entry(name, 'x')));
    expect(await read(archive)).toEqual(names.map(name => `${name}=x`));
    expect(await read(zip([entry('same', '1'), entry('same', '2')]))).toEqual([
      'same=1',
      'same#2=2',
    ]);
    expect(await read(zip([entry('dir/', ''), entry('dir/a', 'x')]))).toEqual(['dir/a=x']);
  });

  test('may declare any size: actual bytes count', async () => {
    const archive = zip([{ ...entry('a', 'four'), declaredBytes: 2 ** 31 }, entry('b', 'x')]);
    expect(await read(archive)).toEqual(['a=four', 'b=x']);
  });

  test('may be read again', async () => {
    const spool = await SpoolFile.create(directory.path);
    spool.write(zip([{ name: 'a', bytes: Buffer.alloc(MIB, 'x\n') }]));
    await spool.end();
    for await (const { pieces } of archiveEntries(spool, { ...LIMITS, unpackedBytes: MIB })) {
      for await (const piece of pieces()) if (piece.length > 0) break;
      expect(await textOf(pieces())).toBe(`${MIB} bytes`);
      expect(await textOf(pieces())).toBe(`${MIB} bytes`);
    }
    await spool.close();
  });
});

describe('a bad archive', () => {
  const whole = zip([entry('a', 'x'.repeat(5000)), entry('b', 'y')]);

  test('has no central directory if it is cut off', async () => {
    expect(await read(whole.subarray(0, whole.length / 2))).toEqual(['cut']);
    expect(await read(whole.subarray(0, -1))).toEqual(['cut']);
    expect(await read(gzipSync('x'.repeat(5000)).subarray(0, 20))).toEqual(['=0!cut']);
  });

  test('is detected by its bytes or its checksum, entry by entry', async () => {
    const wrong = { ...entry('a', 'one'), checksum: 7 };
    expect(await read(zip([wrong, entry('b', 'two')]))).toEqual(['a=3!checksum', 'b=two']);
    const flipped = Buffer.from(zip([entry('a', 'x'.repeat(50)), entry('b', 'two')]));
    flipped.fill(0xff, 31, 36);
    expect(await read(flipped)).toEqual(['a=0!damaged', 'b=two']);
    const nowhere = Buffer.from(whole);
    nowhere.fill(0x7f, nowhere.length - 6, nowhere.length - 2);
    expect(await read(nowhere)).toEqual(['damaged']);
  });

  test('is gzip with zeros between two members, because the second one is not read', async () => {
    for (const zeros of ZEROS) {
      const archive = Buffer.concat([gzipSync('a'), zeros, gzipSync('b')]);
      expect(await read(archive)).toEqual(['=1!damaged']);
    }
    // The first member ends with a piece.
    const first = gzipSync(Buffer.alloc(PIECE_BYTES - 23, 'x'), { level: 0 });
    expect(first.length).toBe(PIECE_BYTES);
    const archive = Buffer.concat([first, Buffer.alloc(1), gzipSync('b')]);
    expect(await read(archive)).toEqual([`=${PIECE_BYTES - 23}!damaged`]);
  });

  test('is refused if it is encrypted, nested or packed with another method', async () => {
    const good = entry('b', 'two');
    const encrypted = { ...entry('a', 'one'), flags: 1 };
    expect(await read(zip([encrypted, good]))).toEqual(['a=0!encrypted', 'b=two']);
    const nested = { name: 'a', bytes: zip([good]), isStored: true };
    expect(await read(zip([nested, good]))).toEqual(['a=0!nested', 'b=two']);
    const packed = { name: 'a', bytes: gzipSync('x') };
    expect(await read(zip([packed, good]))).toEqual(['a=0!nested', 'b=two']);
    expect(await read(gzipSync(gzipSync('x')))).toEqual(['=0!nested']);
    const method = { ...entry('a', 'one'), method: 12 };
    expect(await read(zip([method, good]))).toEqual(['a=0!method', 'b=two']);
  });

  test('may be a page or an error instead of an archive', async () => {
    for (const text of [
      '<!doctype html><html>',
      '\n<HTML><body>',
      '{"errors":[{"error":"X"}]}',
      '{"detail":[{"msg":"no"}]}',
    ])
      expect(await read(Buffer.from(text)), text).toEqual(['not_archive']);
    expect(await read(Buffer.from('{"log":"a line"}'))).toEqual(['={"log":"a line"}']);
  });
});

describe('a limit', () => {
  test('of entries ends the archive after the last allowed one', async () => {
    const archive = zip(['a', 'b', 'c', 'd'].map(name => entry(name, name)));
    expect(await read(archive)).toEqual(['a=a', 'b=b', 'c=c', 'entries_limit']);
  });

  test('of unpacked bytes holds for all entries together, to the byte', async () => {
    const archive = zip([
      { name: 'a', bytes: Buffer.alloc(600_000, 'ab') },
      { name: 'b', bytes: Buffer.alloc(600_000, 'ab') },
    ]);
    expect(await read(archive, { unpackedBytes: 1_000_000 })).toEqual([
      'a=600000 bytes',
      'b=400000!unpacked_limit',
    ]);
    expect(await read(archive, { unpackedBytes: 1_200_000 })).toHaveLength(2);
    expect(await read(archive, { unpackedBytes: 1 })).toEqual([
      'a=1!unpacked_limit',
      'b=0!unpacked_limit',
    ]);
  });

  test('of the ratio stops a bomb in both formats', async () => {
    const zeros = Buffer.alloc(40 * MIB);
    const bomb = gzipSync(zeros);
    expect(bomb.length).toBeLessThan(50_000);
    expect(await read(bomb)).toEqual([`=${16 * MIB}!ratio_limit`]);
    expect(await read(zip([{ name: 'a', bytes: zeros }]))).toEqual([`a=${16 * MIB}!ratio_limit`]);
  });
});

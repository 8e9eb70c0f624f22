// Unpacks the body of an answer while it arrives (undici does not), in small steps off the main thread. It
// counts nothing itself: every piece goes to `onData`, which may destroy the inflater in the middle of a
// bomb; what has been unpacked by then is one step more than was asked for.

import {
  constants,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type Gunzip,
  type Inflate,
  type InflateRaw,
  type ZstdDecompress,
} from 'node:zlib';

export interface InflaterEvents {
  /** A piece of the unpacked body; valid during the call only. */
  readonly onData: (piece: Buffer) => void;
  /** What was written has been taken in; called after a `write` that returned false. */
  readonly onDrain: () => void;
  readonly onEnd: () => void;
  /** The bytes are not what they claim to be, or stopped in the middle (`isCut`). */
  readonly onError: (error: Error, isCut: boolean) => void;
}

export interface Inflater {
  /** False asks the caller to wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  end(): void;
  /** No event comes after this. */
  destroy(): void;
}

/** Content-Encoding values that can be unpacked. */
export type ContentEncoding = 'gzip' | 'x-gzip' | 'deflate' | 'zstd';

const STEP_BYTES = 64 * 1024;
/** RFC 9659: over HTTP no zstd frame may ask for a larger window than this power of two (8 MiB). */
const ZSTD_WINDOW_LOG_MAX = 23;
/** What zlib's streams, zstd's too, report when more input was expected. */
const CUT_CODE = 'Z_BUF_ERROR';

type Stream = Gunzip | Inflate | InflateRaw | ZstdDecompress;

export function isContentEncoding(name: string): name is ContentEncoding {
  return name === 'gzip' || name === 'x-gzip' || name === 'deflate' || name === 'zstd';
}

export function createInflater(encoding: ContentEncoding, events: InflaterEvents): Inflater {
  let stream: Stream | null = null;
  let inputBytes = 0;
  let isDestroyed = false;
  const finish = (): void => {
    // Only gzip goes on with a further member. Of the others Node unpacks the first frame and silently
    // leaves the rest, which would make a short page of a long one.
    const isLeftOver = !encoding.endsWith('gzip') && (stream?.bytesWritten ?? 0) < inputBytes;
    if (isLeftOver) events.onError(new Error('more follows behind the end'), false);
    else events.onEnd();
  };
  const open = (firstByte: number): Stream => {
    const opened = createStream(encoding, firstByte);
    const whileAlive = (react: () => void): void => {
      if (!isDestroyed) react();
    };
    opened.on('data', (piece: Buffer) => whileAlive(() => events.onData(piece)));
    opened.on('drain', () => whileAlive(events.onDrain));
    opened.on('end', () => whileAlive(finish));
    opened.on('error', (error: NodeJS.ErrnoException) =>
      whileAlive(() => events.onError(error, error.code === CUT_CODE)),
    );
    return opened;
  };
  return {
    write(chunk) {
      if (isDestroyed || chunk.length === 0) return true;
      inputBytes += chunk.length;
      stream ??= open(chunk.readUInt8(0));
      return stream.write(chunk);
    },
    end() {
      // Nothing came at all: an empty body in any encoding.
      if (stream === null) events.onEnd();
      else stream.end();
    },
    destroy() {
      isDestroyed = true;
      stream?.destroy();
    },
  };
}

function createStream(encoding: ContentEncoding, firstByte: number): Stream {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip({ chunkSize: STEP_BYTES });
    case 'zstd':
      return createZstdDecompress({
        chunkSize: STEP_BYTES,
        params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
      });
    case 'deflate': {
      // The name stands for the zlib format, but some servers send the raw one. RFC 1950: the low four bits
      // of the first byte are 8, as they are of no raw stream that compresses anything.
      const isZlib = (firstByte & 0x0f) === 8;
      return isZlib
        ? createInflate({ chunkSize: STEP_BYTES })
        : createInflateRaw({ chunkSize: STEP_BYTES });
    }
    default:
      return encoding satisfies never;
  }
}

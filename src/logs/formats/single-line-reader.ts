// Reads a log of which each line is a record: the audit log, and every type without a format. In: lines. Out:
// one record for each, at once; what does not parse is marked and goes out as it is. It has no state to save.

import { type LineReader, MARK, type ParsedRecord, type RawLine } from '../record.ts';
import type { LocalTime } from './local-time.ts';
import { cutToBytes, type RecordFields, RecordLines, toParsedRecord } from './record-lines.ts';
import { restoreState, saveState } from './saved-state.ts';

/** What a log's format knows. */
export interface LineFormat {
  /** With the version of what is saved. */
  readonly name: string;
  /** Of the file that is read with it. */
  readonly localTime: LocalTime;
  /** null for a line that does not parse. */
  read(text: string): RecordFields | null;
  /** The text of a line that does not parse, as it may be sent. */
  redact(text: string): string;
}

const NO_RECORDS: readonly ParsedRecord[] = [];

export class SingleLineReader implements LineReader {
  readonly isOpen = false;
  readonly #format: LineFormat;
  readonly #bytesMax: number;
  /** Always empty. */
  readonly #lines = new RecordLines(0);

  constructor(format: LineFormat, recordBytesMax: number) {
    this.#format = format;
    this.#bytesMax = recordBytesMax;
  }

  push(line: RawLine): readonly ParsedRecord[] {
    const { text, offset, timeMs, timeExtraNs, stream } = line;
    const read = this.#format.read(text);
    const fields = read ?? unparsedFields(this.#format.redact(text));
    const raw = cutToBytes(text, this.#bytesMax);
    const isCut = raw.length < text.length;
    const marks = line.marks | (read === null ? MARK.unparsed : 0) | (isCut ? MARK.recordCut : 0);
    const lines = { raw, firstOffset: offset, lineCount: 1, timeMs, timeExtraNs, stream, marks };
    return [toParsedRecord(lines, isCut ? this.#cut(fields) : fields)];
  }

  flush(): readonly ParsedRecord[] {
    return NO_RECORDS;
  }

  save(): string {
    const { name, localTime } = this.#format;
    return saveState(name, null, { lines: this.#lines, localTime });
  }

  restore(saved: string): void {
    const { name, localTime } = this.#format;
    restoreState(name, saved, { lines: this.#lines, localTime });
  }

  #cut(fields: RecordFields): RecordFields {
    const cut = (text: string): string => cutToBytes(text, this.#bytesMax);
    return {
      ...fields,
      body: cut(fields.body),
      attributes: fields.attributes.map(attribute => {
        const [key, value] = attribute;
        return typeof value === 'string' ? [key, cut(value)] : attribute;
      }),
    };
  }
}

function unparsedFields(body: string): RecordFields {
  return {
    timeMs: Number.NaN,
    timeExtraNs: 0,
    severityNumber: 0,
    severityText: '',
    body,
    eventName: null,
    attributes: [],
  };
}

// The newest timestamp: usually all lines of a page have the same one. Its text is kept with the
// bytes before and after it, so that two comparisons recognize it in either format:
//
//   ␣1795321266014⏎      two words that overlap or touch: 8 to 16 bytes
//   └ head ┘
//          └ tail ┘

const WORD = 8;

export class LastTime {
  ms: number = Number.NaN;
  /** Of the text, including the byte before it. */
  length: number = WORD - 1;
  /** NaN equals nothing: no time is known at first. */
  #head = Number.NaN;
  #tail = Number.NaN;

  /** Whether the same text is at `at`, the position of its blank. */
  isAt(view: DataView, at: number): boolean {
    const tailAt = at + this.length + 1 - WORD;
    if (tailAt + WORD > view.byteLength) return false;
    return view.getFloat64(at, true) === this.#head && view.getFloat64(tailAt, true) === this.#tail;
  }

  /** Keeps the time `ms`; its blank is at `at`, its text ends at `end`. */
  note(view: DataView, at: number, end: number, ms: number): void {
    this.ms = ms;
    const isKept = end - at >= WORD - 1 && end - at < 2 * WORD && end < view.byteLength;
    this.length = isKept ? end - at : WORD - 1;
    this.#head = isKept ? view.getFloat64(at, true) : Number.NaN;
    this.#tail = isKept ? view.getFloat64(end + 1 - WORD, true) : Number.NaN;
  }
}

// Reads the times that wrappers put on lines: RFC 3339 with up to nine digits of a second, exactly. Lines of one
// second follow each other, so that the second is worked out once for all of them.

const SHAPE = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?([Zz]|[+-]\d\d:?\d\d)$/;

export class WrapperTime {
  /** Whole milliseconds since the epoch; NaN when the last text was no time. */
  ms: number = Number.NaN;
  /** What there was beyond, 0 to 999,999. */
  extraNs = 0;
  #second = '';
  #secondMs = 0;

  /** Reads a text into `ms` and `extraNs`. */
  read(text: string): void {
    // `2026-03-04T09:05:33.120394Z`: as the last one up to the second?
    if (this.#second !== '' && text.startsWith(this.#second) && text.endsWith('Z')) {
      const rest = text.slice(this.#second.length, -1);
      if (rest === '') return this.#set(this.#secondMs, '');
      const digits = rest.slice(1);
      if (rest.startsWith('.') && isNumber(digits)) return this.#set(this.#secondMs, digits);
    }
    this.#readAnew(text);
  }

  #readAnew(text: string): void {
    const match = SHAPE.exec(text);
    const [, date = '', time = '', digits = '', zone = ''] = match ?? [];
    const isUtc = zone === 'Z' || zone === 'z';
    // Checked by coming back the same: Date carries 30 February over into March.
    const utcMs = match === null ? Number.NaN : Date.parse(`${date}T${time}Z`);
    const isReal = !Number.isNaN(utcMs) && new Date(utcMs).toISOString().startsWith(date);
    if (!isReal) {
      this.ms = Number.NaN;
      this.extraNs = 0;
      return;
    }
    if (isUtc) {
      this.#second = `${date}T${time}`;
      this.#secondMs = utcMs;
    }
    this.#set(utcMs - (isUtc ? 0 : zoneMs(zone)), digits);
  }

  #set(secondMs: number, digits: string): void {
    const ns = digits === '' ? 0 : Number(digits.slice(0, 9).padEnd(9, '0'));
    const ms = Math.floor(ns / 1_000_000);
    this.ms = secondMs + ms;
    this.extraNs = ns - ms * 1_000_000;
  }
}

function zoneMs(zone: string): number {
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000;
}

function isNumber(digits: string): boolean {
  for (let i = 0; i < digits.length; i++) {
    const code = digits.charCodeAt(i);
    if (code < 48 || code > 57) return false;
  }
  return digits !== '';
}

// A random life of a service's logs: lines that are written late, out of order or into an archive that is rewritten,
// archives that break, lists that change while they are read, wrong clocks, processes that stop halfway. A life is
// plain data that fast-check makes and shrinks; `act` runs one step of it.

import * as fc from 'fast-check';
import { AUDIT, ERRORS, HOUR, type LogSite, MINUTE, OTHER } from '../support/log-site.ts';

const PLACES = [ERRORS, AUDIT, OTHER];

export type LogAction =
  | {
      readonly kind: 'write';
      readonly place: number;
      readonly texts: readonly string[];
      readonly lateMs: number;
    }
  | { readonly kind: 'pull' }
  | { readonly kind: 'restart' }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'stop'; readonly afterMs: number }
  | {
      readonly kind: 'break';
      readonly place: number;
      readonly how: 'cut' | 'checksum' | 'missing' | 'html' | 'encrypted' | 'nested' | 'lacking';
    }
  | { readonly kind: 'mend' }
  | { readonly kind: 'fail'; readonly status: 429 | 503; readonly times: number }
  | { readonly kind: 'insert'; readonly place: number }
  | { readonly kind: 'rotate'; readonly place: number }
  | { readonly kind: 'unsteady'; readonly texts: readonly string[] };

export interface LogLife {
  readonly skewMs: number;
  readonly dayStartMs: number;
  readonly isSizeHidden: boolean;
  readonly archiveForm: 'zip' | 'gzip' | 'plain';
  readonly hasLinePrefix: boolean;
  readonly actions: readonly LogAction[];
}

const place = fc.nat(PLACES.length - 1);
/** Any text without a line end; with a leading blank, it continues the record of the line before it. */
const text = fc
  .string({ unit: 'grapheme', maxLength: 30 })
  .map(any => any.replaceAll(/[\r\n\u2028]/g, '_'))
  .chain(any => fc.constantFrom(`${any}.`, ` ${any}.`));
const texts = fc.array(text, { minLength: 1, maxLength: 5 });

const action: fc.Arbitrary<LogAction> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      place,
      texts,
      lateMs: fc.constantFrom(0, 0, 10 * MINUTE, 3 * HOUR),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('pull' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(MINUTE, 6 * MINUTE, HOUR, 9 * HOUR),
    }),
  },
  fc.record({ kind: fc.constant('restart' as const) }),
  fc.record({ kind: fc.constant('stop' as const), afterMs: fc.nat(20) }),
  fc.record({
    kind: fc.constant('break' as const),
    place,
    how: fc.constantFrom('cut', 'checksum', 'missing', 'html', 'encrypted', 'nested', 'lacking'),
  }),
  fc.record({ kind: fc.constant('mend' as const) }),
  fc.record({
    kind: fc.constant('fail' as const),
    status: fc.constantFrom(429, 503),
    times: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ kind: fc.constant('insert' as const), place }),
  fc.record({ kind: fc.constant('rotate' as const), place }),
  fc.record({ kind: fc.constant('unsteady' as const), texts }),
);

export const logLives: fc.Arbitrary<LogLife> = fc.record({
  skewMs: fc.constantFrom(0, -26 * HOUR, 26 * HOUR),
  dayStartMs: fc.constantFrom(0, 22 * HOUR, 5.5 * HOUR),
  isSizeHidden: fc.boolean(),
  archiveForm: fc.constantFrom('zip', 'zip', 'gzip', 'plain'),
  hasLinePrefix: fc.boolean(),
  actions: fc.array(action, { minLength: 3, maxLength: 14 }),
});

/** Acts on a site, and notes the events that excuse a lost or repeated line. */
export class LogHistory {
  /** Archives that were served broken, or that are gone: they may have been given up. */
  readonly broken: Set<string> = new Set();
  /** True once lines may come twice: something was rewritten. */
  isRewritten = false;
  #number = 0;
  readonly #site: LogSite;
  readonly #life: LogLife;

  constructor(site: LogSite, life: LogLife) {
    this.#site = site;
    this.#life = life;
    site.book.dayStartMs = life.dayStartMs;
    this.mend();
  }

  mend(): void {
    const { skewMs: clockSkewMs, isSizeHidden, archiveForm, hasLinePrefix } = this.#life;
    this.#site.simulator.resetFaults();
    this.#site.simulator.setFaults({ clockSkewMs, isSizeHidden, archiveForm, hasLinePrefix });
  }

  async act(action: LogAction): Promise<void> {
    const { simulator, clock, book } = this.#site;
    if (action.kind === 'write') this.#write(action.place, action.texts, action.lateMs);
    else if (action.kind === 'pull') await this.#site.pull();
    else if (action.kind === 'restart') await this.#site.restart();
    else if (action.kind === 'pass') clock.forward(action.ms);
    else if (action.kind === 'mend') this.mend();
    else if (action.kind === 'stop') await this.#stop(action.afterMs);
    else if (action.kind === 'insert') this.#insert(action.place);
    else if (action.kind === 'rotate') await this.#rotate(action.place);
    else if (action.kind === 'fail') {
      const { status, times } = action;
      simulator.setFaults({ path: '/observability/v2/logs', status, times });
    } else if (action.kind === 'break') {
      const archive = this.#today(action.place);
      if (archive === undefined) return;
      this.broken.add(archive);
      // A cut plain file looks whole: nothing would show the cut (docs/use/logs.md).
      const isSeen = action.how !== 'cut' || this.#life.archiveForm !== 'plain';
      simulator.setFaults({ archives: { [archive]: isSeen ? action.how : 'missing' } });
    } else {
      simulator.setFaults({ isCountUnsteady: true });
      book.onList = () => {
        delete book.onList;
        this.#write(1, action.texts, 0);
      };
    }
  }

  /** Writes lines, each made unique by a number at its end. */
  #write(place: number, texts: readonly string[], lateMs: number): void {
    const { book, clock } = this.#site;
    const atMs = clock.nowMs() + this.#life.skewMs - MINUTE - lateMs;
    for (const text of texts)
      book.write(PLACES[place] ?? ERRORS, { text: `${text}${this.#number++}`, atMs });
  }

  async #stop(afterMs: number): Promise<void> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), afterMs);
    await this.#site.pull(stop.signal);
    clearTimeout(timer);
    await this.#site.restart();
  }

  /** Inserts a line after the first line of an archive, where it may have been read already. */
  #insert(place: number): void {
    const { book, clock } = this.#site;
    const archive = this.#today(place);
    if (archive === undefined) return;
    this.isRewritten = true;
    const written = { text: `inserted${this.#number++}`, atMs: clock.nowMs() + this.#life.skewMs };
    book.rewrite(archive, lines => [...lines.slice(0, 1), written, ...lines.slice(1)]);
    book.issued.push({ ...written, place: PLACES[place] ?? ERRORS, archive });
  }

  /** Replaces all lines of an archive by a new one. Does so only when all of them have arrived. */
  async #rotate(place: number): Promise<void> {
    const { book } = this.#site;
    const archive = this.#today(place);
    if (archive === undefined || this.broken.has(archive)) return;
    this.mend();
    await this.#site.pull();
    // The last record is held back for a while: more of its lines may come.
    const arrived = new Set(this.#site.bodies.flatMap(body => body.split('\n')));
    const lines = book.issued.filter(line => line.archive === archive);
    if (!lines.every(({ text }) => arrived.has(text))) return;
    this.isRewritten = true;
    book.rewrite(archive, () => []);
    // The size differs each time: the list shows a rewritten archive only by its size (docs/use/logs.md).
    this.#write(place, [`rotated${'.'.repeat(this.#number)}`], 0);
    // After midnight the new line is in another archive, and this one is gone.
    if (this.#today(place) !== archive) this.broken.add(archive);
  }

  /** The archive that was written to last. */
  #today(place: number): string | undefined {
    return this.#site.book.issued.findLast(line => line.place === PLACES[place])?.archive;
  }
}

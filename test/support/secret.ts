// A secret of the configuration whose source a test can change.

import type { Secret } from '../../src/config/config.ts';

export class TestSecret implements Secret {
  /** What the source holds now; `refresh` picks it up. */
  source: string;
  #text: string;

  constructor(text: string) {
    this.source = text;
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  refresh(): boolean {
    const isChanged = this.source !== this.#text;
    this.#text = this.source;
    return isChanged;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }
}

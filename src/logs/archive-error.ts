// What can be wrong with an archive. It is thrown between the unpacking and the one place that reads archives
// (archive-reading.ts), which makes a value of it.

/** `_limit`: it is larger than a limit of the configuration. */
export type ArchiveFault =
  /** No archive at all: an error page, a JSON answer. */
  | 'not_archive'
  /** It ends in the middle. */
  | 'cut'
  | 'damaged'
  | 'checksum'
  | 'encrypted'
  | 'nested'
  | 'method'
  | 'archive_limit'
  | 'entries_limit'
  | 'unpacked_limit'
  | 'ratio_limit';

/** Faults that the next download would have again. */
const FINAL: ReadonlySet<ArchiveFault> = new Set([
  'encrypted',
  'nested',
  'method',
  'archive_limit',
  'entries_limit',
  'unpacked_limit',
  'ratio_limit',
]);

export class ArchiveError extends Error {
  readonly fault: ArchiveFault;

  constructor(fault: ArchiveFault, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = 'ArchiveError';
    this.fault = fault;
  }

  /** True when trying again does not help: it is set aside at once. */
  get isFinal(): boolean {
    return FINAL.has(this.fault);
  }

  /** True when what follows in the same archive is not read either. */
  get endsArchive(): boolean {
    return this.fault.endsWith('_limit');
  }
}

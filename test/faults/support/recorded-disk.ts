// A disk whose power fails. In: the operations of a process on the files below a directory, as recorded-disk.c has
// recorded them. Out: the directory as a power cut at any place leaves it. Everything synced is there. Of the rest, each
// block of a write, each change of a size and each entry of a directory is there or not, at random and in any order.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const SOURCE = join(import.meta.dirname, 'recorded-disk.c');
const OPS = ['', 'start', 'open', 'close', 'write', 'sync', 'truncate'] as const;
const NAME_OPS = ['rename', 'unlink', 'mkdir', 'tell'] as const;

/** One operation of a process. `number` is an offset, a size, or the flags of `open`. */
export interface DiskEvent {
  readonly op: Exclude<(typeof OPS)[number], ''> | (typeof NAME_OPS)[number];
  readonly fd: number;
  readonly number: number;
  readonly path: string;
  readonly second: string;
  readonly data: Buffer;
}

/** Runs processes on a directory and records what they do to it. */
export class DiskRecorder {
  /** The directory whose files are recorded. */
  readonly root: string;
  /** While this file exists, every fsync fails. */
  readonly failsPath: string;
  readonly #library: string;
  readonly #log: string;

  /** `workspace` is an empty directory for this recorder alone. */
  constructor(workspace: string) {
    this.root = join(workspace, 'disk');
    this.failsPath = join(workspace, 'fails');
    this.#log = join(workspace, 'log');
    this.#library = join(workspace, 'recorded-disk.so');
    mkdirSync(this.root);
    compile(this.#library);
  }

  /** The reason why a recorder cannot be used; null if it can. */
  static reasonToSkip(): string | null {
    if (process.platform !== 'linux') return 'LD_PRELOAD is of Linux';
    try {
      execFileSync('gcc', ['--version'], { stdio: 'pipe' });
      return null;
    } catch {
      return 'gcc is not installed';
    }
  }

  /** Runs a script until it ends or is killed; returns its exit code, or null when it was killed. */
  async run(script: string, ...args: readonly string[]): Promise<number | null> {
    const child = spawn(process.execPath, [script, ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        LD_PRELOAD: this.#library,
        DISK_ROOT: this.root,
        DISK_LOG: this.#log,
        DISK_FAILS: this.failsPath,
      },
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return code;
  }

  /** All operations so far, of all processes. */
  events(): readonly DiskEvent[] {
    return readEvents(readFileSync(this.#log));
  }
}

function compile(library: string): void {
  const flags = ['-shared', '-fPIC', '-O1', '-Wall', '-Wextra', '-Werror'];
  execFileSync('gcc', [...flags, '-o', library, SOURCE, '-ldl', '-lpthread'], { stdio: 'pipe' });
}

function readEvents(log: Buffer): readonly DiskEvent[] {
  const events: DiskEvent[] = [];
  for (let at = 0; at < log.length; ) {
    const op = [...OPS, ...NAME_OPS][log.readUInt32LE(at)];
    if (op === undefined || op === '') throw new Error(`no operation at byte ${String(at)}`);
    const fd = log.readUInt32LE(at + 4);
    const number = Number(log.readBigUInt64LE(at + 8));
    let end = at + 28;
    const [path, second, data] = [16, 20, 24].map(offset => {
      const start = end;
      end += log.readUInt32LE(at + offset);
      return log.subarray(start, end);
    });
    at = end;
    events.push({ op, fd, number, path: String(path), second: String(second), data: data ?? log });
  }
  return events;
}

/** An unsynced change of a file: bytes at an offset, or a new size. */
type Change = { readonly offset: number; readonly data: Buffer } | { readonly size: number };

/** An unsynced change of an entry of a directory; `node` is null if the entry was removed. */
interface EntryChange {
  readonly path: string;
  readonly node: Node | null;
}

/** A file, or a directory. */
class Node {
  readonly isDirectory: boolean;
  /** The content that survives any power cut. */
  synced: Buffer = Buffer.alloc(0);
  changes: Change[] = [];

  constructor(isDirectory: boolean) {
    this.isDirectory = isDirectory;
  }

  sync(): void {
    this.synced = applied(this.synced, this.changes);
    this.changes = [];
  }
}

/** The parameters of a power cut: which share of unsynced changes is kept, and in blocks of which size. */
export interface Cut {
  readonly random: () => number;
  readonly keptShare: number;
  readonly blockBytes: number;
}

/** The state of the disk, which changes with each event. */
export class Disk {
  readonly #root: string;
  /** The entries by path: as the processes see them, and as they are on the disk. */
  readonly #entries = new Map<string, Node>();
  readonly #synced = new Map<string, Node>();
  #changes: EntryChange[] = [];
  #files = new Map<number, { readonly path: string; readonly node: Node }>();

  constructor(root: string) {
    this.#root = root;
    this.#entries.set(root, new Node(true));
  }

  /** Applies an event. With `areSyncsIgnored`, the disk ignores fsyncs. */
  take(event: DiskEvent, areSyncsIgnored = false): void {
    const { op, fd, number, path, second, data } = event;
    // A new process begins: all files of the process before are closed.
    if (op === 'start') this.#files = new Map();
    else if (op === 'open') this.#open(fd, path, (number & TRUNCATES) !== 0);
    else if (op === 'close') this.#files.delete(fd);
    else if (op === 'mkdir') this.#enter(path, new Node(true));
    else if (op === 'unlink') this.#enter(path, null);
    else if (op === 'rename') this.#rename(path, second);
    else if (op === 'write') this.#change(fd, { offset: number, data });
    else if (op === 'truncate') this.#change(fd, { size: number });
    else if (op === 'sync' && !areSyncsIgnored) this.#sync(fd);
  }

  /** Writes the files that a cut now would leave, below another root. */
  writeCut(root: string, { random, keptShare, blockBytes }: Cut): void {
    const isKept = (): boolean => random() < keptShare;
    const entries = new Map(this.#synced);
    for (const change of this.#changes) if (isKept()) applyEntry(entries, change);
    const content = ({ synced, changes }: Node): Buffer =>
      applied(synced, changes.flatMap(change => blocksOf(change, blockBytes)).filter(isKept));
    this.#write(root, entries, content);
  }

  /** Writes the files as the processes have last seen them. */
  writeWhole(root: string): void {
    this.#write(root, this.#entries, ({ synced, changes }) => applied(synced, changes));
  }

  #open(fd: number, path: string, isTruncated: boolean): void {
    let node = this.#entries.get(path);
    if (node === undefined) this.#enter(path, (node = new Node(false)));
    else if (isTruncated) node.changes.push({ size: 0 });
    this.#files.set(fd, { path, node });
  }

  #change(fd: number, change: Change): void {
    this.#file(fd).node.changes.push(change);
  }

  #enter(path: string, node: Node | null): void {
    applyEntry(this.#entries, { path, node });
    this.#changes.push({ path, node });
  }

  /** A rename is a single change on the disk, too: the file never has both names, or none. */
  #rename(path: string, second: string): void {
    const node = this.#entries.get(path);
    if (node === undefined) throw new Error(`${path} is renamed and was never there`);
    this.#enter(second, node);
  }

  #sync(fd: number): void {
    const { path, node } = this.#file(fd);
    if (!node.isDirectory) return node.sync();
    const isHere = (change: EntryChange): boolean => dirname(change.path) === path;
    for (const change of this.#changes.filter(isHere)) applyEntry(this.#synced, change);
    this.#changes = this.#changes.filter(change => !isHere(change));
  }

  #file(fd: number): { readonly path: string; readonly node: Node } {
    const file = this.#files.get(fd);
    if (file === undefined) throw new Error(`file ${String(fd)} was never opened`);
    return file;
  }

  #write(
    root: string,
    entries: ReadonlyMap<string, Node>,
    contentOf: (node: Node) => Buffer,
  ): void {
    // Writes directories before their entries. The entries of a lost directory are lost, too.
    for (const [path, node] of [...entries].sort(([a], [b]) => a.length - b.length)) {
      const target = join(root, relative(this.#root, path));
      if (!existsSync(dirname(target))) continue;
      if (!node.isDirectory) writeFileSync(target, contentOf(node), { mode: 0o600 });
      else if (path !== this.#root) mkdirSync(target, { mode: 0o700 });
    }
  }
}

/** O_TRUNC. */
const TRUNCATES = 0o1000;

/** Applies a change of an entry. A file that gets a new name loses its old one. */
function applyEntry(entries: Map<string, Node>, { path, node }: EntryChange): void {
  for (const [other, one] of entries) if (one === node) entries.delete(other);
  if (node === null) entries.delete(path);
  else entries.set(path, node);
}

function blocksOf(change: Change, blockBytes: number): readonly Change[] {
  if ('size' in change) return [change];
  const { offset, data } = change;
  const blocks: Change[] = [];
  for (let from = 0; from < data.length; ) {
    const end = Math.min(data.length, from + blockBytes - ((offset + from) % blockBytes));
    blocks.push({ offset: offset + from, data: data.subarray(from, end) });
    from = end;
  }
  return blocks;
}

/** A copy with the changes; bytes within its size that were never written are 0. */
function applied(content: Buffer, changes: readonly Change[]): Buffer {
  let whole = Buffer.from(content);
  const resize = (size: number): void => {
    const old = whole;
    whole = Buffer.alloc(size);
    old.copy(whole);
  };
  for (const change of changes)
    if ('size' in change) resize(change.size);
    else {
      const { offset, data } = change;
      if (offset + data.length > whole.length) resize(offset + data.length);
      data.copy(whole, offset);
    }
  return whole;
}

/** Types of besom/reader: filters that are read. */

/** A key: a string (its UTF-8 bytes), bytes, or an integer (its 8 little-endian bytes). */
export type Key = string | bigint | Uint8Array | ArrayBufferView | ArrayBuffer;

/** Many keys: key i is bytes[offsets[i]] to bytes[offsets[i + 1]]. */
export interface PackedKeys {
  bytes: Uint8Array;
  offsets: Uint32Array;
}

/** Bytes, or where they are: a URL is fetched; in Node a path or a file: URL is read. */
export type Source = string | URL | Response | Blob | ArrayBuffer | ArrayBufferView;

/** How a signed list or patch is verified (docs/signed.md). */
export interface Trust {
  /** The .minisig file: its text, its bytes, or a URL. */
  signature?: Source;
  /** The public key of minisign; several, if the publisher changes the key. */
  publicKey?: string | string[];
  /** The name of the list: one key may sign several lists. */
  name?: string;
  /** Refuse lists with a smaller sequence number. */
  sequence?: number;
  /** Instead of the clock. */
  now?: Date;
}

export interface OpenOptions extends Trust {
  /**
   * A file of `besom fix LIST --fixes FILE`: its keys are answered no.
   * IncompatibleError: it is for other bytes of the list.
   */
  fixes?: Source;
  /** An instance of its own, whose memory returns to the system after free. */
  isolated?: boolean;
}

export interface ReaderStats {
  kind: string;
  hash: string;
  keys: number;
  capacity: number;
}

/** What is known of a list that was opened with a signature. */
export interface Signed {
  name: string;
  sequence: number;
  expires: Date;
  /** SHA-256 of the list, in hex. */
  result: string;
  /** The signature file of the list without reports: store it with save(), before a report. */
  signature: string;
  publicKey: string | string[];
}

export class Filter {
  protected constructor();
  /** Opens a saved filter. Rejects: CorruptError, NewerVersionError, SignatureError, FetchError. */
  static open(source: Source, options?: OpenOptions): Promise<Filter>;
  /** Whether the key may be a member. false is certain. */
  has(key: Key): boolean;
  /** The entry of a list of domains that answers a name, or null. has asks the parents of a name, too. */
  domainEntry(name: string): string | null;
  /** The values that a key of a map may have: numbers, or names. Throws UnsupportedError: no map. */
  candidates(key: Key): (number | string)[];
  /** has for many keys: 1 is maybe, 0 is certainly not. */
  hasMany(keys: Iterable<Key> | PackedKeys): Uint8Array;
  /** Reports a false positive of an absent key. false: an older report was dropped for it. */
  report(key: Key): boolean;
  /** Applies a patch; on any error the filter is what it was. */
  patch(patch: Source, options?: Trust): Promise<this>;
  /** The bytes of the file. */
  save(): Uint8Array;
  /** Checks every invariant; throws CorruptError. */
  validate(): void;
  /** Frees the memory; later calls throw FreedError. */
  free(): void;
  readonly freed: boolean;
  /** Whether fixes are applied. A patch ends that, and an insert: they were for the list as it was. */
  readonly fixed: boolean;
  /** Ends the fixes: has is the answer of the list again. */
  closeFixes(): void;
  readonly stats: ReaderStats;
  /** null, unless it was opened with a signature. */
  readonly signed: Signed | null;
}

/**
 * Compiles the WebAssembly module, once; other calls do it when they need it. source: where it is,
 * or the module itself, for example one that a page has posted to a worker.
 */
export function init(source?: Source | WebAssembly.Module): Promise<WebAssembly.Module>;

/** Packs keys, for hasMany and build. */
export function pack(keys: Iterable<string | Uint8Array | ArrayBuffer>): PackedKeys;

export class BesomError extends Error {
  /** The name of the library's status, for example "CORRUPT". */
  readonly status: string;
}
export class InvalidError extends BesomError {}
export class CorruptError extends BesomError {
  /** Where the file is damaged, in bytes, if known. */
  readonly offset?: number;
}
export class NewerVersionError extends BesomError {}
export class IncompatibleError extends BesomError {}
export class OutOfMemoryError extends BesomError {}
export class FullError extends BesomError {}
export class UnsupportedError extends BesomError {}
export class ReadOnlyError extends BesomError {}
export class MemberError extends BesomError {}
export class SignatureError extends BesomError {}
export class FetchError extends BesomError {}
export class FreedError extends BesomError {}
export class TrapError extends BesomError {}

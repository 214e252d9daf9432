/** Types of besom: filters that are read, built and changed. */
import { Filter as Reader } from './reader.js';
import type { Key, OpenOptions, PackedKeys, ReaderStats, Source } from './reader.js';

export * from './reader.js';

export interface Stats extends ReaderStats {
  width: number;
  slots: number;
  /** All memory of the filter. */
  bytes: number;
  bitsPerKey: number;
  loadFactor: number;
  expectedFpr: number;
  fprAtCapacity: number;
  workloadFpr: number;
  reserveUsed: number;
  /** What only some kinds count (docs/kinds.md). */
  counters: Record<string, number>;
}

/** The members of besom_config (besom.h). */
export interface CreateOptions {
  /** Default "aqf". */
  kind?: string;
  options?: string;
  hash?: 'xxh3' | 'sip';
  /** 16 bytes; default random. */
  seed?: Uint8Array;
  capacity?: number | bigint;
  maxCapacity?: number | bigint;
  /** Target false-positive rate; default 1/256. */
  fpr?: number;
  bitsPerKey?: number;
  slots?: number | bigint;
  width?: number;
  valueBits?: number;
  reserve?: number;
  noCapacity?: number | bigint;
  buildMemory?: number | bigint;
  repeated?: number;
  copies?: number | bigint;
  /** An instance of its own, whose memory returns to the system after free. */
  isolated?: boolean;
}

export type Keys = Iterable<Key> | AsyncIterable<Key> | PackedKeys;

export interface BuildOptions extends CreateOptions {
  /** Keys that are answered no. */
  no?: Keys;
  /** Kind, geometry and seed of this filter, so that diff is small. Only `no` may be beside it. */
  like?: Filter;
  /** Insert a repeated key once. */
  distinct?: boolean;
}

export class Filter extends Reader {
  protected constructor();
  static open(source: Source, options?: OpenOptions): Promise<Filter>;
  /** Builds a filter of all keys. Rejects: InvalidError, FullError, MemberError. */
  static build(keys: Keys, options?: BuildOptions): Promise<Filter>;
  /** An empty filter. */
  static create(options: CreateOptions): Promise<Filter>;
  insert(key: Key): void;
  /** Removes a member; false if there is no such key. */
  remove(key: Key): boolean;
  /** The no list. */
  addNo(key: Key): void;
  removeNo(key: Key): boolean;
  /** The patch that makes `fresh` from this filter. */
  diff(fresh: Filter): Uint8Array;
  readonly stats: Stats;
}

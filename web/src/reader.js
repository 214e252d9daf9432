/** Filters that are read: open, has, hasMany, report, patch, save, stats. */
import {
  CorruptError, FetchError, FreedError, IncompatibleError, InvalidError, OutOfMemoryError,
} from './errors.js';
import { MAX_SIZE, bytesOf } from './heap.js';
import { KeyWriter, forPackedParts, isPacked } from './packing.js';
import { newHeap, platform, sharedHeap } from './module.js';
import { sha256, verifyList, verifyPatch } from './signature.js';

const entryDecoder = new TextDecoder();

const registry = new FinalizationRegistry(({ heap, at }) => {
  if (!heap.poisoned) heap.call('besom_free', at);
});
const fixesRegistry = new FinalizationRegistry(({ heap, at }) => {
  if (!heap.poisoned) heap.call('besom_fixes_close', at);
});

/** Options that only a verified list has: without a public key they are refused, not ignored. */
const TRUST = ['publicKey', 'signature', 'name', 'sequence', 'now'];

export const OK = 0;
const READ_ONLY = 13, EVICTED = 22;
const STATS_BYTES = 104; // of struct besom_statistics; calls.c asserts its offsets

/** Fetches a URL, or takes bytes as they are. */
export async function bytesFrom(source) {
  if (typeof source === 'string' || source instanceof URL) {
    const response = await platform.fetch(source);
    return response instanceof Uint8Array ? response : bytesFrom(response);
  }
  if (typeof Response !== 'undefined' && source instanceof Response) {
    if (!source.ok)
      throw new FetchError(`${source.url}: status ${source.status} ${source.statusText}`, 'FETCH');
    return new Uint8Array(await source.arrayBuffer());
  }
  if (typeof Blob !== 'undefined' && source instanceof Blob)
    return new Uint8Array(await source.arrayBuffer());
  return bytesOf(source, 'open');
}

/** Loads a saved filter into a heap: its address. */
export function load(heap, bytes, inPlace) {
  const fits = bytes.length <= MAX_SIZE;
  const memory = fits ? heap.call('besom_web_file_memory', bytes.length) >>> 0 : 0;
  if (memory === 0)
    throw new OutOfMemoryError(`no memory for a list of ${bytes.length} bytes`, 'NO_MEMORY');
  heap.u8.set(bytes, memory);
  const fault = heap.out, out = fault + 16;
  const status = heap.call('besom_web_load', memory, bytes.length, inPlace ? 1 : 0, fault, out);
  if (status !== 0 || !inPlace) heap.release(memory);
  const view = heap.view;
  if (status === 0) return view.getUint32(out, true);
  const error = heap.error(status, 'not opened');
  const why = heap.string(view.getUint32(fault, true));
  if (error instanceof CorruptError && why !== null) {
    error.offset = Number(view.getBigUint64(fault + 8, true));
    error.message = `not opened: ${why} (at byte ${error.offset})`;
  }
  throw error;
}

export class Reader {
  #heap;
  #at = 0;
  #contains;
  #fixes = 0; // of the caller, beside the list
  #names = null; // of the values of a map, when they are needed
  #base = null; // the saved filter before the first change: patches apply to it
  #patches = Promise.resolve(); // the last call of patch

  /** Use open. */
  constructor(heap, at, signed = null) {
    // Own properties with functions: structuredClone and postMessage refuse a filter.
    this.heap = heap;
    this.#heap = heap;
    this.#contains = heap.exports.besom_contains;
    this.signed = signed;
    this.opened = false;
    this.#take(at);
  }

  /**
   * Opens a saved filter: bytes, a Blob, a Response, or a URL, which is fetched. options:
   * signature, publicKey, name, sequence: see patch. fixes: a file of `besom fix --fixes` for these
   * bytes, whose keys are answered no. isolated: an instance of its own.
   */
  static async open(source, options = {}) {
    let bytes = await bytesFrom(source), signed = null;
    if (options.fixes !== undefined) bytes = new Uint8Array(bytes);
    if (TRUST.some((name) => options[name] !== undefined)) {
      bytes = new Uint8Array(bytes); // a copy: the caller may change its own. (Buffer's slice is none)
      const signature = await signatureFrom(options.signature);
      signed = await verifyList(platform.crypto, bytes, { ...options, signature });
      signed.publicKey = options.publicKey;
    }
    const heap = await (options.isolated ? newHeap() : sharedHeap());
    const fixes = options.fixes === undefined ? null : await fixesFor(options.fixes, bytes);
    const filter = new this(heap, load(heap, bytes, this.inPlace), signed);
    filter.opened = true;
    if (fixes) filter.#openFixes(fixes);
    return filter;
  }

  /** The fixes must be for the version that the checksum says. */
  #openFixes({ text, version }) {
    const heap = this.#heap;
    try {
      const at = heap.with(text.length, (memory) => {
        heap.u8.set(text, memory);
        heap.check('the fixes', 'besom_fixes_parse', memory, text.length, 0, heap.out);
        return heap.view.getUint32(heap.out, true);
      });
      this.#fixes = at;
      fixesRegistry.register(this, { heap, at }, this);
      const found = heap.string(heap.call('besom_web_fixes_version', at));
      if (found !== '' && found !== version)
        throw new IncompatibleError('the fixes are for another version of the list: if their keys ' +
          'are still absent, besom fix --again applies them again', 'INCOMPATIBLE');
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** Ends the fixes: has(key) is the answer of the list again. */
  closeFixes() {
    const at = this.#fixes;
    this.#fixes = 0;
    if (at === 0) return;
    fixesRegistry.unregister(this);
    if (!this.#heap.poisoned) this.#heap.call('besom_fixes_close', at);
  }

  /** Whether fixes of the caller are applied. A patch ends that: they were for the list before it. */
  get fixed() {
    return this.#fixes !== 0;
  }

  /** Whether open uses the bytes of the file where they are, read-only. */
  static inPlace = true;

  // -------------------------------------------------------------- life

  #take(at) {
    this.#at = at;
    this.#names = null;
    registry.register(this, { heap: this.#heap, at }, this);
  }

  #drop() {
    registry.unregister(this);
    const at = this.#at;
    this.#at = 0;
    if (at !== 0 && !this.#heap.poisoned) this.#heap.call('besom_free', at);
  }

  /** The address of the filter, for calls of the module (`heap`). */
  get at() {
    if (this.#at === 0) throw new FreedError('the filter was freed', 'FREED');
    return this.#at;
  }

  /** Replaces the filter, atomically. */
  replace(at) {
    this.closeFixes();
    this.#move(at);
    this.#base = null;
  }

  #move(at) {
    this.#drop();
    this.#take(at);
  }

  /** Frees the memory. Later calls throw FreedError; a second free does nothing. */
  free() {
    this.closeFixes();
    this.#drop();
  }

  get freed() {
    return this.#at === 0;
  }

  // -------------------------------------------------------------- queries

  /** Whether the key may be a member. false is certain. */
  has(key) {
    const heap = this.#heap, at = this.#at;
    if (at === 0 || heap.poisoned) this.#refuse();
    const length = heap.writeKey(key);
    try {
      if (this.#fixes !== 0)
        return heap.exports.besom_fixes_contains(this.#fixes, at, heap.keyAt, length) !== 0;
      return this.#contains(at, heap.keyAt, length) !== 0;
    } catch (error) {
      throw heap.afterQuery(error);
    }
  }

  /**
   * The entry of a list of domains that answers a name: the name itself or one of its parents; null if
   * the answer is no. Names are ASCII: give those in other scripts as punycode.
   */
  domainEntry(name) {
    const heap = this.#heap, at = this.#at;
    if (at === 0 || heap.poisoned) this.#refuse();
    if (typeof name !== 'string') throw new InvalidError('a name is a string', 'INVALID');
    const length = heap.writeKey(name);
    let from;
    try {
      from = heap.exports.besom_web_domain_entry(at, this.#fixes, heap.keyAt, length);
    } catch (error) {
      throw heap.afterQuery(error);
    }
    return from < 0 ? null : entryDecoder.decode(heap.u8.slice(heap.keyAt + from, heap.keyAt + length)).replace(/\.+$/, '');
  }

  /**
   * The values that a key of a map may have (`besom map`): numbers, ascending, or names. Empty: the
   * key is certainly absent. UnsupportedError: the filter is no map.
   */
  candidates(key) {
    const heap = this.#heap, at = this.at, length = heap.writeKey(key);
    heap.check('candidates', 'besom_web_candidates', at, heap.keyAt, length, heap.out);
    const bytes = heap.takeBytes(heap.out);
    const values = Array.from(new Uint32Array(bytes.buffer, 0, bytes.length / 4));
    const names = this.#names ??= this.#readNames();
    return values.map((value) => names[value] ?? value);
  }

  /** The names of values: the lines of the note, of files without size and time. */
  #readNames() {
    const heap = this.#heap;
    heap.check('candidates', 'besom_web_note', this.at, heap.out);
    const [kind, ...lines] = entryDecoder.decode(heap.takeBytes(heap.out)).split('\n').slice(0, -1);
    if (!kind?.startsWith('besom map ')) return [];
    return kind.startsWith('besom map files') ? lines.map((line) => line.split('\t')[0]) : lines;
  }

  #refuse() {
    throw this.#at === 0 ? new FreedError('the filter was freed', 'FREED') : this.#heap.trapError();
  }

  /** this.at for every part: an iterable may have freed the filter. */
  #ask(bytes, length, offsets, n, to) {
    const heap = this.#heap;
    heap.check('hasMany', 'besom_web_contains_packed', this.at, bytes, length, offsets, n, to);
    if (this.#fixes !== 0) heap.call('besom_web_apply_fixes', this.#fixes, this.at, bytes, offsets, n, to);
  }

  /**
   * has for many keys: an iterable, or packed keys { bytes, offsets }. Returns a Uint8Array of 1
   * (maybe) and 0 (certainly not).
   */
  hasMany(keys) {
    const heap = this.#heap;
    this.at; // throws if it was freed
    if (isPacked(keys)) {
      const answers = new Uint8Array(Math.max(0, keys.offsets.length - 1));
      forPackedParts(heap, keys, (bytes, length, offsets, n, to, first) => {
        this.#ask(bytes, length, offsets, n, to);
        answers.set(heap.u8.subarray(to, to + n), first);
      });
      return answers;
    }
    const parts = [];
    const writer = new KeyWriter(heap, (bytes, length, offsets, n, to) => {
      this.#ask(bytes, length, offsets, n, to);
      parts.push(heap.u8.slice(to, to + n));
    });
    try {
      for (const key of keys) writer.add(key);
      writer.flush();
    } finally {
      writer.free();
    }
    return joinParts(parts, writer.first);
  }

  // -------------------------------------------------------------- changes

  /** A call on one key that changes the filter. Returns the status. */
  change(what, name, key, allowed, ...more) {
    const heap = this.#heap;
    this.at; // throws if it was freed
    if (this.opened) this.#base ??= this.save();
    const length = heap.writeKey(key);
    const call = () => heap.call(name, this.at, heap.keyAt, length, ...more);
    let status = call();
    if (status === READ_ONLY) { // kinds that change what is in the file: a copy of it is changed
      this.#move(load(heap, this.save(), false));
      status = call();
    }
    if (status !== OK && status !== allowed) throw heap.error(status, what);
    return status;
  }

  /**
   * Reports a false positive: has(key) is false from now on. The caller has made sure that the key
   * is absent: a member that is reported would be denied. Returns false if an older report had to
   * be dropped for it. A patch drops all reports.
   */
  report(key) {
    return this.change('not reported', 'besom_adapt', key, EVICTED) === OK;
  }

  // -------------------------------------------------------------- files

  /** The bytes of the file; equal filters have equal bytes. */
  save() {
    const heap = this.#heap;
    heap.check('save', 'besom_web_save', this.at, heap.out);
    return heap.takeBytes(heap.out);
  }

  /** The bytes that patches apply to: those of the file as it was opened. */
  base() {
    return this.#base ?? this.save();
  }

  /**
   * Applies a patch (`besom diff`): bytes, a Blob, a Response or a URL. On any error the filter is
   * what it was. Patches of one filter are applied one after the other.
   *
   * With { signature, publicKey } the patch is verified first; the defaults are those of open. A
   * filter that was opened with a signature takes signed patches only. Resolves to the filter.
   */
  patch(source, options = {}) {
    const done = this.#patches.then(() => this.#patch(source, options));
    this.#patches = done.catch(() => {});
    return done;
  }

  async #patch(source, options) {
    const bytes = new Uint8Array(await bytesFrom(source)); // a copy, as in open
    const trust = { publicKey: this.signed?.publicKey, ...options };
    const isSigned = this.signed || TRUST.some((name) => trust[name] !== undefined);
    if (!isSigned) {
      this.replace(this.#patched(bytes, this.base()));
      return this;
    }
    if (!this.signed || !trust.publicKey)
      throw new InvalidError('a signed patch needs a filter that was opened with a signature',
        'INVALID');
    trust.signature = await signatureFrom(trust.signature);
    const list = this.base();
    const finish = await verifyPatch(platform.crypto, bytes, trust, this.signed, list);
    if (finish) await this.#patchSigned(bytes, list, finish, trust);
    return this;
  }

  async #patchSigned(bytes, list, finish, trust) {
    const heap = this.#heap, made = this.#patched(bytes, list);
    let signed;
    try {
      heap.check('save', 'besom_web_save', made, heap.out);
      signed = await finish(heap.takeBytes(heap.out));
      this.at; // it may have been freed meanwhile
    } catch (error) {
      if (!heap.poisoned) heap.call('besom_free', made);
      throw error;
    }
    this.replace(made);
    this.signed = { ...signed, publicKey: trust.publicKey };
  }

  /** The address of a new filter: the list with the patch. */
  #patched(bytes, list) {
    const heap = this.#heap, at = this.at;
    return heap.with(bytes.length, (memory) => {
      heap.u8.set(bytes, memory);
      const old = this.isBase ? at : load(heap, list, false);
      try {
        const status = heap.call('besom_patch', old, memory, bytes.length, heap.out);
        if (status === 0) return heap.view.getUint32(heap.out, true);
        const error = heap.error(status, 'not patched');
        if (error instanceof IncompatibleError)
          error.message = 'not patched: the patch is for another version of the list; fetch the ' +
            'whole list';
        throw error;
      } finally {
        if (old !== at && !heap.poisoned) heap.call('besom_free', old);
      }
    });
  }

  /** Whether the filter is as it was opened. */
  get isBase() {
    return this.#base === null;
  }

  // -------------------------------------------------------------- statistics

  /** What it is: kind, hash, keys, capacity. The full module has more. */
  get stats() {
    const heap = this.#heap, at = heap.out;
    heap.check('stats', 'besom_stats_sized', this.at, at, STATS_BYTES);
    const view = heap.view;
    return {
      kind: heap.string(view.getUint32(at, true)),
      hash: heap.string(view.getUint32(at + 4, true)),
      keys: Number(view.getBigUint64(at + 16, true)),
      capacity: Number(view.getBigUint64(at + 24, true)),
    };
  }

  /** Checks every invariant of the filter; throws CorruptError. */
  validate() {
    const heap = this.#heap;
    const status = heap.call('besom_validate', this.at, heap.out);
    if (status === 0) return;
    const error = heap.error(status, 'not valid');
    if (error instanceof CorruptError)
      error.message = `not valid: ${heap.string(heap.view.getUint32(heap.out, true))}`;
    throw error;
  }
}

if (Symbol.dispose) Reader.prototype[Symbol.dispose] = Reader.prototype.free;

/** The bytes of a file of fixes, and the version that it must be for. */
async function fixesFor(source, list) {
  const text = new Uint8Array(await bytesFrom(source));
  return { text, version: `sha256=${await sha256(platform.crypto, list)}` };
}

async function signatureFrom(signature) {
  if (signature === undefined)
    throw new InvalidError('signature: the text, bytes or URL of the .minisig file', 'INVALID');
  if (typeof signature === 'string' && signature.includes('\n')) return signature;
  return bytesFrom(signature);
}

function joinParts(parts, n) {
  if (parts.length === 1) return parts[0];
  const all = new Uint8Array(n);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/**
 * One instance of a WebAssembly module, and its memory.
 *
 * The memory grows, and each growth detaches the views of the old buffer. So a view is asked for
 * again after every call that may allocate, and never kept.
 *
 * An exception that leaves the module (a trap, a call stack that is too deep) may have interrupted
 * a change: the instance is poisoned then, and every later call throws TrapError. has changes
 * nothing, so an exception from it does not poison.
 */
import { InvalidError, OutOfMemoryError, TrapError, errorOf } from './errors.js';

const KEY_ROOM = 4096; // bytes of a key that needs no allocation
const OUT_ROOM = 256; // bytes for results and small structs
const SHORT_KEY = 64; // characters that are faster to copy one by one than by a TextEncoder
export const MAX_SIZE = 0x7fffffff; // bytes of a block: half of the addresses
const MAX_RANDOM = 65536; // bytes that getRandomValues fills per call

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Heap {
  /**
   * @param {WebAssembly.Module} module
   * @param {Crypto} crypto
   */
  static async create(module, crypto) {
    let heap;
    const imports = {
      besom: {
        random: (at, n) => heap.fillRandom(at >>> 0, n >>> 0),
        now: () => performance.now(),
      },
    };
    const instance = await WebAssembly.instantiate(module, imports);
    heap = new Heap(instance.exports, crypto);
    return heap;
  }

  constructor(exports, crypto = globalThis.crypto) {
    this.exports = exports;
    this.crypto = crypto;
    this.poisoned = null;
    this._u8 = new Uint8Array(exports.memory.buffer);
    exports._initialize?.();
    this.stackTop = exports.__stack_pointer.value;
    this.out = this.allocate(OUT_ROOM); // for results of calls
    this.keyAt = this.allocate(KEY_ROOM);
    this.keyRoom = KEY_ROOM;
  }

  get u8() {
    if (this._u8.length === 0) this._u8 = new Uint8Array(this.exports.memory.buffer); // detached
    return this._u8;
  }

  get u32() {
    return new Uint32Array(this.exports.memory.buffer);
  }

  get view() {
    return new DataView(this.exports.memory.buffer);
  }

  fillRandom(at, n) {
    try {
      for (let i = 0; i < n; i += MAX_RANDOM)
        this.crypto.getRandomValues(this.u8.subarray(at + i, at + Math.min(n, i + MAX_RANDOM)));
      return 0;
    } catch {
      return 1;
    }
  }

  // -------------------------------------------------------------- calls

  /** Calls an export that may change something. */
  call(name, ...args) {
    if (this.poisoned) throw this.trapError();
    try {
      return this.exports[name](...args);
    } catch (error) {
      this.poisoned = error;
      throw this.trapError();
    }
  }

  /** Calls an export that returns a status. */
  check(what, name, ...args) {
    const status = this.call(name, ...args);
    if (status !== 0) throw this.error(status, what);
  }

  /** What a query throws after its call threw `error`: the stack of the module is as before it. */
  afterQuery(error) {
    this.exports.__stack_pointer.value = this.stackTop;
    return error;
  }

  trapError() {
    const text = 'the WebAssembly instance has failed and its filters are lost: open them again';
    return new TrapError(`${text} (${this.poisoned.message})`, 'TRAP', { cause: this.poisoned });
  }

  error(status, what) {
    return errorOf(status, this.string(this.call('besom_strerror', status)), what);
  }

  // -------------------------------------------------------------- memory

  allocate(size) {
    // A larger number would become a small one: arguments have 32 bits.
    const at = size <= MAX_SIZE ? this.call('malloc', size || 1) >>> 0 : 0;
    if (at === 0) throw new OutOfMemoryError(`no memory for ${size} bytes`, 'NO_MEMORY');
    return at;
  }

  release(at) {
    if (!this.poisoned) this.call('free', at);
  }

  /** Calls body with the address of a block, and frees the block afterwards. */
  with(size, body) {
    const at = this.allocate(size);
    try {
      return body(at);
    } finally {
      this.release(at);
    }
  }

  /** The C string at an address; null for NULL. */
  string(at) {
    at >>>= 0;
    if (at === 0) return null;
    const u8 = this.u8;
    return decoder.decode(u8.subarray(at, u8.indexOf(0, at)));
  }

  /** Copies the result of a call that filled a struct web_bytes at `out`, and frees it. */
  takeBytes(out) {
    const view = this.view, data = view.getUint32(out, true), len = view.getUint32(out + 4, true);
    const copy = this.u8.slice(data, data + len);
    this.release(data);
    return copy;
  }

  // -------------------------------------------------------------- keys

  /** Writes a key to the memory at keyAt, a string as UTF-8. Returns its length in bytes. */
  writeKey(key) {
    if (typeof key === 'string') {
      const length = key.length;
      if (length <= SHORT_KEY) {
        const u8 = this.u8, at = this.keyAt;
        let i = 0;
        for (; i < length; i++) {
          const c = key.charCodeAt(i);
          if (c > 127) break;
          u8[at + i] = c;
        }
        if (i === length) return length;
      }
      return this.writeLongKey(key);
    }
    const bytes = keyBytes(key);
    this.reserveKey(bytes.length);
    this.u8.set(bytes, this.keyAt);
    return bytes.length;
  }

  writeLongKey(key) {
    this.reserveKey(3 * key.length); // a UTF-16 unit has at most 3 bytes in UTF-8
    const room = this.u8.subarray(this.keyAt, this.keyAt + this.keyRoom);
    return encoder.encodeInto(key, room).written;
  }

  reserveKey(room) {
    if (room <= this.keyRoom) return;
    const at = this.allocate(room);
    this.release(this.keyAt);
    this.keyAt = at;
    this.keyRoom = room;
  }
}

/** The bytes of a Uint8Array, another view or an ArrayBuffer, not copied. */
export function bytesOf(value, what = 'bytes') {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new InvalidError(`${what}: a Uint8Array or ArrayBuffer is expected`, 'INVALID');
}

/** The bytes of a key that is not a string; a bigint is its 8 little-endian bytes. */
function keyBytes(key) {
  if (typeof key === 'bigint') {
    if (key < 0n || key >= 1n << 64n)
      throw new InvalidError('an integer key is from 0n to 2n ** 64n - 1n', 'INVALID');
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, key, true);
    return bytes;
  }
  if (typeof key !== 'object' || key === null)
    throw new InvalidError(`a key is a string, a bigint or bytes, not ${typeof key}`, 'INVALID');
  return bytesOf(key, 'a key');
}

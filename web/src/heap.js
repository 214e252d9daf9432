/**
 * One instance of a WebAssembly module, and its memory.
 *
 * The memory grows, and each growth detaches the views of the old buffer. So a view is asked for
 * again (u8, u32, f64, u64) after every call that may allocate, and never kept.
 *
 * A trap leaves the instance in an unknown state: it is poisoned then, and every later call throws
 * TrapError. The library itself never traps; a call stack that is too deep does.
 */
import { InvalidError, OutOfMemoryError, TrapError, errorOf } from './errors.js';

const KEY_ROOM = 4096; // bytes of a key that needs no allocation
const OUT_ROOM = 256; // bytes for results and small structs

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const MAX_RANDOM = 65536; // bytes that getRandomValues fills per call

export class Heap {
  /** @param {WebAssembly.Module} module */
  static async create(module) {
    let heap;
    const imports = {
      besom: {
        random: (at, n) => heap.fillRandom(at >>> 0, n >>> 0),
        now: () => performance.now(),
      },
    };
    const instance = await WebAssembly.instantiate(module, imports);
    heap = new Heap(instance.exports);
    return heap;
  }

  constructor(exports) {
    this.exports = exports;
    this.poisoned = null;
    this._u8 = new Uint8Array(exports.memory.buffer);
    exports._initialize?.();
    this.out = this.allocate(OUT_ROOM); // results of calls
    this.keyAt = this.allocate(KEY_ROOM);
    this.keyRoom = KEY_ROOM;
  }

  get u8() {
    // A detached view has length 0.
    if (this._u8.length === 0) this._u8 = new Uint8Array(this.exports.memory.buffer);
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
        crypto.getRandomValues(this.u8.subarray(at + i, at + Math.min(n, i + MAX_RANDOM)));
      return 0;
    } catch {
      return 1;
    }
  }

  /** Calls an export. A trap poisons the instance. */
  call(name, ...args) {
    if (this.poisoned) throw this.trapError();
    try {
      return this.exports[name](...args);
    } catch (error) {
      throw this.poison(error);
    }
  }

  /** The instance is unusable from now on. Returns the error to throw. */
  poison(cause) {
    this.poisoned = cause;
    return this.trapError();
  }

  trapError() {
    const text = 'the WebAssembly instance has failed; its filters are lost: open them again';
    return new TrapError(`${text} (${this.poisoned.message})`, 'TRAP', { cause: this.poisoned });
  }

  /** Calls an export that returns a status; throws unless it is OK or in `also`. */
  check(what, name, ...args) {
    const status = this.call(name, ...args);
    if (status !== 0) throw this.error(status, what);
  }

  error(status, what) {
    return errorOf(status, this.string(this.call('besom_strerror', status)), what);
  }

  allocate(size) {
    const at = this.call('malloc', size || 1) >>> 0;
    if (at === 0) throw new OutOfMemoryError(`no memory for ${size} bytes`, 'NO_MEMORY');
    return at;
  }

  release(at) {
    if (!this.poisoned) this.call('free', at);
  }

  /** Calls body with a block of memory, and frees it afterwards. */
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
    const u32 = this.u32, data = u32[out / 4], len = u32[out / 4 + 1];
    const copy = this.u8.slice(data, data + len);
    this.release(data);
    return copy;
  }

  /**
   * Writes a key, a string as UTF-8, to the memory at keyAt. Returns its length in bytes.
   */
  writeKey(key) {
    if (typeof key === 'string') {
      const length = key.length;
      if (length <= 64) {
        const u8 = this.u8, at = this.keyAt;
        let i = 0;
        for (; i < length; i++) {
          const c = key.charCodeAt(i);
          if (c > 127) break;
          u8[at + i] = c;
        }
        if (i === length) return length;
      }
      this.reserveKey(3 * length);
      const room = this.u8.subarray(this.keyAt, this.keyAt + this.keyRoom);
      return encoder.encodeInto(key, room).written;
    }
    const bytes = bytesOf(key);
    this.reserveKey(bytes.length);
    this.u8.set(bytes, this.keyAt);
    return bytes.length;
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
export function bytesOf(value) {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new InvalidError('a string or bytes (Uint8Array, ArrayBuffer) are expected', 'INVALID');
}

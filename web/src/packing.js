/**
 * Many keys as bytes one after the other: key i is bytes[offsets[i]] to bytes[offsets[i + 1]].
 */
import { InvalidError } from './errors.js';
import { bytesOf } from './heap.js';

const BYTES = 1 << 17; // of a part: it stays in the processor's cache
const KEYS = 1 << 13;

/** Whether a value is { bytes, offsets }. */
export function isPacked(value) {
  return typeof value === 'object' && value !== null && 'bytes' in value && 'offsets' in value;
}

function checkPacked({ bytes, offsets }) {
  if (!(offsets instanceof Uint32Array) || offsets.length === 0)
    throw new InvalidError('offsets: a Uint32Array with one more element than keys', 'INVALID');
  const u8 = bytesOf(bytes, 'bytes');
  if (offsets[offsets.length - 1] > u8.length)
    throw new InvalidError('offsets: the last one is after the end of bytes', 'INVALID');
  return u8;
}

/** Memory of a heap for one part of the keys. */
class Part {
  constructor(heap) {
    this.heap = heap;
    this.at = heap.allocate(BYTES + 4 * (KEYS + 1) + KEYS);
  }

  get offsetsAt() {
    return this.at + BYTES;
  }

  get answersAt() {
    return this.offsetsAt + 4 * (KEYS + 1);
  }

  get offsets() {
    return new Uint32Array(this.heap.exports.memory.buffer, this.offsetsAt, KEYS + 1);
  }

  free() {
    this.heap.release(this.at);
  }
}

/**
 * Calls use(bytesAt, length, offsetsAt, n, answersAt, first) for parts of the keys, which are in
 * the memory of the heap. `first` is the number of keys before the part.
 */
export function forPackedParts(heap, packed, use) {
  const u8 = checkPacked(packed), all = packed.offsets, n = all.length - 1;
  const part = new Part(heap);
  try {
    for (let i = 0; i < n;) {
      let end = Math.min(n, i + KEYS);
      while (end > i + 1 && all[end] - all[i] > BYTES) end = i + ((end - i) >> 1);
      const from = all[i], length = all[end] - from;
      if (length < 0) throw new InvalidError('offsets: they must ascend', 'INVALID');
      const offsets = part.offsets;
      for (let k = i; k <= end; k++) offsets[k - i] = all[k] - from;
      const put = (at) => {
        heap.u8.set(u8.subarray(from, from + length), at);
        use(at, length, part.offsetsAt, end - i, part.answersAt, i);
      };
      if (length <= BYTES) put(part.at);
      else heap.with(length, put);
      i = end;
    }
  } finally {
    part.free();
  }
}

/** The same for single keys: add each, then finish. */
export class KeyWriter {
  constructor(heap, use) {
    this.heap = heap;
    this.use = use;
    this.part = new Part(heap);
    this.first = this.n = this.used = 0;
    this.offsets = this.part.offsets;
  }

  add(key) {
    const heap = this.heap, length = heap.writeKey(key); // may allocate: the views are stale then
    if (this.n === KEYS || this.used + length > BYTES) this.flush();
    if (length > BYTES) {
      this.offsets = this.part.offsets;
      this.offsets[0] = 0;
      this.offsets[1] = length;
      this.use(heap.keyAt, length, this.part.offsetsAt, 1, this.part.answersAt, this.first++);
      return;
    }
    const u8 = heap.u8, from = heap.keyAt, to = this.part.at + this.used;
    if (length <= 32) for (let i = 0; i < length; i++) u8[to + i] = u8[from + i];
    else u8.copyWithin(to, from, from + length);
    this.used += length;
    if (this.offsets.length === 0) this.offsets = this.part.offsets;
    this.offsets[++this.n] = this.used;
  }

  flush() {
    if (this.n === 0) return;
    this.part.offsets[0] = 0;
    const { at, offsetsAt, answersAt } = this.part;
    this.use(at, this.used, offsetsAt, this.n, answersAt, this.first);
    this.first += this.n;
    this.n = this.used = 0;
  }

  free() {
    this.part.free();
  }
}

/** Packs strings and bytes, for hasMany and build: once, if they are used several times. */
export function pack(keys) {
  const encoder = new TextEncoder(), parts = [], offsets = [0];
  let length = 0;
  for (const key of keys) {
    const bytes = typeof key === 'string' ? encoder.encode(key) : bytesOf(key, 'a key');
    parts.push(bytes);
    length += bytes.length;
    if (length > 0xffffffff) throw new InvalidError('packed keys have less than 4 GiB', 'INVALID');
    offsets.push(length);
  }
  const bytes = new Uint8Array(length);
  parts.forEach((part, i) => bytes.set(part, offsets[i]));
  return { bytes, offsets: Uint32Array.from(offsets) };
}

/** Filters that are read and changed: what the full module adds to a Reader. */
import { InvalidError, OutOfMemoryError } from './errors.js';
import { bytesOf } from './heap.js';
import { KeyWriter, forPackedParts, isPacked } from './packing.js';
import { newHeap, sharedHeap } from './module.js';
import { OK, Reader } from './reader.js';

// Offsets in struct besom_config; full_calls.c asserts them.
const CONFIG_BYTES = 120;
const STRINGS = { kind: 0, options: 4, hash: 8 };
const COUNTS = {
  capacity: 16, maxCapacity: 24, slots: 48, noCapacity: 72, buildMemory: 80, copies: 112,
};
const DOUBLES = { fpr: 32, bitsPerKey: 40, reserve: 64, repeated: 104 };
const WORDS = { width: 56, valueBits: 60 };
const SEED_AT = 12, SEED_BYTES = 16, FLAGS_AT = 88, DISTINCT = 2;
const OTHER = ['no', 'like', 'isolated', 'seed', 'distinct'];
const WITH_LIKE = ['no', 'like']; // the library reads no configuration then

const STATS_DOUBLES = {
  bitsPerKey: 56, loadFactor: 64, expectedFpr: 72, fprAtCapacity: 80, workloadFpr: 88,
  reserveUsed: 96,
};
const COUNTERS = 64, COUNTER_BYTES = 16;

const NOT_FOUND = 8;

function readCounter(heap, memory, i) {
  const view = heap.view, at = memory + COUNTER_BYTES * i;
  return [heap.string(view.getUint32(at, true)), Number(view.getBigUint64(at + 8, true))];
}

function checkOptions(options) {
  const known = [STRINGS, COUNTS, DOUBLES, WORDS].flatMap(Object.keys).concat(OTHER);
  for (const name of Object.keys(options))
    if (!known.includes(name))
      throw new InvalidError(`unknown option ${name}: one of ${known.join(', ')}`, 'INVALID');
    else if (options.like !== undefined && !WITH_LIKE.includes(name) && options[name] !== undefined)
      throw new InvalidError(`${name}: like decides it`, 'INVALID');
}

/** Calls body with the address of a besom_config; strings and seed are freed afterwards. */
function withConfig(heap, options, body) {
  const blocks = [];
  const put = (bytes) => {
    const at = heap.allocate(bytes.length);
    blocks.push(at);
    heap.u8.set(bytes, at);
    return at;
  };
  try {
    const at = put(new Uint8Array(CONFIG_BYTES)), pointers = [];
    for (const [name, offset] of Object.entries(STRINGS))
      if (options[name] !== undefined)
        pointers.push([offset, put(new TextEncoder().encode(`${options[name]}\0`))]);
    if (options.seed !== undefined) {
      const seed = bytesOf(options.seed, 'seed');
      if (seed.length !== SEED_BYTES) throw new InvalidError('seed: 16 bytes', 'INVALID');
      pointers.push([SEED_AT, put(seed)]);
    }
    const view = heap.view;
    for (const [offset, pointer] of pointers) view.setUint32(at + offset, pointer, true);
    writeNumbers(view, at, options);
    return body(at);
  } finally {
    blocks.forEach((block) => heap.release(block));
  }
}

function writeNumbers(view, at, options) {
  const each = (offsets, write) => {
    for (const [name, offset] of Object.entries(offsets))
      if (options[name] !== undefined) write(at + offset, options[name], name);
  };
  each(COUNTS, (to, value, name) => {
    if (!(value >= 0) || !Number.isSafeInteger(Number(value)))
      throw new InvalidError(`${name} is ${value}: a whole number`, 'INVALID');
    view.setBigUint64(to, BigInt(value), true);
  });
  each(DOUBLES, (to, value, name) => {
    if (typeof value !== 'number') throw new InvalidError(`${name}: a number`, 'INVALID');
    view.setFloat64(to, value, true);
  });
  each(WORDS, (to, value, name) => {
    if (value !== value >>> 0) throw new InvalidError(`${name} is ${value}: a whole number`, 'INVALID');
    view.setUint32(to, value, true);
  });
  view.setUint32(at + FLAGS_AT, options.distinct ? DISTINCT : 0, true);
}

/** Copies the keys of an iterable, also an asynchronous one, into a list of the heap. */
async function listOf(heap, keys) {
  const list = heap.call('besom_web_keys_new') >>> 0;
  const add = (bytes, length, offsets, n) =>
    heap.check('build', 'besom_web_keys_add', list, bytes, length, offsets, n);
  try {
    if (list === 0) throw new OutOfMemoryError('no memory for the keys', 'NO_MEMORY');
    if (isPacked(keys)) {
      forPackedParts(heap, keys, add);
      return list;
    }
    const writer = new KeyWriter(heap, add);
    try {
      if (keys?.[Symbol.iterator] && typeof keys !== 'string')
        for (const key of keys) writer.add(key);
      else if (keys?.[Symbol.asyncIterator]) for await (const key of keys) writer.add(key);
      else throw new InvalidError('build: an iterable of keys is expected', 'INVALID');
      writer.flush();
    } finally {
      writer.free();
    }
    return list;
  } catch (error) {
    if (!heap.poisoned) heap.call('besom_web_keys_free', list);
    throw error;
  }
}

export class Filter extends Reader {
  static inPlace = false;

  /**
   * Builds a filter of all keys. options: no (keys that are answered no), fpr (default 1/256), kind
   * (default aqf), seed, and the other members of besom_config; like: a filter whose kind, geometry
   * and seed are used, so that diff is small. isolated: an instance of its own.
   */
  static async build(keys, options = {}) {
    checkOptions(options);
    if (options.like !== undefined && !(options.like instanceof Filter))
      throw new InvalidError('like: a Filter of this module is expected', 'INVALID');
    options.like?.at; // throws if it was freed
    const heap = options.like?.heap ?? (await (options.isolated ? newHeap() : sharedHeap()));
    let yes = 0, no = 0;
    try {
      yes = await listOf(heap, keys);
      if (options.no !== undefined) no = await listOf(heap, options.no);
      const like = options.like?.at ?? 0; // now: it may have been freed or patched meanwhile
      return withConfig(heap, { kind: 'aqf', ...options }, (config) => {
        const status = heap.call('besom_web_build', like ? 0 : config, CONFIG_BYTES, yes, no, like,
          heap.out);
        if (status !== OK) throw configError(heap, status, like ? 0 : config, 'not built');
        return new this(heap, heap.view.getUint32(heap.out, true));
      });
    } finally {
      for (const list of [yes, no]) if (!heap.poisoned) heap.call('besom_web_keys_free', list);
    }
  }

  /** An empty filter: capacity and fpr, or the other members of besom_config. */
  static async create(options) {
    checkOptions(options);
    const heap = await (options.isolated ? newHeap() : sharedHeap());
    return withConfig(heap, { kind: 'aqf', ...options }, (config) => {
      const status = heap.call('besom_create_sized', config, CONFIG_BYTES, heap.out);
      if (status !== OK) throw configError(heap, status, config, 'not created');
      return new this(heap, heap.view.getUint32(heap.out, true));
    });
  }

  /** Adds a key. FullError: no room. It ends the fixes of open: they say that keys are absent. */
  insert(key) {
    this.change('not inserted', 'besom_insert', key, OK);
    this.closeFixes();
  }

  /** Removes a member. Returns false if there is no such key. */
  remove(key) {
    return this.change('not removed', 'besom_remove', key, NOT_FOUND) === OK;
  }

  /** Adds a key to the no list, or removes it from there. */
  addNo(key) {
    this.change('not added', 'besom_no_add', key, OK);
  }

  removeNo(key) {
    return this.change('not removed', 'besom_no_remove', key, NOT_FOUND) === OK;
  }

  /** Statistics (besom_statistics), and the counters of the kind by name. */
  get stats() {
    const { heap, at } = this, stats = super.stats; // fills the struct
    const view = heap.view, from = heap.out;
    stats.width = view.getUint32(from + 40, true);
    stats.slots = Number(view.getBigUint64(from + 32, true));
    stats.bytes = Number(view.getBigUint64(from + 48, true));
    for (const [name, offset] of Object.entries(STATS_DOUBLES))
      stats[name] = view.getFloat64(from + offset, true);
    stats.counters = heap.with(COUNTER_BYTES * COUNTERS, (memory) => {
      const n = Math.min(COUNTERS, heap.call('besom_counters', at, memory, COUNTERS));
      return Object.fromEntries(Array.from({ length: n }, (_, i) => readCounter(heap, memory, i)));
    });
    return stats;
  }

  /** The patch that makes `fresh` from this filter. */
  diff(fresh) {
    const heap = this.heap;
    if (fresh.heap !== heap)
      throw new InvalidError('diff: both filters must be in one instance', 'INVALID');
    heap.check('diff', 'besom_web_diff', this.at, fresh.at, heap.out);
    return heap.takeBytes(heap.out);
  }
}

/** The error for a failed build; if the configuration is wrong, it says what. */
function configError(heap, status, config, what) {
  const error = heap.error(status, what), room = 200;
  if (!(error instanceof InvalidError) || !config) return error;
  return heap.with(room, (text) => {
    const view = heap.view, at = config + COUNTS.capacity;
    if (view.getBigUint64(at, true) === 0n) view.setBigUint64(at, 1n, true); // the keys decide it
    if (heap.call('besom_config_check_sized', config, CONFIG_BYTES, text, room) !== OK)
      error.message = `${what}: ${heap.string(text)}`;
    return error;
  });
}

// The worker: runs the library. The page sends {id, call, args}; the answer is {id, result} or
// {id, error}.
'use strict';

let lib, memory;

const bytes = () => new Uint8Array(memory.buffer);
const integers = (at, n) => Array.from(new Int32Array(memory.buffer, at, n));
const text = (at) => {
  const all = bytes();
  let end = at;
  while (all[end]) end++;
  return new TextDecoder().decode(all.slice(at, end));
};

// Calls use(pointer, length) with a copy of the key in the memory of the module.
function withKey(key, use) {
  const data = new TextEncoder().encode(key), at = lib.malloc(data.length + 1);
  bytes().set(data, at);
  try {
    return use(at, data.length);
  } finally {
    lib.free(at);
  }
}

// What the module needs of its host (web/wasm/system.c).
const imports = () => ({besom: {
  random(at, n) {
    for (let i = at; i < at + n; i += 65536) {
      crypto.getRandomValues(bytes().subarray(i, Math.min(at + n, i + 65536)));
    }
    return 0;
  },
  now: () => performance.now(),
}});

const statusText = (status) => ({status, text: text(lib.besom_strerror(status))});

// ------------------------------------------------------------------ the table

// The members of the structs of table.h.
const ANSWER = ['yes', 'member', 'plainYes', 'quotient', 'remainder', 'runStart', 'runEnd',
  'suffix', 'digest', 'matches'];
const TOTALS = ['slots', 'room', 'width', 'used', 'fingerprints', 'records', 'capacity',
  'extensionBits', 'reserveUsed'];
const FINGERPRINT = ['position', 'slots', 'quotient', 'remainder', 'extensionBits', 'extension',
  'tombstone', 'record'];
const SLOT = ['state', 'occupied', 'runEnd', 'content', 'quotient', 'fingerprint'];
const MOST_MATCHES = 8;

const named = (names, values) => Object.fromEntries(names.map((name, i) => [name, values[i]]));

function rows(names, values) {
  const n = names.length;
  return Array.from({length: values.length / n}, (_, i) => named(names, values.slice(i * n)));
}

// Calls use(pointer) with memory for n integers.
function withIntegers(n, use) {
  const at = lib.malloc(4 * Math.max(n, 1));
  try {
    return use(at);
  } finally {
    lib.free(at);
  }
}

function look(key) {
  const size = ANSWER.length + MOST_MATCHES;
  return withKey(key, (at, len) => withIntegers(size, (out) => {
    const status = lib.playground_look(at, len, out), values = integers(out, size);
    if (status) return statusText(status);
    const answer = named(ANSWER, values), match = values.slice(ANSWER.length);
    return {status: 0, ...answer, match: match.slice(0, answer.matches)};
  }));
}

function snapshot() {
  const totals = named(TOTALS, integers(lib.playground_totals(), TOTALS.length));
  const first = totals.room * SLOT.length, second = totals.fingerprints * FINGERPRINT.length;
  return withIntegers(first + second, (at) => {
    lib.playground_describe(at, at + 4 * first);
    const slots = rows(SLOT, integers(at, first));
    const fingerprints = rows(FINGERPRINT, integers(at + 4 * first, second));
    for (const f of fingerprints) {
      f.key = f.record < 0 ? null : text(lib.playground_record(f.record));
    }
    return {totals, slots, fingerprints};
  });
}

function run([operation, key]) {
  const call = lib[`playground_${operation}`];
  return withKey(key, (at, len) => call(at, len));
}

const yeses = (keys) => keys.filter((key) => look(key).yes);

// ------------------------------------------------------------------ the race

// The members of race_numbers in race.h.
const NUMBERS = ['queries', 'falsePositives', 'repeats', 'neededReads', 'reads', 'falseNegatives',
  'bitsPerKey', 'adapted', 'reserveUsed', 'status'];

function lanes() {
  return Array.from({length: lib.playground_race_filters()}, (_, i) => {
    const at = lib.playground_race_read(i);
    const numbers = new Float64Array(memory.buffer, at, NUMBERS.length);
    return {kind: text(lib.playground_race_kind(i)), ...named(NUMBERS, numbers)};
  });
}

const calls = {
  async start(wasm) {
    const {instance} = await WebAssembly.instantiate(wasm, imports());
    lib = instance.exports;
    memory = lib.memory;
    if (lib._initialize) lib._initialize();
    return text(lib.besom_version());
  },
  // Makes the table again and runs all operations.
  table({slots, width, seed, operations, absent}) {
    const made = lib.playground_table(slots, width, seed);
    if (made) return statusText(made);
    for (const operation of operations) run(operation);
    return {status: 0, ...snapshot(), yeses: yeses(absent)};
  },
  look,
  operate({operation, absent}) {
    const answer = look(operation[1]);
    if (answer.status) return {...answer, answer};
    const status = statusText(run(operation)), after = look(operation[1]);
    return {...status, answer, after, ...snapshot(), yeses: yeses(absent)};
  },
  race({seed, members, universe, skew, attack, bitsPerKey, past}) {
    const status = lib.playground_race(seed, members, universe, skew, attack, bitsPerKey, past);
    return {...statusText(status), lanes: status ? [] : lanes()};
  },
  run({queries}) {
    lib.playground_race_run(queries);
    return lanes();
  },
};

onmessage = async ({data: {id, call, args}}) => {
  try {
    postMessage({id, result: await calls[call](args)});
  } catch (error) {
    postMessage({id, error: String(error)});
  }
};

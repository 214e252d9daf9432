/**
 * queries.mjs [PACKAGE [KINDS]]: queries per second of a filter of a million keys in Node, for
 * bench/records/speed.md. CPU time, median of runs that alternate between the calls.
 */
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const root = pathToFileURL(`${resolve(process.argv[2] ?? 'build/npm')}/`);
const { Filter, pack } = await import(new URL('besom.node.mjs', root));
const reader = await import(new URL('reader.node.mjs', root));

const KEYS = 1_000_000, QUERIES = 200_000, RUNS = 9;
const nameOf = (i) => `host-${i}.example.com`;
function* names() {
  for (let i = 0; i < KEYS; i++) yield nameOf(i);
}
const queries = Array.from({ length: QUERIES }, (_, i) =>
  i % 2 ? nameOf((i * 7919) % KEYS) : `absent-${i}.example.org`);
const bytes = queries.map((key) => new TextEncoder().encode(key));
const packed = pack(queries);

function each(filter, keys) {
  let yes = 0;
  for (const key of keys) if (filter.has(key)) yes++;
  return yes;
}

function sum(answers) {
  let yes = 0;
  for (let i = 0; i < answers.length; i++) yes += answers[i];
  return yes;
}

/** Milliseconds of this process: other processes do not count. */
function now() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function measure(kind) {
  const full = await Filter.build(names(), { kind, fpr: 1 / 256 });
  const small = await reader.Filter.open(full.save());
  const cases = {
    'has(string)': () => each(full, queries),
    'has(Uint8Array)': () => each(full, bytes),
    'hasMany(strings)': () => sum(full.hasMany(queries)),
    'hasMany(packed)': () => sum(full.hasMany(packed)),
    'reader: has(string)': () => each(small, queries),
    'reader: hasMany(packed)': () => sum(small.hasMany(packed)),
  };
  const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  let expected;
  for (let run = -3; run < RUNS; run++)
    for (const [name, body] of Object.entries(cases)) {
      const start = now(), yes = body();
      if (run >= 0) times[name].push(now() - start);
      if (yes !== (expected ??= yes)) throw new Error(`${name}: ${yes} instead of ${expected}`);
    }
  for (const [name, list] of Object.entries(times)) {
    const ms = list.sort((a, b) => a - b)[list.length >> 1];
    console.log(`${kind.padEnd(14)} ${name.padEnd(24)} ${(QUERIES / ms / 1000).toFixed(1)} million/s`);
  }
  full.free();
  small.free();
}

const kinds = (process.argv[3] ?? 'aqf,fuse,ribbon,blocked-bloom').split(',');
for (const kind of kinds) await measure(kind);

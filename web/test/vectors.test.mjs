/** The files of tests/vectors answer as in every language. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { besom, reader } from './support.mjs';

const VECTORS = new URL('../../tests/vectors/', import.meta.url);
const GOLDEN = 0x9e3779b97f4a7c15n, QUERIES = 1 << 14;
const u64 = (x) => BigInt.asUintN(64, x);

function mix(x) {
  x = u64((x ^ x >> 30n) * 0xbf58476d1ce4e5b9n);
  x = u64((x ^ x >> 27n) * 0x94d049bb133111ebn);
  return x ^ x >> 31n;
}

/** The bytes of key number n of vectors.h; an integer is the key of its 8 bytes. */
function key(n) {
  const r = mix(u64((n + 1n) * GOLDEN));
  const isInteger = r % 4n === 0n, length = isInteger ? 8 : Number((r >> 8n) % 301n);
  const bytes = new DataView(new ArrayBuffer(304));
  for (let k = 0; 8 * k < length; k++)
    bytes.setBigUint64(8 * k, isInteger ? mix(r) : mix(u64(r + BigInt(k + 1) * GOLDEN)), true);
  return new Uint8Array(bytes.buffer, 0, length);
}

function query(i) {
  const s = mix(BigInt(i) ^ 0x76656374n);
  return s % 2n ? s / 2n % 3000n : 3000n + BigInt(i);
}

function crc32(data) {
  let crc = ~0;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc >>> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (~crc >>> 0).toString(16).padStart(8, '0');
}

const keys = Array.from({ length: QUERIES }, (_, i) => key(query(i)));
const linesOf = (name) => readFileSync(new URL(name, VECTORS), 'utf8').trim().split('\n');
const NOT_READ = /^(pqf|scaling|maplet-scaling|adaptive-stacked)[-.]/; // by reader.mjs

for (const [name, module] of Object.entries({ besom, reader })) {
  test(`vectors, ${name}`, async () => {
    let opened = 0;
    for (const line of linesOf('expected.txt')) {
      const [file, crc, yes] = line.split(' ');
      if (module === reader && NOT_READ.test(file)) continue;
      const filter = await module.Filter.open(readFileSync(new URL(file, VECTORS)));
      const answers = new Uint8Array(QUERIES / 8);
      let found = 0;
      keys.forEach((k, i) => {
        if (!filter.has(k)) return;
        answers[i >> 3] |= 1 << (i & 7);
        found++;
      });
      assert.deepEqual([found, crc32(answers)], [Number(yes), crc], file);
      filter.free();
      opened++;
    }
    assert.ok(opened > 50);
  });

  test(`vectors of maps, ${name}`, async () => {
    let opened = 0;
    for (const line of linesOf('maps.txt')) {
      const [file, crc, candidates] = line.split(' ');
      if (module === reader && NOT_READ.test(file)) continue;
      const filter = await module.Filter.open(readFileSync(new URL(file, VECTORS)));
      const answers = [];
      let found = 0;
      for (const k of keys) {
        const values = filter.candidates(k);
        answers.push(values.length, ...[...values].flatMap((value) => [value & 255, value >> 8]));
        found += values.length;
      }
      assert.deepEqual([found, crc32(answers)], [Number(candidates), crc], file);
      filter.free();
      opened++;
    }
    assert.equal(opened, module === reader ? 3 : 4);
  });
}

/** Saved filters: golden files, damaged files, memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { besom, falsePositive, golden, keysOf, reader } from './support.mjs';

/** Kinds that only the full module has. */
const NOT_IN_READER = /^(scaling|adaptive-stacked|pqf)-/;

test('golden files are rewritten byte for byte by the full module', async () => {
  for (const { name, bytes } of golden()) {
    const filter = await besom.Filter.open(bytes);
    assert.deepEqual(filter.save(), bytes, name);
    filter.validate();
    filter.free();
  }
});

test('golden files are rewritten byte for byte by the reader', async () => {
  for (const { name, bytes } of golden()) {
    if (NOT_IN_READER.test(name)) {
      await assert.rejects(reader.Filter.open(bytes), reader.NewerVersionError, name);
      continue;
    }
    const filter = await reader.Filter.open(bytes);
    assert.deepEqual(filter.save(), bytes, name);
    filter.validate();
    filter.free();
  }
});

test('both modules give the same answers', async () => {
  const keys = Array.from({ length: 2000 }, (_, i) => BigInt(i));
  for (const { name, bytes } of golden()) {
    if (NOT_IN_READER.test(name)) continue;
    const full = await besom.Filter.open(bytes), small = await reader.Filter.open(bytes);
    const answers = full.hasMany(keys);
    assert.deepEqual(small.hasMany(keys), answers, name);
    keys.forEach((key, i) => {
      assert.equal(full.has(key), answers[i] === 1, name);
      assert.equal(small.has(key), answers[i] === 1, name);
    });
    full.free();
    small.free();
  }
});

/** Filters that answer false positives only with their stored keys. */
const NO_REPORTS = /-published-/;

test('reports of the reader are those of the full module, byte for byte', async () => {
  for (const { name, bytes } of golden()) {
    if (NOT_IN_READER.test(name)) continue;
    const full = await besom.Filter.open(bytes), small = await reader.Filter.open(bytes);
    const keys = Array.from({ length: 4 }, () => falsePositive(small));
    for (const key of keys) {
      if (NO_REPORTS.test(name)) {
        assert.throws(() => small.report(key), reader.UnsupportedError, name);
        assert.throws(() => full.report(key), besom.UnsupportedError, name);
        assert.ok(small.has(key), name);
        continue;
      }
      assert.equal(small.report(key), full.report(key), name);
      assert.ok(!small.has(key), name);
    }
    if (!NO_REPORTS.test(name)) // of a key that is answered no
      assert.equal(small.report('surely absent'), full.report('surely absent'), name);
    small.validate();
    const saved = small.save();
    assert.deepEqual(saved, full.save(), name);
    const again = await reader.Filter.open(saved);
    assert.deepEqual(again.save(), saved, name);
    assert.deepEqual(again.hasMany(keys), small.hasMany(keys), name);
    for (const filter of [full, small, again]) filter.free();
  }
});

test('a damaged file is an error that names the place, and never a trap', async () => {
  for (const module of [besom, reader])
    for (const { name, bytes } of golden().filter((_, i) => i % 4 === 0))
      for (let at = 0; at < bytes.length; at += 37) {
        const damaged = bytes.slice();
        damaged[at] ^= 1 << (at % 8);
        await assert.rejects(module.Filter.open(damaged), (error) => {
          assert.ok(error instanceof module.CorruptError || error instanceof module.NewerVersionError,
            `${name} at ${at}: ${error}`);
          return true;
        });
      }
});

test('a file that is cut short, empty or something else is an error', async () => {
  const { bytes } = golden().find(({ name }) => name.startsWith('aqf-v1'));
  for (const length of [0, 1, 63, 64, 100, bytes.length - 1])
    await assert.rejects(besom.Filter.open(bytes.slice(0, length)), besom.CorruptError);
  await assert.rejects(besom.Filter.open(new TextEncoder().encode('<!doctype html>'.repeat(9))),
    { name: 'CorruptError', message: /not a saved filter/ });
  await assert.rejects(besom.Filter.open(42), besom.InvalidError);
  await assert.rejects(besom.Filter.open('/no/such/file'), besom.FetchError);
});

test('bytes may be a view, an ArrayBuffer, a Blob, a Response, a URL', async () => {
  const { name, bytes } = golden().find((file) => file.name.startsWith('fuse'));
  const padded = new Uint8Array(bytes.length + 7);
  padded.set(bytes, 7);
  const url = new URL(`../../tests/golden/${name}`, import.meta.url);
  const sources = [padded.subarray(7), bytes.buffer, new Blob([bytes]), new Response(bytes), url,
    String(url)];
  for (const source of sources) {
    const filter = await reader.Filter.open(source);
    assert.deepEqual(filter.save(), bytes);
    filter.free();
  }
  await assert.rejects(reader.Filter.open(new Response('', { status: 404 })), reader.FetchError);
});

test('without memory there is an error, and other filters go on', async () => {
  const keys = keysOf('k', 100), filter = await besom.Filter.build(keys);
  for (const capacity of [2 ** 31, 2 ** 33, 2 ** 35, 2 ** 44])
    for (const kind of ['qf', 'aqf', 'broom', 'bloom', 'cf', 'cached'])
      await assert.rejects(besom.Filter.create({ kind, capacity }), (error) => {
        assert.ok(error instanceof besom.OutOfMemoryError || error instanceof besom.InvalidError,
          `${kind} ${capacity}: ${error}`);
        return true;
      });
  assert.ok(keys.every((key) => filter.has(key)));
  filter.free();
});

test('memory of freed filters is used again, and views survive growth', async () => {
  const first = await besom.Filter.build(keysOf('a', 1000)), { memory } = first.heap.exports;
  const keys = keysOf('b', 50000), sizes = [];
  for (let i = 0; i < 6; i++) {
    const other = await besom.Filter.build(keys); // grows the memory at first
    assert.ok(first.has('a7') && first.hasMany(['a8'])[0] && other.has('b7'));
    other.free();
    sizes.push(memory.buffer.byteLength);
  }
  assert.equal(sizes[1], sizes[5]);
  first.free();
});

test('an isolated filter has a memory of its own', async () => {
  const one = await besom.Filter.build(['x'], { isolated: true });
  const two = await besom.Filter.open(one.save(), { isolated: true });
  assert.notEqual(one.heap.exports.memory, two.heap.exports.memory);
  assert.ok(one.has('x') && two.has('x'));
  assert.throws(() => one.diff(two), besom.InvalidError);
});

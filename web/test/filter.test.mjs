/** The interface of Filter. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { PACKAGE, SEED, besom, falsePositive, keysOf, reader } from './support.mjs';

const { Filter, pack } = besom;
const members = keysOf('key-', 5000);

test('has, hasMany and packed keys agree, for short, long and non-ASCII keys', async () => {
  const keys = [...members, '', 'é', '日本語', '😀', 'x'.repeat(64), 'y'.repeat(65), 'z'.repeat(5000),
    'ü'.repeat(300000), new Uint8Array([0, 255, 0]), 17n, 2n ** 64n - 1n];
  const filter = await Filter.build(keys);
  assert.equal(filter.stats.keys, keys.length);
  assert.ok(keys.every((key) => filter.has(key)));
  assert.ok(filter.hasMany(keys).every((answer) => answer === 1));
  const queries = [...keysOf('absent-', 20000), 'ü'.repeat(299999), ...keys.slice(0, -2)];
  const single = Uint8Array.from(queries, (key) => (filter.has(key) ? 1 : 0));
  assert.deepEqual(filter.hasMany(queries), single);
  assert.deepEqual(filter.hasMany(pack(queries)), single);
  assert.equal(filter.hasMany([]).length, 0);
  assert.equal(filter.hasMany(pack([])).length, 0);
  filter.free();
});

test('a string is its UTF-8 bytes, an integer its 8 little-endian bytes', async () => {
  const filter = await Filter.build(['é', 258n], { fpr: 1e-9 });
  assert.ok(filter.has(new Uint8Array([0xc3, 0xa9])));
  assert.ok(filter.has(new Uint8Array([2, 1, 0, 0, 0, 0, 0, 0])));
  assert.ok(!filter.has(259n));
  for (const key of [undefined, null, 5, {}, -1n, 2n ** 64n, Symbol('x')])
    assert.throws(() => filter.has(key), besom.InvalidError);
  filter.free();
});

test('packed keys with wrong offsets are refused', async () => {
  const filter = await Filter.build(members);
  const bytes = new Uint8Array(10);
  for (const offsets of [[0, 11], [0, 6, 5], [4, 2], [0, 2 ** 32 - 1, 4]])
    assert.throws(() => filter.hasMany({ bytes, offsets: Uint32Array.from(offsets) }),
      besom.InvalidError);
  assert.throws(() => filter.hasMany({ bytes, offsets: [0, 1] }), besom.InvalidError);
  assert.ok(filter.has(members[0]));
  filter.free();
});

test('build takes any iterable, a no list, and options', async () => {
  async function* later() { yield* members; }
  const no = keysOf('no-', 3000);
  for (const keys of [members, new Set(members), pack(members), later()]) {
    const filter = await Filter.build(keys, { no, fpr: 0.01, seed: SEED });
    assert.ok(members.every((key) => filter.has(key)));
    assert.ok(no.every((key) => !filter.has(key)));
    filter.free();
  }
});

test('the same keys and seed make the same file', async () => {
  const one = await Filter.build(members, { seed: SEED });
  const two = await Filter.build([...members].reverse(), { seed: SEED, isolated: true });
  assert.deepEqual(one.save(), two.save());
  assert.notDeepEqual((await Filter.build(members)).save(), (await Filter.build(members)).save());
});

test('errors name the cause', async () => {
  const cases = [
    [{ fpr: 2 }, besom.InvalidError, /fpr is 2: above 0 and below 1/],
    [{ kind: 'none' }, besom.InvalidError, /kind "none" is unknown/],
    [{ hash: 'md5' }, besom.InvalidError, /hash "md5" is unknown/],
    [{ colour: 1 }, besom.InvalidError, /unknown option colour/],
    [{ capacity: 3 }, besom.FullError, /full/],
    [{ no: [members[1]] }, besom.MemberError, /member/],
    [{ seed: new Uint8Array(3) }, besom.InvalidError, /16 bytes/],
    [{ capacity: 1.5 }, besom.InvalidError, /whole number/],
    [{ width: -1 }, besom.InvalidError, /whole number/],
    [{ seed: '0123456789abcdef' }, besom.InvalidError, /seed/],
    [{ like: {} }, besom.InvalidError, /like/],
  ];
  for (const [options, Class, message] of cases)
    await assert.rejects(Filter.build(members, options), (error) => {
      assert.ok(error instanceof Class && error instanceof besom.BesomError, String(error));
      assert.match(error.message, message);
      assert.equal(typeof error.status, 'string');
      return true;
    });
  for (const keys of [42, undefined, null, 'text'])
    await assert.rejects(Filter.build(keys), besom.InvalidError);
  await assert.rejects(Filter.build([members[0], 7]), besom.InvalidError);
});

test('a reported false positive is answered no', async () => {
  const filter = await Filter.build(members, { fpr: 0.05 });
  const reported = Array.from({ length: 20 }, () => {
    const key = falsePositive(filter);
    assert.equal(filter.report(key), true);
    return key;
  });
  assert.ok(reported.every((key) => !filter.has(key)));
  assert.ok(members.every((key) => filter.has(key)));
  assert.equal(filter.stats.counters.exceptions, 20);
  const again = await Filter.open(filter.save());
  assert.ok(reported.every((key) => !again.has(key)));
});

test('insert, remove and the no list', async () => {
  const filter = await Filter.create({ capacity: 10000, fpr: 0.001, noCapacity: 100 });
  members.forEach((key) => filter.insert(key));
  assert.equal(filter.stats.keys, members.length);
  assert.equal(filter.remove(members[0]), true);
  assert.equal(filter.remove('never inserted, most likely'), false);
  filter.addNo('on the list');
  assert.equal(filter.removeNo('on the list'), true);
  assert.equal(filter.removeNo('on the list'), false);
  const small = await Filter.create({ capacity: 10, kind: 'qf' });
  assert.throws(() => keysOf('many', 10000).forEach((key) => small.insert(key)), besom.FullError);
});

/** An old list, a new one like it, and the patch between them. */
async function versions() {
  const old = await Filter.build(members, { capacity: 6000, seed: SEED });
  const fresh = await Filter.build([...members, 'added'], { like: old });
  return { old, fresh, patch: old.diff(fresh) };
}

test('a patch makes the new list; a wrong one leaves the filter unchanged', async () => {
  const { old, fresh, patch } = await versions();
  assert.ok(patch.length < 200);
  for (const module of [besom, reader]) {
    const filter = await module.Filter.open(old.save()), before = filter.save();
    assert.ok(!filter.has('added'));
    const damaged = patch.slice();
    damaged[36] ^= 255; // in the checksum of the new list
    const wrong = [damaged, patch.slice(0, 30), new Uint8Array(0), new Uint8Array(1000), before];
    for (const bytes of wrong) await assert.rejects(filter.patch(bytes), module.CorruptError);
    assert.deepEqual(filter.save(), before);
    assert.equal(await filter.patch(patch), filter);
    assert.ok(filter.has('added') && members.every((key) => filter.has(key)));
    assert.deepEqual(filter.save(), fresh.save());
    await assert.rejects(filter.patch(patch), module.IncompatibleError);
    assert.deepEqual(filter.save(), fresh.save());
    filter.free();
    await assert.rejects(filter.patch(patch), module.FreedError);
  }
});

test('a patch applies to the list as it was opened, and drops reports', async () => {
  const { old, fresh, patch } = await versions();
  for (const module of [besom, reader]) {
    const filter = await module.Filter.open(old.save()), key = falsePositive(filter);
    assert.equal(filter.report(key), true);
    assert.ok(!filter.has(key));
    await assert.rejects(filter.patch(patch.slice(0, 30)), module.CorruptError);
    assert.ok(!filter.has(key)); // as it was
    await filter.patch(patch);
    assert.deepEqual(filter.save(), fresh.save());
    assert.ok(filter.has(key)); // it may be a member of the new list: the caller reports it again
    filter.report(key);
    assert.ok(!filter.has(key));
    const saved = await module.Filter.open(filter.save());
    assert.ok(!saved.has(key));
    assert.deepEqual([...saved.hasMany([key, members[0]])], [0, 1]);
    filter.free();
    assert.throws(() => filter.report(key), module.FreedError);
    assert.throws(() => saved.report(5), module.InvalidError);
  }
});

test('at its limit a filter refuses reports, or forgets old ones', async () => {
  for (const [options, kind] of [['max_exceptions=3', 'ribbon'], ['max_exceptions=3,forget=yes', 'bloom']]) {
    const bytes = (await Filter.build(members, { kind, options, fpr: 0.05 })).save();
    for (const module of [besom, reader]) {
      const filter = await module.Filter.open(bytes);
      const report = () => filter.report(falsePositive(filter));
      assert.deepEqual([report(), report(), report()], [true, true, true]);
      if (kind === 'ribbon') assert.throws(report, module.FullError);
      else assert.equal(report(), false);
      assert.ok(members.every((key) => filter.has(key)));
      filter.validate();
    }
  }
});

test('patches at the same time are applied one after the other', async () => {
  const { old, fresh, patch } = await versions();
  const last = await Filter.build([...members, 'added', 'more'], { like: fresh });
  const filter = await Filter.open(old.save());
  await Promise.all([filter.patch(patch), filter.patch(fresh.diff(last))]);
  assert.deepEqual(filter.save(), last.save());
  const freed = await Filter.open(old.save());
  const pending = freed.patch(patch);
  freed.free();
  await assert.rejects(pending, besom.FreedError);
});

test('a freed filter throws, and free can be repeated', async () => {
  const filter = await Filter.build(members);
  filter.free();
  filter.free();
  assert.equal(filter.freed, true);
  for (const call of [() => filter.has('x'), () => filter.hasMany(['x']), () => filter.save(),
    () => filter.stats, () => filter.report('x'), () => filter.validate()])
    assert.throws(call, besom.FreedError);
  await assert.rejects(Filter.build(members, { like: filter }), besom.FreedError);
  await assert.rejects(Filter.build(members, { like: filter, fpr: 0.1 }), besom.InvalidError);
});

test('a filter that is freed or patched while its keys are read is not used after that', async () => {
  const { old, fresh, patch } = await versions();
  const freed = await Filter.open(old.save());
  function* keys() {
    yield members[0];
    freed.free();
    yield members[1];
  }
  assert.throws(() => freed.hasMany(keys()), besom.FreedError);
  const like = await Filter.open(old.save()), before = like.at;
  async function* patching() {
    yield* members;
    await like.patch(patch);
    yield 'added';
  }
  const built = await Filter.build(patching(), { like });
  assert.notEqual(like.at, before);
  assert.deepEqual(built.save(), fresh.save());
});

test('filters that are lost are freed by the garbage collector', async () => {
  const heap = (await Filter.build(['x'])).heap;
  const freed = [], original = heap.exports;
  heap.exports = { ...original, besom_free: (at) => { freed.push(at); original.besom_free(at); } };
  await (async () => { for (let i = 0; i < 20; i++) await Filter.build(['y']); })();
  for (let i = 0; i < 50 && freed.length < 10; i++) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  heap.exports = original;
  assert.ok(freed.length >= 10, `${freed.length} of 20`);
});

test('a filter cannot be cloned; its bytes and the module can', async () => {
  const filter = await Filter.build(members);
  assert.throws(() => structuredClone(filter), { name: 'DataCloneError' });
  const code = `const { parentPort, workerData } = require('node:worker_threads');
    const { Filter, init } = require(${JSON.stringify(`${PACKAGE}/reader.cjs`)});
    (async () => {
      await init(workerData.module);
      const filter = await Filter.open(workerData.bytes);
      parentPort.postMessage(filter.hasMany(workerData.keys));
    })();`;
  const module = await reader.init();
  const answers = await Promise.all([0, 1, 2].map(() => new Promise((resolve, reject) => {
    const worker = new Worker(code, {
      eval: true, workerData: { module, bytes: filter.save(), keys: members.slice(0, 100) },
    });
    worker.once('message', resolve);
    worker.once('error', reject);
  })));
  assert.ok(answers.every((list) => list.length === 100 && list.every((answer) => answer === 1)));
});

test('an exception in a query leaves the filter usable', async () => {
  const filter = await Filter.build(members);
  let depth = 0, failures = 0;
  const descend = () => {
    depth++;
    try {
      filter.has(members[0]);
    } catch (error) {
      if (error instanceof RangeError) failures++;
      throw error;
    }
    descend();
  };
  for (let i = 0; i < 20; i++) assert.throws(descend, RangeError);
  assert.ok(depth > 0 && failures > 0);
  assert.ok(members.every((key) => filter.has(key)));
  assert.equal(filter.hasMany(members).length, members.length);
});

test('an exception in a change poisons the instance; new filters get another one', async () => {
  const filter = await Filter.build(members), bytes = filter.save(), heap = filter.heap;
  heap.exports = { ...heap.exports, besom_adapt() { throw new RangeError('call stack'); } };
  assert.throws(() => filter.report('x'), besom.TrapError);
  assert.throws(() => filter.has(members[0]), besom.TrapError);
  assert.throws(() => filter.save(), besom.TrapError);
  filter.free();
  const again = await Filter.open(bytes);
  assert.notEqual(again.heap, heap);
  assert.ok(again.has(members[0]));
});

test('CommonJS has the same interface, and the reader no changes', async () => {
  const require = createRequire(import.meta.url);
  const common = require(`${PACKAGE}/besom.cjs`);
  assert.deepEqual(Object.keys(common).sort(), Object.keys(besom).sort());
  const filter = await common.Filter.build(members);
  const small = await reader.Filter.open(filter.save());
  assert.equal(small.stats.keys, members.length);
  for (const name of ['insert', 'remove', 'addNo', 'removeNo', 'diff'])
    assert.equal(small[name], undefined);
  assert.equal(reader.Filter.build, undefined);
});

test('the modules import nothing but entropy and a clock', async () => {
  for (const { init } of [besom, reader]) {
    const imports = WebAssembly.Module.imports(await init());
    assert.ok(imports.every(({ module, name }) => module === 'besom' && /^(random|now)$/.test(name)));
  }
});

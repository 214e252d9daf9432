/** Fixes beside a list: the option `fixes` of open. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { SEED, besom, falsePositive, keysOf, reader } from './support.mjs';

const members = keysOf('member-', 1000);

/** The text of a file of fixes for these bytes. */
function fixesOf(list, keys) {
  const sum = createHash('sha256').update(list).digest('hex');
  const text = `besom-fixes-1 sha256=${sum} name=list\n` + keys.map((key) => `2026-01-02\t${key}\n`).join('');
  return new TextEncoder().encode(text);
}

async function listOf(keys) {
  const filter = await besom.Filter.build(keys, { fpr: 1 / 4, seed: SEED, capacity: 1200 });
  const bytes = filter.save();
  filter.free();
  return bytes;
}

for (const [name, { Filter }] of Object.entries({ besom, reader })) {
  test(`${name}: a fixed key is answered no, and the list stays`, async () => {
    const list = await listOf(members), plain = await Filter.open(list);
    const key = falsePositive(plain);
    const filter = await Filter.open(list, { fixes: fixesOf(list, [key]) });
    assert.ok(filter.fixed && !plain.fixed);
    assert.ok(plain.has(key) && !filter.has(key));
    assert.deepEqual([...filter.hasMany([key, 'member-1'])], [0, 1]);
    assert.ok(filter.hasMany(members).every((yes) => yes === 1));
    assert.deepEqual(filter.save(), list);
    filter.closeFixes();
    assert.ok(filter.has(key) && !filter.fixed);
    filter.free();
    plain.free();
  });

  test(`${name}: a list that has the key answers yes`, async () => {
    const list = await listOf(members), plain = await Filter.open(list);
    const key = falsePositive(plain), fixes = fixesOf(list, [key]);
    const fresh = await listOf([...members, key]);
    await assert.rejects(Filter.open(fresh, { fixes }), { name: 'IncompatibleError', message: /another version/ });
    assert.ok((await Filter.open(fresh)).has(key));
    // A patch ends the fixes.
    const old = await besom.Filter.open(list), made = await besom.Filter.build([...members, key], { like: old });
    const filter = await Filter.open(list, { fixes });
    assert.ok(!filter.has(key));
    await filter.patch(old.diff(made));
    assert.ok(filter.has(key) && !filter.fixed);
  });

  test(`${name}: what is no file of fixes is refused`, async () => {
    const list = await listOf(members);
    for (const text of ['nothing', 'besom-fixes-1 sha256=0', 'besom-fixes-2 sha256=0 name=n\n'])
      await assert.rejects(Filter.open(list, { fixes: new TextEncoder().encode(text) }), { name: 'CorruptError' });
    const empty = await Filter.open(list, { fixes: new Uint8Array() });
    assert.ok(empty.has('member-1'));
  });
}

test('an inserted key is answered yes, also if it was fixed', async () => {
  const list = await listOf(members.slice(0, 900)), plain = await besom.Filter.open(list), key = falsePositive(plain);
  const filter = await besom.Filter.open(list, { fixes: fixesOf(list, [key]) });
  filter.insert(key);
  assert.ok(filter.has(key) && !filter.fixed);
});

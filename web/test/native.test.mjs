/** The same keys and seed make the same file here and by the native command; so do patches. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BESOM, SEED, besom, falsePositive, keysOf, reader } from './support.mjs';

const skip = existsSync(BESOM) ? false : 'build/besom is missing';
const hex = Buffer.from(SEED).toString('hex');
const yes = keysOf('host-', 3000), no = keysOf('other-', 1000);
const absent = keysOf('absent-', 5000);
let directory;
const path = (name) => join(directory, name);
const native = (...args) => execFileSync(BESOM, args, { stdio: ['ignore', 'pipe', 'ignore'] });

before(() => {
  directory = mkdtempSync(join(tmpdir(), 'besom-native-'));
  for (const [name, keys] of Object.entries({ yes, no, more: [...yes, 'added'], absent }))
    writeFileSync(path(name), `${keys.join('\n')}\n`);
});
after(() => rmSync(directory, { recursive: true }));

const KINDS = ['aqf', 'qf', 'bloom', 'blocked-bloom', 'cf', 'vacuum', 'fuse', 'ribbon', 'cached', 'scaling'];

test('files of every kind are the same bytes', { skip }, async () => {
  for (const kind of KINDS) {
    native('build', path('list'), '--yes', path('yes'), '--kind', kind, '--seed', hex, '--fpr', '0.01');
    const filter = await besom.Filter.build(yes, { kind, seed: SEED, fpr: 0.01, distinct: true });
    assert.deepEqual(filter.save(), new Uint8Array(readFileSync(path('list'))), kind);
    filter.free();
  }
});

test('files with a no list are the same bytes', { skip }, async () => {
  for (const kind of ['aqf', 'yesno', 'cascade']) {
    native('build', path('list'), '--yes', path('yes'), '--no', path('no'), '--kind', kind, '--seed', hex,
      '--fpr', '0.01');
    const filter = await besom.Filter.build(yes, { no, kind, seed: SEED, fpr: 0.01, distinct: true });
    assert.deepEqual(filter.save(), new Uint8Array(readFileSync(path('list'))), kind);
    filter.free();
  }
});

test('answers are the same, and a native patch applies', { skip }, async () => {
  native('build', path('old'), '--yes', path('yes'), '--seed', hex, '--capacity', '3100');
  native('build', path('new'), '--like', path('old'), '--yes', path('more'));
  native('diff', path('old'), path('new'), path('patch'));
  const filter = await reader.Filter.open(path('old'));
  const positives = new Set(native('query', path('old'), path('absent')).toString().split('\n'));
  absent.forEach((key) => assert.equal(filter.has(key), positives.has(key), key));
  assert.ok(positives.size > 5);
  await filter.patch(path('patch'));
  assert.deepEqual(filter.save(), new Uint8Array(readFileSync(path('new'))));
});

test('the native command answers as the reader that took the reports', { skip }, async () => {
  for (const kind of KINDS.filter((name) => name !== 'scaling')) {
    native('build', path('list'), '--yes', path('yes'), '--kind', kind, '--seed', hex, '--fpr', '0.02');
    const filter = await reader.Filter.open(path('list')), reported = absent.filter((key) => filter.has(key));
    assert.ok(reported.length > 20, kind);
    for (const key of reported.slice(5, 60))
      assert.ok(filter.report(key) || kind === 'cached', kind); // its memory is fixed
    yes.forEach((key) => assert.ok(filter.has(key), kind));
    writeFileSync(path('list'), filter.save());
    assert.deepEqual(native('query', path('list'), path('absent')).toString().trim().split('\n').sort(),
      absent.filter((key) => filter.has(key)).sort(), kind);
    filter.free();
  }
});

test('maps have the candidates of the native command', { skip }, async () => {
  const pairs = yes.map((key, i) => `${key}\tshard-${i % 40}`);
  writeFileSync(path('pairs'), `${pairs.join('\n')}\n${yes[0]}\tshard-7\n`);
  writeFileSync(path('numbers'), `${yes.map((key, i) => `${key}\t${i % 900}`).join('\n')}\n`);
  native('map', 'build', path('names.map'), '--pairs', path('pairs'), '--seed', hex, '--fpr', '0.1');
  native('map', 'build', path('numbers.map'), '--pairs', path('numbers'), '--seed', hex);
  const expected = new Map();
  for (const line of native('map', 'query', path('names.map'), path('absent')).toString().trim().split('\n')) {
    const [key, value] = line.split('\t');
    expected.set(key, [...expected.get(key) ?? [], value]);
  }
  assert.ok(expected.size > 50);
  for (const { Filter } of [besom, reader]) {
    const names = await Filter.open(readFileSync(path('names.map')));
    for (const key of absent) assert.deepEqual(names.candidates(key), expected.get(key) ?? [], key);
    yes.forEach((key, i) => assert.ok(names.candidates(key).includes(`shard-${i % 40}`), key));
    assert.ok(names.candidates(yes[0]).includes('shard-7'));
    assert.ok(names.has(yes[5]));
    const reported = absent.find((key) => names.has(key));
    assert.equal(names.report(reported), true);
    assert.deepEqual([names.has(reported), names.candidates(reported)], [false, []]);
    writeFileSync(path('reported.map'), names.save());
    assert.equal(native('map', 'query', path('reported.map'), path('absent')).toString().includes(`${reported}\t`), false);
    const numbers = await Filter.open(readFileSync(path('numbers.map')));
    yes.forEach((key, i) => assert.ok(numbers.candidates(key).includes(i % 900), key));
    native('build', path('list'), '--yes', path('yes'));
    const list = await Filter.open(readFileSync(path('list')));
    assert.throws(() => list.candidates('a'), { name: 'UnsupportedError' });
    for (const filter of [names, numbers, list]) filter.free();
  }
});

test('a list of domains asks parents here, too', { skip }, async () => {
  writeFileSync(path('domains'), 'Ads.Example.\n*.tracker.net\n');
  writeFileSync(path('allowed'), 'good.tracker.net\n');
  writeFileSync(path('suffixes'), 'net\nexample\n');
  native('build', path('list'), '--domains', '--suffixes', path('suffixes'), '--yes', path('domains'),
    '--no', path('allowed'), '--seed', hex, '--fpr', '0.01');
  for (const { Filter } of [besom, reader]) {
    const list = await Filter.open(readFileSync(path('list')));
    assert.deepEqual(['www.ads.example', 'TRACKER.net', 'example', 'x.good.tracker.net'].map((name) => list.has(name)),
      [true, true, false, false]);
    assert.deepEqual([...list.hasMany(['a.b.tracker.net.', 'net'])], [1, 0]);
    assert.equal(list.domainEntry('www.ads.example.'), 'ads.example');
    assert.equal(list.domainEntry('good.tracker.net'), null);
    const reported = `www.${falsePositive(list)}`;
    assert.ok(list.has(reported));
    assert.equal(list.report(reported), true);
    assert.deepEqual([list.has(reported), list.domainEntry(reported)], [false, null]);
    list.free();
  }
});

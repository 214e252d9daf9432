/** The same keys and seed make the same file here and by the native command; so do patches. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BESOM, SEED, besom, keysOf, reader } from './support.mjs';

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

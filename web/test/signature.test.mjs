/** Signed lists and patches (docs/signed.md). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { webcrypto } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LATER, newKey, signFile, signList, signPatch, statementOf, versions } from './signing.mjs';
import { besom, reader } from './support.mjs';

const refused = (module, message) => ({ name: 'SignatureError', message });

test('a signed list is opened, and a signed patch applied, by both modules', async () => {
  const key = await newKey(), { old, fresh, patch } = await versions();
  for (const { Filter } of [besom, reader]) {
    const { file } = await signList(key, old, 41);
    const filter = await Filter.open(old, { signature: file, publicKey: key.publicKey, name: 'blocked' });
    assert.equal(filter.signed.sequence, 41);
    await filter.patch(patch, { signature: await signPatch(key, patch, old, fresh, 42) });
    assert.deepEqual(filter.save(), fresh);
    assert.equal(filter.signed.sequence, 42);
    // The state that a client stores: the list and its signature.
    const again = await Filter.open(filter.save(),
      { signature: filter.signed.signature, publicKey: key.publicKey, name: 'blocked', sequence: 42 });
    assert.ok(again.has('added'));
  }
});

test('wrong signatures are refused before the list is parsed', async () => {
  const key = await newKey(), other = await newKey(), stranger = await newKey([9, 9, 9, 9, 9, 9, 9, 9]);
  const { old } = await versions(), damaged = old.slice();
  damaged[700] ^= 1;
  const { file } = await signList(key, old, 1), lines = file.split('\n');
  const open = (bytes, signature, more) =>
    reader.Filter.open(bytes, { signature, publicKey: key.publicKey, name: 'blocked', ...more });
  const cases = [
    [damaged, file, /signature of the file is wrong/],
    [old, (await signList(other, old, 1)).file, /signature of the statement is wrong/],
    [old, (await signList(stranger, old, 1)).file, /by another key/],
    [old, file.replace('sequence=1', 'sequence=2'), /signature of the statement is wrong/],
    [old, (await signFile(key, old, await statementOf(old, 1), 0x44)).file, /prehashed/],
    [old, (await signList(key, old, 1, '2020-01-01T00:00:00Z')).file, /has expired/],
    [old, (await signList(key, old, 1, LATER, 'other')).file, /of the list other, not of blocked/],
    [old, (await signFile(key, old, 'anything')).file, /another format/],
    [old, (await signFile(key, old, `${await statementOf(old, 1)} more=1`)).file, /another format/],
    [old, (await signFile(key, old, await statementOf(old, '01'))).file, /another format/],
    [old, (await signList(key, old, 1, '2099-02-30T00:00:00Z')).file, /another format/],
    [old, (await signFile(key, old, await statementOf(damaged, 1))).file, /not the one that was signed/],
    [old, lines.slice(0, 3).join('\n'), /not a file of minisign/],
    [old, `${file}\n`, /not a file of minisign/],
    [old, file.replace(lines[1], lines[1].slice(0, -4)), /not one of minisign/],
  ];
  for (const [bytes, signature, message] of cases)
    await assert.rejects(open(bytes, signature), refused(reader, message), String(message));
  await assert.rejects(open(old, file, { sequence: 2 }), refused(reader, /older than the current/));
  await assert.rejects(open(old, file, { name: undefined }), refused(reader, /name must be given/));
  await assert.rejects(open(old, file, { publicKey: 'AAAA' }), refused(reader, /not one of minisign/));
  await assert.rejects(open(old, file, { sequence: NaN }), refused(reader, /older than the current/));
  await assert.rejects(open(old, file, { now: new Date('x') }), refused(reader, /has expired/));
  await assert.rejects(open(old, undefined), reader.InvalidError);
  await assert.rejects(reader.Filter.open(old, { name: 'blocked' }), reader.InvalidError);
  const both = await open(old, file, { publicKey: [stranger.publicKey, key.publicKey] });
  both.free();
});

test('bytes that change after the call are not what is opened or applied', async () => {
  const key = await newKey(), { old, fresh, patch } = await versions();
  const { file } = await signList(key, old, 1);
  const { verify } = webcrypto.subtle;
  // The last verification is that of the file: the bytes change after it.
  const changing = async (bytes, call) => {
    webcrypto.subtle.verify = async function (...args) {
      const right = await verify.apply(this, args);
      if (args[3].length === bytes.length) bytes.fill(0);
      return right;
    };
    try {
      return await call();
    } finally {
      webcrypto.subtle.verify = verify;
    }
  };
  const list = Buffer.from(old), change = Buffer.from(patch);
  const filter = await changing(list, () => reader.Filter.open(list,
    { signature: file, publicKey: key.publicKey, name: 'blocked' }));
  assert.deepEqual(filter.save(), old);
  const signature = await signPatch(key, patch, old, fresh, 2);
  await changing(change, () => filter.patch(change, { signature }));
  assert.deepEqual(filter.save(), fresh);
});

test('a patch that is wrong, old or of another list leaves the filter unchanged', async () => {
  const key = await newKey(), { old, fresh, patch } = await versions();
  const { file } = await signList(key, old, 5);
  const filter = await reader.Filter.open(old, { signature: file, publicKey: key.publicKey, name: 'blocked' });
  const cases = [
    [await signPatch(key, patch, old, fresh, 4), /older than the current/],
    [await signPatch(key, patch, old, fresh, 5), /two lists have the sequence number/],
    [await signPatch(key, patch, fresh, fresh, 6), /another version of the list/],
    [await signPatch(key, patch, old, old, 6), /not the one that was signed/],
    [await signPatch(key, patch, old, fresh, 6, '2020-01-01T00:00:00Z'), /expired/],
    [await signPatch(key, patch, old, fresh, 6, LATER, 'other'), /of the list other/],
    [(await signList(key, patch, 6)).file, /of a list, not of a patch/],
    [(await signList(await newKey(), patch, 6)).file, /signature of the statement is wrong/],
  ];
  for (const [signature, message] of cases) {
    await assert.rejects(filter.patch(patch, { signature }), refused(reader, message), String(message));
    assert.deepEqual(filter.save(), old);
    assert.equal(filter.signed.sequence, 5);
  }
  await assert.rejects(filter.patch(patch), reader.InvalidError); // not signed
  const right = await signPatch(key, patch, old, fresh, 6);
  await assert.rejects(filter.patch(patch, { signature: right, sequence: 7 }),
    refused(reader, /older than the current/));
  await assert.rejects(filter.patch(patch, { signature: right, name: 'other' }),
    refused(reader, /not of other/));
  await filter.patch(patch, { signature: right });
  assert.deepEqual(filter.save(), fresh);
});

test('without Ed25519 in WebCrypto the error says so', async () => {
  const { old } = await versions(), key = await newKey(), { file } = await signList(key, old, 1);
  const importKey = webcrypto.subtle.importKey;
  webcrypto.subtle.importKey = async () => {
    throw new DOMException('Unrecognized name.', 'NotSupportedError');
  };
  try {
    await assert.rejects(
      reader.Filter.open(old, { signature: file, publicKey: key.publicKey, name: 'blocked' }),
      { name: 'UnsupportedError', message: /no Ed25519 here/ });
  } finally {
    webcrypto.subtle.importKey = importKey;
  }
});

function hasMinisign() {
  try {
    execFileSync('minisign', ['-v']);
    return true;
  } catch {
    return false;
  }
}

test('signatures by minisign are accepted', { skip: hasMinisign() ? false : 'minisign is missing' }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'besom-'));
  try {
    const path = (name) => join(directory, name), { old } = await versions();
    execFileSync('minisign', ['-G', '-W', '-p', path('list.pub'), '-s', path('list.key')]);
    writeFileSync(path('list'), old);
    execFileSync('minisign', ['-S', '-l', '-s', path('list.key'), '-m', path('list'), '-x', path('sig'),
      '-t', await statementOf(old, 7)]);
    const filter = await reader.Filter.open(path('list'),
      { signature: path('sig'), publicKey: readFileSync(path('list.pub'), 'utf8'), name: 'blocked' });
    assert.equal(filter.signed.sequence, 7);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

/** The code in docs/web.md is that of web/examples, which the browser tests run, or runs here. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { newKey, signList, signPatch, versions } from './signing.mjs';
import { PACKAGE, ROOT } from './support.mjs';

const text = readFileSync(`${ROOT}/docs/web.md`, 'utf8');
const blocks = [...text.matchAll(/^(?:<!-- (\S+) -->\n)?```(\w+)\n([\s\S]*?)^```$/gm)]
  .map(([, name, language, code]) => ({ name, language, code }));

test('examples in docs/web.md are the files that are tested', () => {
  const named = blocks.filter(({ name }) => name?.startsWith('web/'));
  assert.ok(named.length >= 5);
  for (const { name, code } of named) assert.equal(code, readFileSync(`${ROOT}/${name}`, 'utf8'), name);
});

/** Runs a block of docs/web.md in a directory. */
function runBlock(block, directory) {
  const file = join(directory, 'block.mjs'), imported = pathToFileURL(`${PACKAGE}/besom.node.mjs`);
  writeFileSync(file, block.code.replaceAll("from 'besom'", `from '${imported}'`));
  return spawnSync(process.execPath, [file], { cwd: directory, encoding: 'utf8' });
}

async function inDirectory(body) {
  const directory = mkdtempSync(join(tmpdir(), 'besom-docs-'));
  try {
    await body(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('every block of JavaScript is tested', () => {
  for (const { name, language } of blocks) assert.ok(language !== 'js' || name);
});

test('the first example prints what its comments say', () => inDirectory((directory) => {
  const { status, stdout, stderr } = runBlock(blocks.find(({ name }) => name === 'run'), directory);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^true\nfalse\nUint8Array\(2\) \[ 1, 0 \]\n10000 [\d.]+\ntrue\ntrue\n$/);
}));

test('the example of signed lists runs', () => inDirectory(async (directory) => {
  const key = await newKey(), { old, fresh, patch } = await versions();
  const put = (name, bytes) => writeFileSync(join(directory, name), bytes);
  put('list.pub', `untrusted comment: minisign public key\n${key.publicKey}\n`);
  put('blocked.besom', old);
  put('blocked.besom.minisig', (await signList(key, old, 41)).file);
  put('42.patch', patch);
  put('42.patch.minisig', await signPatch(key, patch, old, fresh, 42));
  const { status, stdout, stderr } = runBlock(blocks.find(({ name }) => name === 'signed'), directory);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, '42\n');
  assert.deepEqual(new Uint8Array(readFileSync(join(directory, 'blocked.besom'))), fresh);
}));

test('the modules are as small as the documentation says', () => {
  for (const [name, limit] of [['reader', 60000], ['besom', 250000]])
    assert.ok(gzipSync(readFileSync(`${PACKAGE}/${name}.wasm`), { level: 9 }).length <= limit, name);
});

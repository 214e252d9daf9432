/**
 * The code in docs/web.md is that of web/examples, which the browser tests run, or runs here. So does
 * that of the README.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { newKey, signList, signPatch, versions } from './signing.mjs';
import { besom, PACKAGE, ROOT, SEED } from './support.mjs';

const text = readFileSync(`${ROOT}/docs/web.md`, 'utf8');
const blocks = [...text.matchAll(/^(?:<!-- (\S+) -->\n)?```(\w+)\n([\s\S]*?)^```$/gm)]
  .map(([, name, language, code]) => ({ name, language, code }));

test('examples in docs/web.md are the files that are tested', () => {
  const named = blocks.filter(({ name }) => name?.startsWith('web/'));
  assert.ok(named.length >= 2);
  for (const { name, code } of named) assert.equal(code, readFileSync(`${ROOT}/${name}`, 'utf8'), name);
});

/** Runs a block in a directory. */
function runBlock(block, directory) {
  const file = join(directory, 'block.mjs'), url = (name) => pathToFileURL(`${PACKAGE}/${name}`);
  writeFileSync(file, block.code.replaceAll("from 'besom'", `from '${url('besom.node.mjs')}'`)
    .replaceAll("from './besom/reader.mjs'", `from '${url('reader.node.mjs')}'`));
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

test('the example of the README runs', () => inDirectory(async (directory) => {
  const readme = readFileSync(`${ROOT}/README.md`, 'utf8');
  const [, code] = readme.match(/^## Browser\n\n```js\n([\s\S]*?)^```$/m);
  const options = { seed: SEED, capacity: 100 };
  const old = await besom.Filter.build(['evil.example'], options);
  const fresh = await besom.Filter.build(['evil.example', 'new.example'], { like: old });
  writeFileSync(join(directory, 'blocked.besom'), old.save());
  writeFileSync(join(directory, 'monday.patch'), old.diff(fresh));
  const more = "console.log(list.has('new.example'));\n";
  const { status, stdout, stderr } = runBlock({ code: code + more }, directory);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'true\ntrue\n');
}));

test('the modules are as small as the documentation says', () => {
  const gzipped = (file) => gzipSync(readFileSync(`${PACKAGE}/${file}`), { level: 9 }).length;
  for (const [name, limit, script] of [['reader', 66000, 12500], ['besom', 308000, 15000]]) {
    assert.ok(gzipped(`${name}.wasm`) <= limit, name);
    assert.ok(gzipped(`${name}.mjs`) <= script, name);
  }
});

/**
 * build.mjs WASM OUT: makes the npm package in the directory OUT from src/ and the modules in the
 * directory WASM. Each entry (besom, reader) becomes one file per form: an ES module for browsers,
 * one for Node, and a CommonJS module for Node, each kind of module with its types. There is no other bundler: the sources import only
 * each other, and a name is exported at most once.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [wasm, out] = process.argv.slice(2);

const COMMON = ['errors', 'heap', 'packing', 'module', 'signature', 'reader'];
const ENTRIES = {
  besom: { sources: [...COMMON, 'filter'], filter: 'Filter' },
  reader: { sources: COMMON, filter: 'Reader' },
};

/** A source without its imports and exports. */
function body(name) {
  const text = readFileSync(join(here, 'src', `${name}.js`), 'utf8');
  return text.replace(/^import [\s\S]*?;\n/gm, '').replace(/^export /gm, '');
}

const HEADS = {
  browser: '',
  node: `import { readFile } from 'node:fs/promises';
import { webcrypto } from 'node:crypto';
const wasmUrl = (name) => new URL(name, import.meta.url);
`,
  cjs: `'use strict';
const { readFile } = require('node:fs/promises');
const { webcrypto } = require('node:crypto');
const wasmUrl = (name) => require('node:path').join(__dirname, name);
`,
};

const fetching = `async function fetchUrl(url) {
  try {
    return await fetch(url);
  } catch (error) {
    throw new FetchError(\`\${url}: \${error.message}\`, 'FETCH', { cause: error });
  }
}
`;

const PLATFORMS = {
  browser: (name) => `${fetching}
platform.wasm = () => fetchUrl(new URL('${name}.wasm', import.meta.url));
platform.fetch = fetchUrl;
platform.crypto = globalThis.crypto;
`,
  node: (name) => `${fetching}
async function fetchOrRead(url) {
  if (/^(https?|data|blob):/.test(String(url))) return fetchUrl(url);
  try {
    const isFile = typeof url === 'string' && url.startsWith('file:');
    return new Uint8Array(await readFile(isFile ? new URL(url) : url));
  } catch (error) {
    throw new FetchError(\`\${url}: \${error.message}\`, 'FETCH', { cause: error });
  }
}
platform.wasm = () => readFile(wasmUrl('${name}.wasm'));
platform.fetch = fetchOrRead;
platform.crypto = webcrypto;
`,
};
PLATFORMS.cjs = PLATFORMS.node;

function exported() {
  const classes = [...body('errors').matchAll(/^class (\w+)/gm)].map((match) => match[1]);
  return ['init', 'pack', ...classes];
}

function build(name, { sources, filter }, form) {
  const names = exported();
  const own = filter === 'Filter' ? ['Filter'] : [];
  const tail = form === 'cjs'
    ? `module.exports = { Filter: ${filter}, ${names.join(', ')} };\n`
    : `export { ${[...own, ...names].join(', ')} };\n` +
      (own.length ? '' : `export { ${filter} as Filter };\n`);
  return HEADS[form] + sources.map(body).join('\n') + '\n' + PLATFORMS[form](name) + tail;
}

const FILES = { browser: '.mjs', node: '.node.mjs', cjs: '.cjs' };

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const [name, entry] of Object.entries(ENTRIES)) {
  for (const [form, ending] of Object.entries(FILES))
    writeFileSync(join(out, name + ending), build(name, entry, form));
  copyFileSync(join(wasm, `${name}.wasm`), join(out, `${name}.wasm`));
  const types = readFileSync(join(here, `${name}.d.ts`), 'utf8');
  writeFileSync(join(out, `${name}.d.ts`), types);
  writeFileSync(join(out, `${name}.d.cts`), types.replaceAll("'./reader.js'", "'./reader.cjs'"));
}

/** The version of the header. The sources of the package state none. */
function version() {
  const header = readFileSync(join(here, '..', 'include', 'besom.h'), 'utf8');
  return [...header.matchAll(/define BESOM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)/g)]
    .map((match) => match[1]).join('.');
}

const { name, ...rest } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
writeFileSync(join(out, 'package.json'),
  `${JSON.stringify({ name, version: version(), ...rest }, null, 2)}\n`);
copyFileSync(join(here, 'README.md'), join(out, 'README.md'));
copyFileSync(join(here, '..', 'LICENSE'), join(out, 'LICENSE'));

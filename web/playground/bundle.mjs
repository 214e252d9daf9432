// bundle.mjs MODULE.wasm OUT.html [DOCS]: writes the playground as one HTML file.
// CLAIMS: the page that links to claims lead to; the default is for a page in build/.
import {readFileSync, writeFileSync} from 'node:fs';
import {gzipSync} from 'node:zlib';

const [wasm, out, claims = '../bench/records/quick.md'] = process.argv.slice(2);
const source = (name) => readFileSync(new URL(name, import.meta.url), 'utf8');

// Modules in the order of their imports.
const MODULES = ['words', 'library', 'table_view', 'table_panel', 'table_steps', 'table_scene',
  'race_chart', 'race_panel', 'race_scene', 'main'];

// A module as a function that returns its exports.
function asFunction(name) {
  const exported = [];
  const body = source(`${name}.js`)
    .replace(/^import (\{.*\}) from '\.\/(\w+)\.js';$/gm, 'const $1 = $2;')
    .replace(/^export ((?:const|async function|function|class) (\w+))/gm, (_, declared, what) => {
      exported.push(what);
      return declared;
    });
  return `const ${name} = (() => {\n${body}\nreturn {${exported.join(', ')}};\n})();`;
}

const parts = {
  style: source('style.css'),
  wasm: gzipSync(readFileSync(wasm), {level: 9}).toString('base64'),
  worker: source('worker.js'),
  // Not a module, which would run after the first paint and move what is there.
  script: `(() => {\n'use strict';\n${MODULES.map(asFunction).join('\n')}\n})();`,
  claims,
};
for (const name of ['worker', 'script']) {
  if (/<\/script/i.test(parts[name])) throw new Error(`${name} would end its element`);
}
const page = source('page.html')
  .replace(/@(style|wasm|worker|script|claims)@/g, (_, name) => parts[name]);
writeFileSync(out, page);

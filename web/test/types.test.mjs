/** The TypeScript types, checked by the compiler, which npm installs into build/web-test. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { PACKAGE, ROOT } from './support.mjs';

const DIRECTORY = `${ROOT}/build/web-test`;
const COMPILER = `${DIRECTORY}/node_modules/typescript/bin/tsc`;

function install() {
  mkdirSync(`${DIRECTORY}/node_modules`, { recursive: true });
  if (!existsSync(`${DIRECTORY}/package.json`)) writeFileSync(`${DIRECTORY}/package.json`, '{"type": "module"}');
  if (!existsSync(COMPILER))
    spawnSync('npm', ['install', '--no-audit', '--no-fund', 'typescript@5.4.5'],
      { cwd: DIRECTORY, stdio: 'ignore', timeout: 120000 });
  rmSync(`${DIRECTORY}/node_modules/besom`, { recursive: true, force: true });
  symlinkSync(PACKAGE, `${DIRECTORY}/node_modules/besom`);
  // As an ES module and as a CommonJS module: each has types of its own.
  for (const name of ['types.ts', 'types.cts']) copyFileSync(`${ROOT}/web/test/types.ts`, `${DIRECTORY}/${name}`);
  return existsSync(COMPILER);
}

test('the types accept correct uses and refuse wrong ones', (t) => {
  if (!install()) {
    t.skip('typescript cannot be installed: no network?');
    return;
  }
  const { stdout, status } = spawnSync(process.execPath, [COMPILER, '--noEmit', '--strict', '--target',
    'es2022', '--module', 'nodenext', '--lib', 'es2022,dom', 'types.ts', 'types.cts'],
    { cwd: DIRECTORY, encoding: 'utf8' });
  assert.equal(stdout, '');
  assert.equal(status, 0);
});

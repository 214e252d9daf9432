/** The package as a whole. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PACKAGE, ROOT } from './support.mjs';

test('the version is that of the header', () => {
  const header = readFileSync(`${ROOT}/include/besom.h`, 'utf8');
  const part = (name) => header.match(`define BESOM_VERSION_${name} (\\d+)`)[1];
  const { name, version } = JSON.parse(readFileSync(`${PACKAGE}/package.json`, 'utf8'));
  assert.equal(name, 'besom');
  assert.equal(version, `${part('MAJOR')}.${part('MINOR')}.${part('PATCH')}`);
});

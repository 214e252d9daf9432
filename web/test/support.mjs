/** What the tests share. BESOM_PACKAGE is the directory of the package, default build/npm. */
import { readFileSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const PACKAGE = resolve(process.env.BESOM_PACKAGE ?? `${ROOT}/build/npm`);
export const BESOM = `${ROOT}/build/besom`; // the native command

export const besom = await import(pathToFileURL(`${PACKAGE}/besom.node.mjs`));
export const reader = await import(pathToFileURL(`${PACKAGE}/reader.node.mjs`));

export function golden() {
  const directory = `${ROOT}/tests/golden`;
  return readdirSync(directory).filter((name) => name.endsWith('.besom'))
    .map((name) => ({ name, bytes: new Uint8Array(readFileSync(`${directory}/${name}`)) }));
}

/** The keys PREFIX0, PREFIX1 and so on. */
export function keysOf(prefix, n) {
  return Array.from({ length: n }, (_, i) => `${prefix}${i}`);
}

export const SEED = Uint8Array.from({ length: 16 }, (_, i) => i + 1);

/** An absent key that the filter answers yes. */
export function falsePositive(filter) {
  for (let i = 0; ; i++) if (filter.has(`absent-${i}`)) return `absent-${i}`;
}

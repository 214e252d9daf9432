/**
 * The contract laws of the repository (tests/laws) in WebAssembly: what every kind must do, also
 * where size_t has 32 bits. `make test-web` builds build/wasm/contract.wasm. A failed or skipped law
 * leaves the module by an exception.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { WASI } from 'node:wasi';
import { ROOT } from './support.mjs';

const FILE = `${ROOT}/build/wasm/contract.wasm`;

/**
 * Those that depend on sizes: the others take minutes, and run natively. Not golden files: a module
 * opens no file, and files.test.mjs has them.
 */
const LAWS = ['--defaults', 'too_large_*', 'a_good_configuration_*', '*hostile*', '*damaged*', '*corrupt*',
  '*patch*', '*no_memory*', '*allocation*', 'no_false_negatives_of_u64'];

class Skip extends Error {}
class Failure extends Error {}

/** Runs the laws that the arguments of contract_tests choose. Returns the numbers and failures. */
async function runLaws(module, args) {
  const wasi = new WASI({ version: 'preview1', args: ['contract_tests', ...args], env: {},
    preopens: { '/besom': ROOT } });
  let exports, drawn = 0;
  const text = (at) => {
    const bytes = new Uint8Array(exports.memory.buffer);
    return new TextDecoder().decode(bytes.subarray(at >>> 0, bytes.indexOf(0, at >>> 0)));
  };
  const result = { passed: 0, skipped: 0, failures: [] };
  const runOne = (i, stack) => {
    const name = text(exports.web_test_name(i));
    try {
      exports.web_run_one(i);
      result.passed++;
    } catch (error) {
      exports.__stack_pointer.value = stack;
      if (error instanceof Skip) result.skipped++;
      else result.failures.push(`${name}: ${error.message}`);
    }
  };
  const instance = await WebAssembly.instantiate(module, {
    wasi_snapshot_preview1: wasi.wasiImport,
    besom: {
      now: () => performance.now(),
      random: (at, n) => { // the same seeds in every run
        new Uint8Array(exports.memory.buffer, at, n).forEach((_, i, bytes) => {
          bytes[i] = (Math.imul(++drawn, 0x9e3779b1) >>> 13) ^ (drawn >>> 3);
        });
        return 0;
      },
    },
    tests: {
      fail: (what, file, line) => { throw new Failure(`${text(file)}:${line}: ${text(what)}`); },
      skip: () => { throw new Skip(); },
      run: (n) => {
        const stack = exports.__stack_pointer.value;
        for (let i = 0; i < n; i++) runOne(i, stack);
      },
    },
  });
  exports = instance.exports;
  wasi.start(instance);
  return result;
}

test('the laws hold in WebAssembly', { skip: existsSync(FILE) ? false : 'contract.wasm is missing' },
  async () => {
    const module = await WebAssembly.compile(readFileSync(FILE));
    const { passed, failures } = await runLaws(module, process.env.BESOM_LAWS?.split(' ') ?? LAWS);
    assert.deepEqual(failures, []);
    assert.ok(passed > 0, `${passed} laws`);
  });

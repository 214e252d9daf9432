/** The compiled WebAssembly module, and its instances. */
import { FetchError, InvalidError } from './errors.js';
import { Heap } from './heap.js';

/**
 * What differs between Node and browsers: `wasm()` gives the module (a WebAssembly.Module, bytes,
 * a Response or a promise of these), `fetch(url)` the bytes or the Response of a list, `crypto` is
 * WebCrypto.
 */
export const platform = { wasm: null, fetch: null, crypto: null };

let compiling = null; // a promise of the module
let shared = null; // a promise of the instance that most filters use

async function compileFrom(source) {
  source = await source;
  if (source instanceof WebAssembly.Module) return source;
  if (typeof Response !== 'undefined' && source instanceof Response) return compileResponse(source);
  return WebAssembly.compile(source);
}

async function compileResponse(response) {
  if (!response.ok)
    throw new FetchError(`${response.url}: status ${response.status}`, 'FETCH');
  const type = response.headers.get('content-type') ?? '';
  if (WebAssembly.compileStreaming && type.startsWith('application/wasm'))
    return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/**
 * Compiles the module, once. Other functions do it when they need it; call this to use another
 * source: a WebAssembly.Module (for example one that a page has posted to a worker), bytes, a
 * Response, a URL. Resolves to the module, which can be posted to workers.
 */
export function init(source) {
  if (source !== undefined && compiling)
    throw new InvalidError('init: the module is compiled already', 'INVALID');
  if (typeof source === 'string' || source instanceof URL) source = platform.fetch(source);
  compiling ??= compileFrom(source === undefined ? platform.wasm() : source).catch((error) => {
    compiling = null; // the next call tries again
    throw error;
  });
  return compiling;
}

/** An instance for one filter: its memory returns to the system with the filter. */
export async function newHeap() {
  return Heap.create(await init(), platform.crypto);
}

/** The instance that filters share. A poisoned one is replaced. */
export async function sharedHeap() {
  const promise = (shared ??= newHeap().catch((error) => {
    shared = null;
    throw error;
  }));
  const heap = await promise;
  if (!heap.poisoned) return heap;
  if (shared === promise) shared = null; // else another call has replaced it already
  return sharedHeap();
}

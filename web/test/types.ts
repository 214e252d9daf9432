/** Compiled by types.test.mjs, not run: the types accept correct uses and refuse wrong ones. */
import { CorruptError, Filter, init, pack } from 'besom';
import { Filter as Reader, type PackedKeys, type Signed } from 'besom/reader';

export async function correct(bytes: Uint8Array, signature: string, publicKey: string) {
  const module: WebAssembly.Module = await init();
  const list: Reader = await Reader.open(new URL('https://example.com/list.besom'),
    { signature, publicKey, name: 'blocked', sequence: 3 });
  const signed: Signed | null = list.signed;
  const filter: Filter = await Filter.build(['a', 1n, bytes], { no: new Set(['b']), fpr: 0.01 });
  const packed: PackedKeys = pack(['a', bytes]);
  const yes: boolean = filter.has('a');
  const answers: Uint8Array = filter.hasMany(packed);
  const rate: number = filter.stats.expectedFpr + list.stats.keys;
  const patched: Filter = await filter.patch(filter.diff(await Filter.build([], { like: filter })));
  if (!filter.report('x')) filter.remove('a');
  filter.free();
  return { module, signed, yes, answers, rate, patched, offset: (error: unknown) =>
    error instanceof CorruptError ? error.offset : error };
}

export async function wrong(list: Reader) {
  // @ts-expect-error a number is no key
  list.has(5);
  const dropped: boolean = list.report('x');
  // @ts-expect-error a number is no key
  list.report(5);
  // @ts-expect-error the reader cannot change a filter
  list.insert('x');
  // @ts-expect-error an unknown option
  await Filter.build(['a'], { colour: 'red' });
  // @ts-expect-error filters come from open, build and create
  new Filter();
  return dropped;
}

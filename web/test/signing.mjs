/** Keys and signature files in the format of docs/signed.md, for tests. */
import { webcrypto } from 'node:crypto';
import { SEED, besom, keysOf } from './support.mjs';

const { subtle } = webcrypto;
const NUMBER = [1, 2, 3, 4, 5, 6, 7, 8];
const base64 = (bytes) => Buffer.from(bytes).toString('base64');
const sha256 = async (bytes) => Buffer.from(await subtle.digest('SHA-256', bytes)).toString('hex');

export async function newKey(number = NUMBER) {
  const pair = await subtle.generateKey({ name: 'Ed25519' }, true, ['sign', 'verify']);
  const raw = new Uint8Array(await subtle.exportKey('raw', pair.publicKey));
  const sign = async (data) =>
    new Uint8Array(await subtle.sign({ name: 'Ed25519' }, pair.privateKey, data));
  return { sign, number, publicKey: base64([0x45, 0x64, ...number, ...raw]) };
}

/** A signature file, as `besom sign` writes it. */
export async function signFile(key, bytes, statement, algorithm = 0x64) {
  const signature = await key.sign(bytes);
  const global = await key.sign(Buffer.concat([signature, Buffer.from(statement)]));
  return {
    signature, global,
    file: `untrusted comment: signature of besom\n${base64([0x45, algorithm, ...key.number, ...signature])}\n` +
      `trusted comment: ${statement}\n${base64(global)}\n`,
  };
}

export const LATER = '2099-01-01T00:00:00Z';

export async function statementOf(bytes, sequence, expires = LATER, name = 'blocked') {
  return `besom-list-1 name=${name} sequence=${sequence} expires=${expires} result=${await sha256(bytes)}`;
}

export const signList = async (key, bytes, sequence, ...more) =>
  signFile(key, bytes, await statementOf(bytes, sequence, ...more));

export async function signPatch(key, patch, base, made, sequence, ...more) {
  const list = await statementOf(made, sequence, ...more), of = await signFile(key, made, list);
  return (await signFile(key, patch, `${list} base=${await sha256(base)} ` +
    `signature=${base64(of.signature)} global=${base64(of.global)}`)).file;
}

export async function versions() {
  const members = keysOf('key-', 1000);
  const old = await besom.Filter.build(members, { capacity: 1100, seed: SEED });
  const fresh = await besom.Filter.build([...members, 'added'], { like: old });
  return { old: old.save(), fresh: fresh.save(), patch: old.diff(fresh) };
}

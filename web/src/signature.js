/**
 * Signed lists and patches: Ed25519 in the format of minisign without prehashing, verified by
 * WebCrypto before anything of a file is parsed. docs/signed.md is the specification.
 */
import { SignatureError, UnsupportedError } from './errors.js';
import { bytesOf } from './heap.js';

const NUMBER_BYTES = 8, KEY_BYTES = 32, SIGNATURE_BYTES = 64;
const MAX_STATEMENT = 1000;
const utf8 = new TextEncoder();

function refuse(message, cause) {
  return new SignatureError(message, 'SIGNATURE', cause && { cause });
}

/** Strict base64 of exactly n bytes; null if it is not. */
function fromBase64(text, n) {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length !== 4 * Math.ceil(n / 3)) return null;
  const binary = atob(text);
  if (binary.length !== n || btoa(binary) !== text) return null;
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

function equalBytes(a, b) {
  return a.length === b.length && a.every((x, i) => x === b[i]);
}

/** A public key: the file of minisign, or its second line. */
export function parsePublicKey(text) {
  const lines = String(text).trim().split('\n');
  const bytes = fromBase64(lines[lines.length - 1].trim(), 2 + NUMBER_BYTES + KEY_BYTES);
  if (!bytes || bytes[0] !== 0x45 || bytes[1] !== 0x64)
    throw refuse('the public key is not one of minisign');
  return { number: bytes.slice(2, 10), key: bytes.slice(10) };
}

/** The four lines of a signature file. */
function parseSignature(file) {
  const text = typeof file === 'string' ? file : new TextDecoder('latin1').decode(bytesOf(file));
  const lines = text.split('\n');
  if (lines.length !== 5 || lines[4] !== '' || !lines[0].startsWith('untrusted comment: ') ||
      !lines[2].startsWith('trusted comment: '))
    throw refuse('the signature is not a file of minisign');
  const first = fromBase64(lines[1], 2 + NUMBER_BYTES + SIGNATURE_BYTES);
  const global = fromBase64(lines[3], SIGNATURE_BYTES);
  if (first && first[0] === 0x45 && first[1] === 0x44)
    throw refuse('the signature is prehashed: sign with `besom sign` or `minisign -S -l`');
  if (!first || first[0] !== 0x45 || first[1] !== 0x64 || !global)
    throw refuse('the signature is not one of minisign');
  const statement = lines[2].slice('trusted comment: '.length);
  if (statement.length > MAX_STATEMENT) throw refuse('the signed statement is too long');
  return {
    text, number: first.slice(2, 10), signature: first.slice(10), statement, global,
  };
}

const STATEMENT = new RegExp(
  '^besom-list-1 name=([A-Za-z0-9._-]{1,64}) sequence=([1-9][0-9]{0,15}) ' +
  'expires=([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z) result=([0-9a-f]{64})' +
  '(?: base=([0-9a-f]{64}) signature=([A-Za-z0-9+/=]{88}) global=([A-Za-z0-9+/=]{88}))?$');

function parseStatement(text) {
  const match = STATEMENT.exec(text);
  const sequence = match && Number(match[2]);
  const expires = match && new Date(match[3]);
  if (!match || sequence > Number.MAX_SAFE_INTEGER || Number.isNaN(expires.getTime()) ||
      expires.toISOString() !== match[3].replace('Z', '.000Z'))
    throw refuse('the signed statement has another format');
  const [, name, , , result, base, signature, global] = match;
  const statement = { name, sequence, expires, result };
  if (base === undefined) return statement;
  const nextSignature = fromBase64(signature, SIGNATURE_BYTES);
  const nextGlobal = fromBase64(global, SIGNATURE_BYTES);
  if (!nextSignature || !nextGlobal) throw refuse('the signed statement has another format');
  return { ...statement, base, nextSignature, nextGlobal, globalText: global,
    list: text.slice(0, text.indexOf(' base=')) };
}

// -------------------------------------------------------------- WebCrypto

async function importKey(crypto, key) {
  if (!crypto?.subtle)
    throw new UnsupportedError('signatures need WebCrypto: a page needs https or localhost',
      'UNSUPPORTED');
  try {
    return await crypto.subtle.importKey('raw', key, { name: 'Ed25519' }, false, ['verify']);
  } catch (error) {
    if (error.name !== 'NotSupportedError') throw refuse('the public key is not valid', error);
    throw new UnsupportedError('WebCrypto has no Ed25519 here: it needs Chromium 137 or Node 18.4',
      'UNSUPPORTED', { cause: error });
  }
}

function verify(crypto, key, signature, data) {
  return crypto.subtle.verify({ name: 'Ed25519' }, key, signature, data);
}

/** The checksum of bytes, in hex. */
export async function sha256(crypto, bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (x) => x.toString(16).padStart(2, '0')).join('');
}

function joined(a, b) {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

// -------------------------------------------------------------- verification

function keysOf(trust) {
  const given = Array.isArray(trust.publicKey) ? trust.publicKey : [trust.publicKey];
  return given.map(parsePublicKey);
}

/** Steps 1 to 3: the statement of a file whose signatures are right and that has not expired. */
async function verifyFile(crypto, bytes, file, trust) {
  const parsed = parseSignature(file);
  const known = keysOf(trust).find(({ number }) => equalBytes(number, parsed.number));
  if (!known) throw refuse('the signature is by another key');
  const key = await importKey(crypto, known.key);
  const stated = joined(parsed.signature, utf8.encode(parsed.statement));
  if (!(await verify(crypto, key, parsed.global, stated)))
    throw refuse('the signature of the statement is wrong');
  const statement = parseStatement(parsed.statement);
  if (!(await verify(crypto, key, parsed.signature, bytes)))
    throw refuse('the signature of the file is wrong');
  if (!(statement.expires > (trust.now ?? new Date()))) // also if now is not a date
    throw refuse(`the list has expired (${statement.expires.toISOString()})`);
  return { key, number: known.number, parsed, statement };
}

function checkOrder(statement, current) {
  if (statement.name !== current.name)
    throw refuse(`the signature is of the list ${statement.name}, not of ${current.name}`);
  if (!(statement.sequence >= (current.sequence ?? 0))) // also if the current one is not a number
    throw refuse(`the list is older than the current one (${statement.sequence})`);
  if (statement.sequence === current.sequence && statement.result !== current.result)
    throw refuse(`two lists have the sequence number ${statement.sequence}`);
}

/**
 * Verifies a whole list. trust: { signature, publicKey, name, sequence?, now? }. Returns what the
 * filter keeps: { name, sequence, expires, result, signature }.
 */
export async function verifyList(crypto, bytes, trust) {
  if (!trust.publicKey || !trust.name)
    throw refuse('publicKey and name must be given: one key may sign several lists');
  const { parsed, statement } = await verifyFile(crypto, bytes, trust.signature, trust);
  if (statement.base) throw refuse('the signature is of a patch, not of a list');
  checkOrder(statement, { name: trust.name, sequence: trust.sequence, result: statement.result });
  if ((await sha256(crypto, bytes)) !== statement.result)
    throw refuse('the list is not the one that was signed');
  const { name, sequence, expires, result } = statement;
  return { name, sequence, expires, result, signature: parsed.text };
}

/**
 * Verifies a patch for the current list: `current` is what verifyList returned, `list` its bytes.
 * Returns a function that verifies the made list, and then what the filter keeps of it; or null if
 * the current list is the one that the patch makes.
 */
export async function verifyPatch(crypto, bytes, trust, current, list) {
  const { key, number, statement } = await verifyFile(crypto, bytes, trust.signature, trust);
  if (!statement.base) throw refuse('the signature is of a list, not of a patch');
  checkOrder(statement, current);
  checkOrder(statement, { name: trust.name ?? current.name, sequence: trust.sequence,
    result: statement.result });
  if (statement.sequence === current.sequence) return null;
  if ((await sha256(crypto, list)) !== statement.base)
    throw refuse('the patch is for another version of the list: fetch the whole list');
  return async (made) => {
    const stated = joined(statement.nextSignature, utf8.encode(statement.list));
    if ((await sha256(crypto, made)) !== statement.result ||
        !(await verify(crypto, key, statement.nextGlobal, stated)) ||
        !(await verify(crypto, key, statement.nextSignature, made)))
      throw refuse('the patched list is not the one that was signed');
    const { name, sequence, expires, result } = statement;
    return { name, sequence, expires, result, signature: signatureFile(number, statement) };
  };
}

/** The signature file of the list that a patch has made. */
function signatureFile(number, statement) {
  const prefix = joined(Uint8Array.of(0x45, 0x64), number);
  const line = btoa(String.fromCharCode(...joined(prefix, statement.nextSignature)));
  return `untrusted comment: signature of besom\n${line}\n` +
    `trusted comment: ${statement.list}\n${statement.globalText}\n`;
}

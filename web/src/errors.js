/** Errors of besom. Each has `status`, the name of the library's status or of the failed step. */

export class BesomError extends Error {
  constructor(message, status, options) {
    super(message, options);
    this.name = new.target.name;
    this.status = status;
  }
}

/** An argument is wrong: a type, a range, an option or the name of a kind. */
export class InvalidError extends BesomError {}
/** The bytes are not a saved filter or patch, or are damaged. `offset`: where, if known. */
export class CorruptError extends BesomError {}
/** The file was saved by a later version, or has a kind that this module lacks. */
export class NewerVersionError extends BesomError {}
/** The patch was made for another version of the list. Fetch the whole list. */
export class IncompatibleError extends BesomError {}
/** The module has no memory for this. The filter is unchanged. */
export class OutOfMemoryError extends BesomError {}
/** The filter has no room for another key, or for another report (RESERVE_FULL). */
export class FullError extends BesomError {}
/** This kind of filter, or this module, does not have that operation. */
export class UnsupportedError extends BesomError {}
/** The filter must not be changed: it was opened read-only. */
export class ReadOnlyError extends BesomError {}
/** The key is a member, or is on both lists. */
export class MemberError extends BesomError {}
/** A signature is missing, malformed or wrong. The filter is unchanged. */
export class SignatureError extends BesomError {}
/** A list or the WebAssembly module could not be fetched. */
export class FetchError extends BesomError {}
/** The filter was freed. */
export class FreedError extends BesomError {}
/** The WebAssembly instance has trapped. Its filters are lost; new ones get a new instance. */
export class TrapError extends BesomError {}

/** The statuses of besom_types.h, by number. */
export const STATUS = [
  'OK', 'END', 'INVALID', 'UNKNOWN_KIND', 'BAD_OPTION', 'UNSUPPORTED', 'NO_MEMORY', 'FULL',
  'NOT_FOUND', 'INCOMPATIBLE', 'CORRUPT', 'NEWER_VERSION', 'IO', 'READ_ONLY', 'CANCELLED',
  'NEEDS_STORE', 'AMBIGUOUS', 'IS_MEMBER', 'BUSY', 'LOCKED', 'RESERVE_FULL', 'DISK_FULL', 'EVICTED',
  'NO_CHECKPOINT',
];

const CLASSES = {
  INVALID: InvalidError, UNKNOWN_KIND: InvalidError, BAD_OPTION: InvalidError,
  UNSUPPORTED: UnsupportedError, NEEDS_STORE: UnsupportedError,
  NO_MEMORY: OutOfMemoryError, FULL: FullError, RESERVE_FULL: FullError,
  INCOMPATIBLE: IncompatibleError, CORRUPT: CorruptError, NEWER_VERSION: NewerVersionError,
  READ_ONLY: ReadOnlyError, IS_MEMBER: MemberError,
};

/** The error for a status number; `text` is the library's sentence for it. */
export function errorOf(number, text, what) {
  const status = STATUS[number] ?? String(number);
  const Class = CLASSES[status] ?? BesomError;
  return new Class(what ? `${what}: ${text}` : text, status);
}

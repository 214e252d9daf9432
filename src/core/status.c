#include "besom.h"

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *besom_version(void) {
  return VERSION(BESOM_VERSION_MAJOR, BESOM_VERSION_MINOR, BESOM_VERSION_PATCH);
}

const char *besom_strerror(besom_status status) {
  switch (status) {
  case BESOM_OK:
    return "no error";
  case BESOM_END:
    return "no more items";
  case BESOM_INVALID:
    return "an argument is missing or out of range";
  case BESOM_UNKNOWN_KIND:
    return "there is no kind of filter of that name";
  case BESOM_BAD_OPTION:
    return "an option or hash is unknown, or has a bad value";
  case BESOM_UNSUPPORTED:
    return "this kind of filter cannot do that";
  case BESOM_NO_MEMORY:
    return "out of memory";
  case BESOM_FULL:
    return "the filter is full";
  case BESOM_NOT_FOUND:
    return "there is no such key";
  case BESOM_INCOMPATIBLE:
    return "the filters differ in kind, hash, seed or geometry";
  case BESOM_CORRUPT:
    return "not a saved filter, or damaged";
  case BESOM_NEWER_VERSION:
    return "saved by a later version of besom";
  case BESOM_IO:
    return "a file could not be read or written";
  case BESOM_READ_ONLY:
    return "the filter or store is read-only";
  case BESOM_CANCELLED:
    return "cancelled by the caller";
  case BESOM_AMBIGUOUS:
    return "several fingerprints match the key";
  case BESOM_IS_MEMBER:
    return "the key is a member";
  case BESOM_BUSY:
    return "a task, a batch, a migration or an iterator is under way, or too many readers are";
  case BESOM_LOCKED:
    return "another process has the store open";
  case BESOM_RESERVE_FULL:
    return "the memory set aside for adaptation is used up";
  case BESOM_DISK_FULL:
    return "the disk, or the store's own size limit, has no room";
  case BESOM_EVICTED:
    return "adapted; an older report was dropped for it";
  case BESOM_NO_CHECKPOINT:
    return "nothing is lost, but the filter could not be saved: the next open reads all keys";
  case BESOM_NEEDS_STORE:
    return "this kind of filter needs its stored keys for that";
  }
  return "unknown status";
}

/* The calls of maplets (besom_map.h): check the arguments, hash the key, call the kind. */
#include "besom_map.h"

#include <string.h>

#include "api/filter_calls.h"
#include "core/system/memory.h"

static besom_digest map_digest_of(struct reader r, const void *key, size_t len) {
  return hash_bytes(&r.filter->hasher, key, len);
}

static bool value_fits(const besom_filter *f, uint64_t value) {
  return !(value >> f->kind->map->value_bits(f));
}

/* -------------------------------------------------------------- changes */

besom_status besom_insert_value_digest(besom_filter *f, besom_digest digest, uint64_t value) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, map, insert, value_fits(f, value));
  return leave(r, r.filter->kind->map->insert(r.filter, digest, 1, value));
}

besom_status besom_insert_value(besom_filter *f, const void *key, size_t len, uint64_t value) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, map, insert, (key || !len) && value_fits(f, value));
  return leave(r, r.filter->kind->map->insert(r.filter, map_digest_of(r, key, len), 1, value));
}

static bool values_fit(const besom_filter *f, const uint64_t *values, size_t n) {
  uint64_t all = 0;
  if (!values) return !n;
  for (size_t i = 0; i < n; i++) all |= values[i];
  return value_fits(f, all);
}

static besom_status insert_values(besom_filter *f, struct key_array keys, const uint64_t *values,
                                  size_t n, size_t *done) {
  besom_digest batch[HASH_BATCH];
  size_t ignored, inserted;
  if (!done) done = &ignored;
  *done = 0;
  struct reader r;
  ENTER_TO_CHANGE(r, f, map, insert_many, key_array_valid(keys, n) && values_fit(f, values, n));
  besom_status status = BESOM_OK;
  for (size_t i = 0; i < n && status == BESOM_OK; i += HASH_BATCH) {
    size_t some = n - i < HASH_BATCH ? n - i : HASH_BATCH;
    hash_key_array(&r.filter->hasher, keys, i, some, batch);
    status = r.filter->kind->map->insert_many(r.filter, batch, values + i, some, &inserted);
    *done += inserted;
  }
  return leave(r, status);
}

besom_status besom_insert_values_many(besom_filter *f, const besom_bytes *keys,
                                      const uint64_t *values, size_t n, size_t *done) {
  return insert_values(f, (struct key_array){.bytes = keys}, values, n, done);
}

besom_status besom_insert_values_many_u64(besom_filter *f, const uint64_t *keys,
                                          const uint64_t *values, size_t n, size_t *done) {
  return insert_values(f, (struct key_array){.integers = keys}, values, n, done);
}

besom_status besom_remove_value(besom_filter *f, const void *key, size_t len, uint64_t value) {
  struct reader r;
  ENTER_TO_CHANGE_OWN(r, f, map, remove, (key || !len) && value_fits(f, value));
  return leave(r, r.filter->kind->map->remove(r.filter, map_digest_of(r, key, len), value));
}

besom_status besom_replace_value(besom_filter *f, const void *key, size_t len, uint64_t old,
                                 uint64_t value) {
  struct reader r;
  ENTER_TO_CHANGE_OWN(r, f, map, replace, (key || !len) && value_fits(f, old | value));
  return leave(r, r.filter->kind->map->replace(r.filter, map_digest_of(r, key, len), old, value));
}

besom_status besom_adapt_value(besom_filter *f, const void *key, size_t len, uint64_t value) {
  struct reader r;
  if (f && !f->kind->map) return BESOM_UNSUPPORTED;
  besom_status status = enter_to_report(f, (key || !len) && f && value_fits(f, value), &r);
  if (status != BESOM_OK) return status;
  return leave(r, adapted(r.filter->kind->map->adapt(r.filter, map_digest_of(r, key, len), value)));
}

/* -------------------------------------------------------------- the note */

besom_status besom__note_copy(besom_filter *f, const void *data, size_t len) {
  void *copy = NULL;
  if (len) {
    copy = besom__allocate(&f->allocator, len);
    if (!copy) return BESOM_NO_MEMORY;
    memcpy(copy, data, len);
  }
  besom__release(&f->allocator, f->note.data, f->note.len);
  f->note = (struct filter_note){copy, len};
  return BESOM_OK;
}

besom_status besom_set_note(besom_filter *f, const void *data, size_t len) {
  struct reader r;
  ENTER_TO_CHANGE(r, f, map, insert, data || !len);
  return leave(r, besom__note_copy(r.filter, data, len));
}

const void *besom_note(const besom_filter *f, size_t *len) {
  if (len) *len = f ? f->note.len : 0;
  return f && f->note.len ? f->note.data : NULL;
}

/* -------------------------------------------------------------- queries */

besom_status besom_get_values_digest(const besom_filter *f, besom_digest digest, uint64_t *out,
                                     size_t room, size_t *n) {
  if (!f || !n || (!out && room)) return BESOM_INVALID;
  if (!f->kind->map) return BESOM_UNSUPPORTED;
  *n = f->kind->map->get(f, digest, out, room);
  return BESOM_OK;
}

besom_status besom_get_values(const besom_filter *f, const void *key, size_t len, uint64_t *out,
                              size_t room, size_t *n) {
  if (!f || (!key && len)) return BESOM_INVALID;
  if (!f->kind->map) return BESOM_UNSUPPORTED;
  return besom_get_values_digest(f, hash_bytes(&f->hasher, key, len), out, room, n);
}

static besom_status get_values(const besom_filter *f, struct key_array keys, size_t n,
                               uint64_t *out, size_t room, size_t *starts, size_t *done) {
  besom_digest batch[HASH_BATCH];
  if (!f || !starts || !done || (!out && room) || !key_array_valid(keys, n)) return BESOM_INVALID;
  if (!f->kind->map) return BESOM_UNSUPPORTED;
  starts[0] = *done = 0;
  for (size_t some, answered = 0; *done < n; *done += answered) {
    size_t at = starts[*done];
    some = n - *done < HASH_BATCH ? n - *done : HASH_BATCH;
    hash_key_array(&f->hasher, keys, *done, some, batch);
    answered = f->kind->map->get_many(f, batch, some, out + at, room - at, starts + *done);
    for (size_t i = 0; i <= answered; i++) starts[*done + i] += at;
    if (answered < some) {
      *done += answered;
      break;
    }
  }
  return BESOM_OK;
}

besom_status besom_get_values_many(const besom_filter *f, const besom_bytes *keys, size_t n,
                                   uint64_t *out, size_t room, size_t *starts, size_t *done) {
  return get_values(f, (struct key_array){.bytes = keys}, n, out, room, starts, done);
}

besom_status besom_get_values_many_u64(const besom_filter *f, const uint64_t *keys, size_t n,
                                       uint64_t *out, size_t room, size_t *starts, size_t *done) {
  return get_values(f, (struct key_array){.integers = keys}, n, out, room, starts, done);
}

/*
 * u64_forms.h - calls with an integer key that besom.h has for byte keys only.
 */
#ifndef BESOM_TESTS_U64_FORMS_H
#define BESOM_TESTS_U64_FORMS_H

#include "besom.h"

static inline besom_status insert_count_u64(besom_filter *f, uint64_t key, uint64_t n) {
  besom_u64_key k = besom_u64(key);
  return besom_insert_count(f, k.bytes, 8, n);
}

static inline besom_status get_value_u64(const besom_filter *f, uint64_t key, uint64_t *value) {
  besom_u64_key k = besom_u64(key);
  return besom_get_value(f, k.bytes, 8, value);
}

static inline besom_status set_value_u64(besom_filter *f, uint64_t key, uint64_t value) {
  besom_u64_key k = besom_u64(key);
  return besom_set_value(f, k.bytes, 8, value);
}

static inline besom_status no_add_u64(besom_filter *f, uint64_t key) {
  besom_u64_key k = besom_u64(key);
  return besom_no_add(f, k.bytes, 8);
}

static inline besom_status no_remove_u64(besom_filter *f, uint64_t key) {
  besom_u64_key k = besom_u64(key);
  return besom_no_remove(f, k.bytes, 8);
}

#endif

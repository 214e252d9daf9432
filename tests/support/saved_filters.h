/*
 * saved_filters.h - filters compared by their saved bytes, and copies by way of them.
 */
#ifndef BESOM_TESTS_SAVED_FILTERS_H
#define BESOM_TESTS_SAVED_FILTERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "besom.h"
#include "support/memory_sink.h"

static inline void assert_same_bytes(const besom_filter *a, const besom_filter *b) {
  memory_sink x, y;
  memory_sink_init(&x);
  memory_sink_init(&y);
  assert_int_equal(besom_save(a, &x.api), BESOM_OK);
  assert_int_equal(besom_save(b, &y.api), BESOM_OK);
  assert_true(memory_sinks_equal(&x, &y));
  memory_sink_close(&x);
  memory_sink_close(&y);
}

static inline besom_filter *loaded_copy(const besom_filter *f) {
  memory_sink sink;
  besom_filter *copy = NULL;
  memory_sink_init(&sink);
  assert_int_equal(besom_save(f, &sink.api), BESOM_OK);
  assert_int_equal(besom_load(sink.data, sink.len, NULL, &copy), BESOM_OK);
  memory_sink_close(&sink);
  return copy;
}

#endif

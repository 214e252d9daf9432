/*
 * damage.h - saved filters with some bits changed and correct checksums, as an attacker makes them.
 */
#ifndef BESOM_TESTS_DAMAGE_H
#define BESOM_TESTS_DAMAGE_H

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/checksums.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"

/*
 * Loads a copy with one to three bits changed, mostly in the parameters. Returns NULL if besom_load
 * refuses it. A filter that loads must save as the same bytes.
 */
static inline besom_filter *load_damaged(const memory_sink *saved, random_stream *random,
                                         size_t round) {
  uint8_t *bytes = heap_array(saved->len, 1);
  besom_filter *f = NULL;
  memcpy(bytes, saved->data, saved->len);
  for (size_t i = 0; i <= round % 3; i++)
    bytes[random_below(random, round % 4 && saved->len > 2000 ? 2000 : saved->len)] ^=
        (uint8_t)(1 << random_below(random, 8));
  fix_checksums(bytes, saved->len);
  if (besom_load(bytes, saved->len, NULL, &f) == BESOM_OK) {
    memory_sink again;
    memory_sink_init(&again);
    assert_int_equal(besom_save(f, &again.api), BESOM_OK);
    assert_true(again.len == saved->len && !memcmp(again.data, bytes, saved->len));
    memory_sink_close(&again);
  }
  free(bytes);
  return f;
}

#endif

/*
 * Every field of a saved filter is checked. A file with one bit changed, checksums repaired, is
 * refused, or is another filter in its only form: it saves as the same bytes.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/checksums.h"
#include "support/heap.h"
#include "support/memory_sink.h"

enum { LARGEST = 8192, FIELDS = 500 }; /* header, list of sections, parameters */

static bool is_same(const memory_sink *saved, const uint8_t *bytes, size_t len) {
  return saved->len == len && memcmp(saved->data, bytes, len) == 0;
}

/* A chain of 0.2.0 has its exceptions in a layer. It is saved with them outside. */
static bool is_lifted(const uint8_t *bytes, const memory_sink *saved) {
  besom_filter *f = NULL;
  memory_sink again;
  memory_sink_init(&again);
  bool same = strcmp((const char *)bytes + 16, "scaling") == 0 &&
              besom_load(saved->data, saved->len, NULL, &f) == BESOM_OK &&
              besom_save(f, &again.api) == BESOM_OK && is_same(&again, saved->data, saved->len);
  besom_free(f);
  memory_sink_close(&again);
  return same;
}

/* Returns whether the bytes are a filter. */
static bool load_and_save(const uint8_t *bytes, size_t len) {
  uint8_t *exact = heap_array(len, 1); /* a read past the end is noticed by sanitizers */
  besom_filter *f = NULL;
  memcpy(exact, bytes, len);
  besom_status status = besom_load(exact, len, NULL, &f);
  if (status == BESOM_OK) {
    memory_sink again;
    memory_sink_init(&again);
    assert_int_equal(besom_validate(f, NULL), BESOM_OK);
    assert_int_equal(besom_save(f, &again.api), BESOM_OK);
    assert_true(is_same(&again, bytes, len) || is_lifted(bytes, &again));
    memory_sink_close(&again);
  }
  besom_free(f);
  free(exact);
  return status == BESOM_OK;
}

static void change_each_field(const char *name) {
  static uint8_t bytes[LARGEST];
  char path[600];
  snprintf(path, sizeof path, "%s/tests/golden/%s", BESOM_SOURCE_DIR, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t len = fread(bytes, 1, sizeof bytes, file), refused = 0;
  fclose(file);
  assert_true(load_and_save(bytes, len));
  for (size_t i = 0; i < len && i < FIELDS; i++)
    for (unsigned bit = 0; bit < 8; bit += i % 2 ? 7 : 1 + 2 * bit) {
      uint8_t was[LARGEST];
      memcpy(was, bytes, len);
      bytes[i] ^= (uint8_t)(1 << bit);
      fix_checksums(bytes, len);
      refused += !load_and_save(bytes, len);
      memcpy(bytes, was, len);
    }
  assert_true(refused > 100);
}

static void fields_have_one_form(void **state) {
  (void)state;
  DIR *golden = opendir(BESOM_SOURCE_DIR "/tests/golden");
  unsigned files = 0;
  assert_non_null(golden);
  for (struct dirent *entry; (entry = readdir(golden));)
    if (strstr(entry->d_name, ".besom")) change_each_field(entry->d_name), files++;
  closedir(golden);
  assert_true(files > 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fields_have_one_form)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

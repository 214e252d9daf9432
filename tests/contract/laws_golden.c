/*
 * Golden files: filters saved by the version that introduced their kind. Every later version loads
 * them, and makes the same bytes from the same keys.
 */
#include <stdio.h>
#include <stdlib.h>

#include "filters.h"
#include "support/temp_files.h"

enum { N = 1000 };

static temp_path golden_path(const char *kind) {
  temp_path path;
  snprintf(path.text, sizeof path.text, "%s/tests/golden/%s-v1.besom", BESOM_SOURCE_DIR, kind);
  return path;
}

static besom_filter *make_golden(const subject *s) {
  uint64_t *keys = keys_u64(MEMBERS, N);
  besom_config config = config_of(s, N, 1.0 / 256);
  besom_filter *f = make_of_u64(s, &config, keys, N);
  free(keys);
  return f;
}

static void golden_files_load_in_every_version(void **state) {
  const subject *s = subject_of(state);
  temp_path path = golden_path(s->kind->name);
  besom_filter *f = NULL;
  assert_status(BESOM_OK, besom_open(path.text, NULL, &f));
  uint64_t *keys = keys_u64(MEMBERS, N);
  assert_holds_u64(f, keys, N);
  assert_valid(f);
  size_t len = 0;
  uint8_t *golden = read_whole_file(path.text, &len);
  memory_sink again;
  save_to(&again, f);
  assert_int_equal(again.len, len);
  assert_memory_equal(again.data, golden, len);
  memory_sink_close(&again);
  free(golden);
  free(keys);
  besom_free(f);
}

/* With every instruction set. */
static void golden_files_can_be_made_again(void **state) {
  subject s = *subject_of(state);
  if (!s.same_format) skip();
  s.hash = "xxh3"; /* the hash of the golden files */
  temp_path path = golden_path(s.kind->name);
  besom_filter *f = NULL, *today = make_golden(&s);
  assert_status(BESOM_OK, besom_open(path.text, NULL, &f));
  assert_same_bytes(f, today);
  besom_free(f);
  besom_free(today);
}

bool write_golden_files(void) {
  bool all_written = true;
  for (size_t i = 0; besom_kinds(i); i++) {
    subject s = {.kind = besom_kinds(i), .hash = "xxh3"};
    temp_path path = golden_path(s.kind->name);
    besom_filter *f = make_golden(&s);
    besom_status status = besom_save_file(f, path.text);
    printf("%s: %s\n", path.text, besom_strerror(status));
    all_written = all_written && status == BESOM_OK;
    besom_free(f);
  }
  return all_written;
}

const law golden_laws[] = {
    LAW(golden_files_load_in_every_version, EVERY_KIND, 0),
    LAW(golden_files_can_be_made_again, EVERY_SUBJECT, 0),
    {0},
};

/* The cells of a diff are read as they were written, at every width, and hostile ones are refused;
 * patches are as small as the change of a set; forged pieces are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "core/byte_io.h"
#include "file/cell_diff.h"
#include "support/keys.h"
#include "support/memory_sink.h"

enum { BYTES = 500, MOST = 4 * BYTES };

static void fill(uint8_t *bytes, size_t n, random_stream *r) {
  for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)random_below(r, 256);
}

/* One cell in `per` changes. */
static void change(uint8_t *bytes, size_t len, unsigned width, uint64_t per, random_stream *r) {
  for (uint64_t bit = 0; bit < 8 * len; bit += width)
    if (random_below(r, per) == 0)
      for (uint64_t i = bit; i < bit + width && i < 8 * len; i++)
        bytes[i / 8] ^= (uint8_t)(random_below(r, 2) << (i % 8));
}

static uint64_t write_and_read(const struct cell_ranges *r, const uint8_t *fresh) {
  uint8_t coded[MOST] = {0}, out[BYTES];
  struct bit_writer w = {coded, 0, 8 * MOST, false};
  besom__cells_write(r, fresh, &w);
  assert_false(w.failed);
  struct bit_reader bits = {coded, 0, w.at, false};
  assert_int_equal(besom__cells_read(r, &bits, out), BESOM_OK);
  assert_memory_equal(out, fresh, r->len);
  assert_int_equal(bits.at, w.at);
  struct bit_reader cut = {coded, 0, w.at - 1, false};
  assert_int_equal(besom__cells_read(r, &cut, out), BESOM_CORRUPT);
  return w.at;
}

static void cells_are_read_as_written(void **state) {
  (void)state;
  random_stream random = {1};
  uint8_t old[BYTES], fresh[BYTES];
  for (unsigned width = 1; width <= MAX_CELL_BITS; width++)
    for (uint64_t per = 1; per <= 1000; per *= 10)
      for (unsigned shorter = 0; shorter < 3; shorter++) {
        size_t len = BYTES - (size_t)random_below(&random, 16);
        fill(old, BYTES, &random);
        memcpy(fresh, old, BYTES);
        change(fresh, len, width, per, &random);
        struct cell_ranges r = {shorter == 2 ? NULL : old, BYTES, len, width};
        if (shorter) r.old_len = shorter == 2 ? 0 : len / 2;
        write_and_read(&r, fresh);
      }
}

static void rare_changes_take_few_bits(void **state) {
  (void)state;
  uint8_t old[BYTES] = {0}, fresh[BYTES] = {0};
  struct cell_ranges r = {old, BYTES, BYTES, 1};
  assert_true(write_and_read(&r, fresh) < 8);
  for (unsigned i = 0; i < 8 * BYTES; i += 100) fresh[i / 8] ^= (uint8_t)(1 << i % 8);
  assert_true(write_and_read(&r, fresh) < 40 * 8.5); /* a gap of 100 has an entropy of 8.1 bits */
}

static void hostile_cells_do_no_harm(void **state) {
  (void)state;
  random_stream random = {2};
  uint8_t old[BYTES], coded[40], out[BYTES];
  fill(old, BYTES, &random);
  for (unsigned i = 0; i < 20000; i++) {
    fill(coded, sizeof coded, &random);
    struct cell_ranges r = {old, random_below(&random, BYTES + 1), 1 + random_below(&random, BYTES),
                            1 + (unsigned)random_below(&random, MAX_CELL_BITS)};
    struct bit_reader bits = {coded, 0, 8 * random_below(&random, sizeof coded + 1), false};
    besom_status status = besom__cells_read(&r, &bits, out);
    assert_true(status == BESOM_OK || status == BESOM_CORRUPT);
  }
}

/* ------------------------------------------------------------------ sets */

typedef struct list {
  uint64_t from, n, at, key;
} list;

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  list *l = ctx;
  (void)weight;
  if (l->at == l->n) return BESOM_END;
  l->key = key_u64(MEMBERS, l->from + l->at++);
  *key = (besom_bytes){&l->key, sizeof l->key};
  return BESOM_OK;
}

static besom_filter *build(const char *kind, uint64_t from, uint64_t n, const besom_filter *like) {
  static const uint8_t seed[16] = "a diff of sets";
  list l = {.from = from, .n = n};
  besom_source yes = {.next = next, .size_hint = n, .ctx = &l};
  besom_config config = {.kind = kind, .capacity = n, .seed = seed};
  besom_filter *f = NULL;
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes, .like = like}, &f), BESOM_OK);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key = key_u64(MEMBERS, from + i);
    assert_true(besom_contains(f, &key, sizeof key));
  }
  return f;
}

/* Of 20,000 keys, 100 are replaced: 200 changes. */
static void patches_are_as_small_as_the_change(void **state) {
  (void)state;
  static const struct {
    const char *kind;
    size_t most;
  } cases[] = {{"cf", 2200}, {"vacuum", 2200}, {"bloom", 1300}, {"aqf", 900}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    besom_filter *old = build(cases[i].kind, 0, 20000, NULL), *made = NULL;
    besom_filter *fresh = build(cases[i].kind, 100, 20000, old);
    memory_sink patch;
    memory_sink_init(&patch);
    assert_int_equal(besom_diff(old, fresh, &patch.api), BESOM_OK);
    assert_true(patch.len < cases[i].most);
    assert_int_equal(besom_patch(old, patch.data, patch.len, &made), BESOM_OK);
    memory_sink_close(&patch);
    besom_free(old);
    besom_free(fresh);
    besom_free(made);
  }
}

/* A compact patch takes a third less, and is of version 2; of other kinds it is the same patch. */
static void compact_patches_are_smaller(void **state) {
  (void)state;
  enum { VERSION_AT = 8 };
  static const struct {
    const char *kind;
    bool is_smaller;
  } cases[] = {{"aqf", true}, {"qf", true}, {"bloom", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    besom_filter *old = build(cases[i].kind, 0, 20000, NULL), *made = NULL;
    besom_filter *fresh = build(cases[i].kind, 100, 20000, old);
    memory_sink patch, compact;
    memory_sink_init(&patch);
    memory_sink_init(&compact);
    assert_int_equal(besom_diff(old, fresh, &patch.api), BESOM_OK);
    assert_int_equal(besom_diff_compact(old, fresh, &compact.api), BESOM_OK);
    assert_int_equal(patch.data[VERSION_AT], 1);
    assert_int_equal(compact.data[VERSION_AT], cases[i].is_smaller ? 2 : 1);
    assert_int_equal(compact.len < patch.len * 3 / 4, cases[i].is_smaller);
    assert_int_equal(besom_patch(old, compact.data, compact.len, &made), BESOM_OK);
    besom_free(made);
    if (cases[i].is_smaller) { /* such pieces are for version 2 only */
      compact.data[VERSION_AT] = 1;
      assert_int_equal(besom_patch(old, compact.data, compact.len, &made), BESOM_CORRUPT);
      compact.data[VERSION_AT] = 3;
      assert_int_equal(besom_patch(old, compact.data, compact.len, &made), BESOM_NEWER_VERSION);
    }
    memory_sink_close(&patch);
    memory_sink_close(&compact);
    besom_free(old);
    besom_free(fresh);
  }
}

/* Any damage of the runs is a status. */
static void hostile_compact_runs_do_no_harm(void **state) {
  (void)state;
  enum { HEADER = 40, VERSION_AT = 8 };
  random_stream random = {3};
  besom_filter *old = build("aqf", 0, 400, NULL), *fresh = build("aqf", 30, 400, old), *made;
  memory_sink patch;
  unsigned refused = 0;
  memory_sink_init(&patch);
  assert_int_equal(besom_diff_compact(old, fresh, &patch.api), BESOM_OK);
  assert_int_equal(patch.data[VERSION_AT], 2);
  for (unsigned i = 0; i < 5000; i++) {
    size_t at = HEADER + (size_t)random_below(&random, patch.len - HEADER);
    uint8_t was = patch.data[at];
    patch.data[at] ^= (uint8_t)(1 + random_below(&random, 255));
    made = NULL;
    besom_status status = besom_patch(old, patch.data, patch.len, &made);
    if (status == BESOM_OK) /* unused bits, or another way to say the same */
      assert_int_equal(besom_validate(made, NULL), BESOM_OK);
    else
      refused++;
    besom_free(made);
    patch.data[at] = was;
  }
  assert_true(refused > 4900);
  memory_sink_close(&patch);
  besom_free(old);
  besom_free(fresh);
}

/* ------------------------------------------------------------------ hostile pieces */

enum { PIECE_RAW, PIECE_CELLS, PIECE_RUNS }; /* as in docs/format.md */

/* The status of a patch with the header of a real one and these bytes as its pieces. */
static besom_status status_of_pieces(const char *kind, const uint8_t *pieces, size_t len) {
  enum { HEADER = 40 };
  besom_filter *old = build(kind, 0, 100, NULL), *made = NULL;
  memory_sink patch;
  memory_sink_init(&patch);
  assert_int_equal(besom_diff(old, old, &patch.api), BESOM_OK);
  uint8_t *forged = malloc(HEADER + len);
  assert_non_null(forged);
  memcpy(forged, patch.data, HEADER);
  memcpy(forged + HEADER, pieces, len);
  besom_status status = besom_patch(old, forged, HEADER + len, &made);
  assert_null(made);
  free(forged);
  memory_sink_close(&patch);
  besom_free(old);
  return status;
}

/* A number has at most 10 bytes; one that never ends must not be read beyond that. */
static void a_number_without_end_is_refused(void **state) {
  (void)state;
  uint8_t endless[64];
  memset(endless, 0xff, sizeof endless);
  for (size_t before = 0; before < 3; before++) {
    memset(endless, 1, before);
    assert_int_equal(status_of_pieces("qf", endless, sizeof endless), BESOM_CORRUPT);
    assert_int_equal(status_of_pieces("qf", endless, before + 3), BESOM_CORRUPT);
  }
}

/* Runs are for quotient tables, and for one of the same size. */
static void runs_for_another_table_are_refused(void **state) {
  (void)state;
  const uint8_t runs[] = {PIECE_RUNS, 8, 2, 0, 0}, unknown[] = {PIECE_RUNS + 1, 8, 2, 0, 0};
  static const char *const kinds[] = {"bloom", "fuse", "cf", "qf", "aqf"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    assert_int_equal(status_of_pieces(kinds[i], runs, sizeof runs), BESOM_CORRUPT);
    assert_int_equal(status_of_pieces(kinds[i], unknown, sizeof unknown), BESOM_CORRUPT);
  }
}

/* The header may claim a file of no bytes, with its checksum. No filter has such a file. */
static void a_patch_to_an_empty_file_is_refused(void **state) {
  (void)state;
  enum { HEADER = 40, LENGTH_AT = 24 };
  besom_filter *old = build("qf", 0, 100, NULL), *made = NULL;
  memory_sink patch;
  memory_sink_init(&patch);
  assert_int_equal(besom_diff(old, old, &patch.api), BESOM_OK);
  uint8_t forged[HEADER];
  memcpy(forged, patch.data, HEADER);
  struct byte_writer w = {forged + LENGTH_AT, forged + HEADER, false};
  besom__write_u64(&w, 0);
  besom__write_u64(&w, besom__checksum(NULL, 0));
  assert_int_equal(besom_patch(old, forged, HEADER, &made), BESOM_CORRUPT);
  assert_null(made);
  memory_sink_close(&patch);
  besom_free(old);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells_are_read_as_written),
      cmocka_unit_test(rare_changes_take_few_bits),
      cmocka_unit_test(hostile_cells_do_no_harm),
      cmocka_unit_test(patches_are_as_small_as_the_change),
      cmocka_unit_test(compact_patches_are_smaller),
      cmocka_unit_test(hostile_compact_runs_do_no_harm),
      cmocka_unit_test(a_number_without_end_is_refused),
      cmocka_unit_test(runs_for_another_table_are_refused),
      cmocka_unit_test(a_patch_to_an_empty_file_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

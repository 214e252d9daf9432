/*
 * The calls of besom_inline.h give the answers of the exported calls: for filters of every kind and
 * form, and by a copy that was made before the filter changed. Built once per instruction set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom_inline.h"
#include "core/cpu.h"
#include "support/keys.h"
#include "support/saved_filters.h"
#include "support/temp_files.h"

#if defined(__AVX512F__)
#define NEEDED ISA_AVX512
#elif defined(__AVX2__)
#define NEEDED ISA_AVX2
#else
#define NEEDED ISA_PORTABLE
#endif

enum { N = 6000, ABSENT = 20000 };

/* All inline calls of one filter. */
struct inline_calls {
  besom_inline_blocked_bloom blocked_bloom;
  besom_inline_cf cf;
  besom_inline_vacuum vacuum;
  besom_inline_fuse fuse;
  besom_inline_pqf pqf;
};

static struct inline_calls inline_calls_of(besom_filter *f) {
  return (struct inline_calls){besom_inline_blocked_bloom_of(f), besom_inline_cf_of(f),
                               besom_inline_vacuum_of(f), besom_inline_fuse_of(f),
                               besom_inline_pqf_of(f)};
}

/* The kinds whose calls are inline, a bit each. */
enum { BLOCKED_BLOOM = 1, CF = 2, VACUUM = 4, FUSE = 8, PQF = 16 };

static unsigned inline_kinds(const struct inline_calls *x) {
  return (besom_inline_blocked_bloom_is_inline(&x->blocked_bloom) ? BLOCKED_BLOOM : 0u) |
         (besom_inline_cf_is_inline(&x->cf) ? CF : 0u) |
         (besom_inline_vacuum_is_inline(&x->vacuum) ? VACUUM : 0u) |
         (besom_inline_fuse_is_inline(&x->fuse) ? FUSE : 0u) |
         (besom_inline_pqf_is_inline(&x->pqf) ? PQF : 0u);
}

static void assert_answers(const struct inline_calls *x, const besom_filter *f, uint64_t key) {
  besom_digest d = besom_hash_u64(f, key);
  bool yes = besom_contains_u64(f, key), of_digest = besom_contains_digest(f, d);
  assert_int_equal(besom_inline_blocked_bloom_contains_u64(&x->blocked_bloom, key), yes);
  assert_int_equal(besom_inline_cf_contains_u64(&x->cf, key), yes);
  assert_int_equal(besom_inline_vacuum_contains_u64(&x->vacuum, key), yes);
  assert_int_equal(besom_inline_fuse_contains_u64(&x->fuse, key), yes);
  assert_int_equal(besom_inline_pqf_contains_u64(&x->pqf, key), yes);
  assert_int_equal(besom_inline_blocked_bloom_contains_digest(&x->blocked_bloom, d), of_digest);
  assert_int_equal(besom_inline_cf_contains_digest(&x->cf, d), of_digest);
  assert_int_equal(besom_inline_vacuum_contains_digest(&x->vacuum, d), of_digest);
  assert_int_equal(besom_inline_fuse_contains_digest(&x->fuse, d), of_digest);
  assert_int_equal(besom_inline_pqf_contains_digest(&x->pqf, d), of_digest);
}

static void assert_all_answers(const struct inline_calls *x, const besom_filter *f) {
  static const besom_digest ends[] = {
      {0, 0}, {0, UINT64_MAX}, {UINT64_MAX, 0}, {UINT64_MAX, UINT64_MAX}};
  for (int i = 0; i < 4; i++) {
    bool yes = besom_contains_digest(f, ends[i]);
    assert_int_equal(besom_inline_cf_contains_digest(&x->cf, ends[i]), yes);
    assert_int_equal(besom_inline_vacuum_contains_digest(&x->vacuum, ends[i]), yes);
    assert_int_equal(besom_inline_fuse_contains_digest(&x->fuse, ends[i]), yes);
    assert_int_equal(besom_inline_pqf_contains_digest(&x->pqf, ends[i]), yes);
  }
  for (uint64_t i = 0; i < N; i++) assert_answers(x, f, key_u64(MEMBERS, i));
  for (uint64_t i = 0; i < ABSENT; i++) assert_answers(x, f, key_u64(NEGATIVES, i));
}

/* ------------------------------------------------------------------ filters */

struct form {
  const char *kind;
  double fpr;
  const char *options, *hash;
  unsigned inline_in; /* the kind's bit, or 0 */
};

static const struct form forms[] = {
    {"blocked-bloom", 1.0 / 256, NULL, NULL, BLOCKED_BLOOM},
    {"blocked-bloom", 0.05, NULL, NULL, 0},
    {"blocked-bloom", 1e-4, NULL, NULL, 0},
    {"blocked-bloom", 1.0 / 256, NULL, "sip", 0},
    {"cf", 0x1p-5, NULL, NULL, CF},
    {"cf", 0x1p-9, NULL, NULL, CF},
    {"cf", 0x1p-13, NULL, NULL, CF},
    {"cf", 0x1p-10, NULL, NULL, 0},
    {"cf", 0x1p-20, NULL, NULL, 0},
    {"cf", 0x1p-9, NULL, "sip", 0},
    {"cf", 0x1p-9, "layout=windows", NULL, 0},
    {"vacuum", 0x1p-9, NULL, NULL, VACUUM},
    {"vacuum", 0x1p-10, NULL, NULL, 0},
    {"fuse", 1.0 / 256, NULL, NULL, FUSE},
    {"fuse", 0x1p-16, NULL, NULL, FUSE},
    {"fuse", 0x1p-10, NULL, NULL, 0},
    {"pqf", 1.0 / 256, NULL, NULL, PQF},
    {"pqf", 1.0 / 30, NULL, NULL, PQF},
    {"pqf", 0x1p-16, NULL, NULL, 0},
    {"pqf", 1.0 / 256, NULL, "sip", 0},
    {"aqf", 1.0 / 256, NULL, NULL, 0},
    {"scaling", 1.0 / 256, "base=cf", NULL, 0},
    {"bloom", 1.0 / 256, NULL, NULL, 0},
};

enum { FORMS = sizeof forms / sizeof *forms };

/* What this program can call inline. */
static unsigned compiled_kinds(void) {
  unsigned any = BESOM_INLINE_SCALAR ? CF | VACUUM | FUSE : 0u;
  return any | (BESOM_INLINE_AVX2 ? BLOCKED_BLOOM : 0u) | (BESOM_INLINE_BINS ? PQF : 0u);
}

static besom_filter *make_of_form(const struct form *form) {
  static const uint8_t seed[16] = "inline";
  besom_config config = {.kind = form->kind,
                         .capacity = N,
                         .fpr = form->fpr,
                         .options = form->options,
                         .hash = form->hash,
                         .seed = seed};
  uint64_t *keys = keys_u64(MEMBERS, N);
  besom_input input = {.keys_u64 = keys, .n_keys = N};
  besom_filter *f = NULL;
  assert_int_equal(besom_build(&config, &input, &f), BESOM_OK);
  free(keys);
  return f;
}

static void answers_are_those_of_exported_calls(void **state) {
  (void)state;
  for (int i = 0; i < FORMS; i++) {
    besom_filter *f = make_of_form(&forms[i]), *copy = loaded_copy(f);
    struct inline_calls x = inline_calls_of(f), y = inline_calls_of(copy);
    if (inline_kinds(&x) != (forms[i].inline_in & compiled_kinds()))
      fail_msg("%s %g: inline in %u", forms[i].kind, forms[i].fpr, inline_kinds(&x));
    assert_int_equal(inline_kinds(&y), inline_kinds(&x));
    assert_all_answers(&x, f);
    assert_all_answers(&y, copy);
    besom_free(f);
    besom_free(copy);
  }
}

/* Each layout is known by its number; other numbers, and NULL, have none. */
static void unknown_layouts_are_never_inline(void **state) {
  (void)state;
  for (int i = 0; i < FORMS; i++) {
    besom_filter *f = make_of_form(&forms[i]);
    for (uint32_t layout = 0; layout < 100; layout++) {
      besom_inline_facts none, facts;
      besom_inline_facts_of(NULL, layout, &none);
      besom_inline_facts_of(f, layout, &facts);
      assert_true(*none.generation != none.of_queries && *none.generation != none.of_inserts);
      bool is_known = layout >= BESOM_INLINE_BLOCKED_BLOOM && layout <= BESOM_INLINE_VACUUM;
      if (!is_known) assert_true(*facts.generation != facts.of_queries);
    }
    besom_free(f);
  }
  struct inline_calls x = inline_calls_of(NULL);
  assert_int_equal(inline_kinds(&x), 0);
  assert_true(besom_inline_blocked_bloom_contains_u64(&x.blocked_bloom, 1));
  assert_true(besom_inline_cf_contains_u64(&x.cf, 1));
  assert_int_equal(besom_inline_blocked_bloom_insert_u64(&x.blocked_bloom, 1), BESOM_INVALID);
}

/* ------------------------------------------------------------------ changes */

/* Copies from before the change, and from after it. */
static void assert_answers_after(const struct inline_calls *before, besom_filter *f) {
  struct inline_calls after = inline_calls_of(f);
  assert_int_equal(inline_kinds(before), 0);
  assert_all_answers(before, f);
  assert_all_answers(&after, f);
}

static uint64_t a_false_positive(const besom_filter *f) {
  uint64_t i = 0;
  while (!besom_contains_u64(f, key_u64(NEGATIVES, i))) i++;
  return key_u64(NEGATIVES, i);
}

/* The first report makes queries look at exceptions; with the last one gone they do not. */
static void reports_are_seen_by_copies(void **state) {
  (void)state;
  for (int i = 0; i < FORMS; i++) {
    if (forms[i].fpr < 0x1p-12) continue;
    besom_filter *f = make_of_form(&forms[i]);
    uint64_t number = a_false_positive(f), key = little_endian(number);
    struct inline_calls x = inline_calls_of(f);
    unsigned inline_before = inline_kinds(&x);
    assert_int_equal(besom_no_add(f, &key, sizeof key), BESOM_OK);
    assert_false(besom_contains_u64(f, number));
    assert_answers_after(&x, f);
    x = inline_calls_of(f);
    assert_int_equal(inline_kinds(&x), 0);
    assert_int_equal(besom_no_remove(f, &key, sizeof key), BESOM_OK);
    assert_all_answers(&x, f);
    x = inline_calls_of(f);
    assert_int_equal(inline_kinds(&x), inline_before);
    assert_int_equal(besom_adapt(f, &key, sizeof key), BESOM_OK);
    assert_answers_after(&x, f);
    besom_free(f);
  }
}

static void lists_of_domains_are_seen_by_copies(void **state) {
  (void)state;
  besom_filter *f = make_of_form(&forms[0]);
  struct inline_calls x = inline_calls_of(f);
  assert_int_equal(besom_set_domains(f, 2, 0), BESOM_OK);
  assert_answers_after(&x, f);
  besom_free(f);
}

struct members {
  uint64_t at, key;
};

static besom_status next_member(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct members *m = ctx;
  (void)weight;
  if (m->at == N) return BESOM_END;
  m->key = little_endian(key_u64(MEMBERS, m->at++));
  *key = (besom_bytes){&m->key, sizeof m->key};
  return BESOM_OK;
}

static besom_status rewind_members(void *ctx) {
  ((struct members *)ctx)->at = 0;
  return BESOM_OK;
}

/* The copies are made between the steps, too: the last one publishes another table. */
static void check_task(besom_filter *f, besom_task *task, const struct inline_calls *before) {
  bool finished = false;
  while (!finished) {
    struct inline_calls x = inline_calls_of(f);
    assert_answers(&x, f, key_u64(MEMBERS, 1));
    assert_int_equal(besom_task_step(task, 1000, &finished), BESOM_OK);
    for (uint64_t i = 0; i < 300; i++) assert_answers(&x, f, key_u64(MEMBERS, i));
  }
  assert_answers_after(before, f);
}

static void rekeys_are_seen_by_copies(void **state) {
  (void)state;
  for (int i = 0; i < FORMS; i++)
    for (int at_once = 0; at_once < 2; at_once++) {
      besom_filter *f = make_of_form(&forms[i]);
      struct members m = {0, 0};
      besom_source yes = {.next = next_member, .rewind = rewind_members, .ctx = &m};
      struct inline_calls x = inline_calls_of(f);
      besom_task *task = NULL;
      besom_status status = besom_rekey(f, &yes, NULL, NULL, at_once ? NULL : &task);
      if (status != BESOM_OK) {
        assert_int_equal(status, BESOM_UNSUPPORTED);
        assert_false(forms[i].inline_in & (BLOCKED_BLOOM | PQF));
      } else if (at_once) {
        assert_answers_after(&x, f);
      } else {
        check_task(f, task, &x);
      }
      besom_free(f);
    }
}

/* A pqf of another size, back at its first size, has its table elsewhere. */
static void resizes_are_seen_by_copies(void **state) {
  (void)state;
  besom_filter *f = make_of_form(&(struct form){"pqf", 1.0 / 100, NULL, NULL, PQF});
  besom_statistics s;
  assert_int_equal(besom_stats(f, &s), BESOM_OK);
  for (int i = 0; i < 4; i++) {
    struct inline_calls x = inline_calls_of(f);
    besom_task *task = NULL;
    uint64_t slots = i % 2 ? s.slots : 2 * s.slots;
    assert_int_equal(besom_resize(f, slots, i < 2 ? NULL : &task), BESOM_OK);
    if (task)
      check_task(f, task, &x);
    else
      assert_answers_after(&x, f);
  }
  besom_free(f);
}

static void mapped_files_are_inline(void **state) {
  (void)state;
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "filter.besom");
  besom_open_options options = {.flags = BESOM_OPEN_MMAP};
  for (int i = 0; i < FORMS; i++) {
    besom_filter *f = make_of_form(&forms[i]), *mapped = NULL;
    assert_int_equal(besom_save_file(f, path.text), BESOM_OK);
    assert_int_equal(besom_open(path.text, &options, &mapped), BESOM_OK);
    struct inline_calls x = inline_calls_of(mapped);
    assert_int_equal(inline_kinds(&x), forms[i].inline_in & compiled_kinds());
    assert_all_answers(&x, mapped);
    besom_status status = besom_insert_u64(mapped, 1);
    assert_int_equal(besom_inline_blocked_bloom_insert_u64(&x.blocked_bloom, 1), status);
    besom_free(f);
    besom_free(mapped);
  }
  temp_dir_remove(&dir);
}

/* ------------------------------------------------------------------ inserts */

/* The same bytes and statuses, beyond the capacity, and as a task begins and ends. */
static void inserts_leave_what_exported_calls_leave(void **state) {
  (void)state;
  for (int i = 0; i < FORMS; i++) {
    if (strcmp(forms[i].kind, "fuse") == 0) continue;
    besom_filter *f = make_of_form(&forms[i]), *other = make_of_form(&forms[i]);
    besom_inline_blocked_bloom x = besom_inline_blocked_bloom_of(f);
    for (uint64_t k = 0; k < 3000; k++) { /* some are there already */
      uint64_t key = k % 3 ? key_u64(MORE_MEMBERS, k) : key_u64(MEMBERS, k);
      besom_digest d = besom_hash_u64(other, key);
      besom_status status = besom_insert_digest(other, d);
      assert_int_equal(k % 2 ? besom_inline_blocked_bloom_insert_u64(&x, key)
                             : besom_inline_blocked_bloom_insert_digest(&x, d),
                       status);
    }
    assert_same_bytes(f, other);
    besom_free(f);
    besom_free(other);
  }
}

/* An empty filter is filled inline. */
static void filters_are_filled_inline(void **state) {
  (void)state;
  static const uint8_t seed[16] = "inline";
  besom_config config = {.kind = "blocked-bloom", .capacity = N, .fpr = 1.0 / 256, .seed = seed};
  besom_filter *f = NULL, *other = make_of_form(&forms[0]);
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  besom_inline_blocked_bloom x = besom_inline_blocked_bloom_of(f);
  for (uint64_t i = 0; i < N; i++)
    assert_int_equal(besom_inline_blocked_bloom_insert_u64(&x, key_u64(MEMBERS, i)), BESOM_OK);
  assert_same_bytes(f, other);
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; status == BESOM_OK && i < N; i++)
    status = besom_inline_blocked_bloom_insert_u64(&x, key_u64(MORE_MEMBERS, i));
  assert_int_equal(status, BESOM_FULL);
  besom_free(f);
  besom_free(other);
}

static void a_busy_filter_takes_no_inserts(void **state) {
  (void)state;
  besom_filter *f = make_of_form(&forms[0]);
  struct members m = {0, 0};
  besom_source yes = {.next = next_member, .rewind = rewind_members, .ctx = &m};
  besom_inline_blocked_bloom before = besom_inline_blocked_bloom_of(f);
  besom_task *task = NULL;
  assert_int_equal(besom_rekey(f, &yes, NULL, NULL, &task), BESOM_OK);
  besom_inline_blocked_bloom during = besom_inline_blocked_bloom_of(f);
  assert_int_equal(besom_inline_blocked_bloom_insert_u64(&before, 1), BESOM_BUSY);
  assert_int_equal(besom_inline_blocked_bloom_insert_u64(&during, 1), BESOM_BUSY);
  besom_task_cancel(task);
  assert_int_equal(besom_inline_blocked_bloom_insert_u64(&during, key_u64(MEMBERS, 1)), BESOM_OK);
  besom_free(f);
}

/* Not inlined: main must run on machines without these instructions. */
__attribute__((noinline)) static int run_laws(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_are_those_of_exported_calls),
      cmocka_unit_test(unknown_layouts_are_never_inline),
      cmocka_unit_test(reports_are_seen_by_copies),
      cmocka_unit_test(lists_of_domains_are_seen_by_copies),
      cmocka_unit_test(rekeys_are_seen_by_copies),
      cmocka_unit_test(resizes_are_seen_by_copies),
      cmocka_unit_test(mapped_files_are_inline),
      cmocka_unit_test(inserts_leave_what_exported_calls_leave),
      cmocka_unit_test(filters_are_filled_inline),
      cmocka_unit_test(a_busy_filter_takes_no_inserts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  if (besom__isa_best() >= NEEDED) return run_laws();
  printf("skipped: this machine has no %s\n", besom__isa_name(NEEDED));
  return 0;
}

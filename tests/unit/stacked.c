/*
 * Stacked filters of every base: no false negatives, rates as planned, later changes, files,
 * failures.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "besom.h"
#include "support/damage.h"
#include "support/failing_allocator.h"
#include "support/heap.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/temp_files.h"

enum { N = 12000, KEYS = 24000 };

static const char *const bases[] = {"base=bloom", "base=blocked-bloom", "base=cf", "base=vacuum",
                                    "base=qf",    "base=fuse"};
enum { BASES = sizeof bases / sizeof *bases };

/* Keys of a stream. If weighted, the query frequency of a key decreases with its number. */
typedef struct keys {
  uint64_t stream, first, n, at, key;
  bool weighted;
} keys;

static uint64_t weight_of(uint64_t i) {
  return 1 + KEYS / (i + 1) * 2 - (i + 1 > KEYS / 2) * 2;
}

static besom_status next(void *ctx, besom_bytes *key, uint64_t *weight) {
  keys *k = ctx;
  if (k->at == k->n) return BESOM_END;
  if (k->weighted) *weight = weight_of(k->at);
  k->key = little_endian(key_u64(k->stream, k->first + k->at++));
  *key = (besom_bytes){&k->key, 8};
  return BESOM_OK;
}

static besom_source source_of(keys *k) {
  return (besom_source){.next = next, .size_hint = k->n, .ctx = k};
}

static besom_status build_of(const besom_config *config, uint64_t members, keys asked,
                             besom_filter **out) {
  static const uint8_t seed[16] = "stacked";
  besom_config own = *config;
  own.kind = "stacked";
  own.seed = seed;
  keys held = {.stream = MEMBERS, .n = members};
  besom_source yes = source_of(&held), no = source_of(&asked);
  return besom_build(&own, &(besom_input){.yes = &yes, .no = &no}, out);
}

static besom_filter *built(const besom_config *config, uint64_t members) {
  besom_filter *f = NULL;
  keys asked = {.stream = NEGATIVES, .n = KEYS, .weighted = true};
  assert_int_equal(build_of(config, members, asked, &f), BESOM_OK);
  return f;
}

static besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  return stats;
}

static unsigned layers_of(const besom_filter *f) {
  unsigned n = 0;
  while (besom_layer(f, n)) n++;
  return n;
}

static void assert_holds(const besom_filter *f, uint64_t first, uint64_t n) {
  for (uint64_t i = first; i < first + n; i++)
    assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
}

/*
 * The share of yes answers for keys of a stream, weighted by query frequency or not. Batches must
 * give the same answers.
 */
static double share_of_yes(const besom_filter *f, uint64_t stream, uint64_t n, bool weighted) {
  uint64_t *list = keys_u64(stream, n), *bitmap = heap_array(n / 64 + 1, 8);
  double yes = 0, all = 0;
  assert_int_equal(besom_contains_many_u64(f, list, n, bitmap), BESOM_OK);
  for (uint64_t i = 0; i < n; i++) {
    bool answer = besom_contains_u64(f, list[i]);
    double weight = weighted ? (double)weight_of(i) : 1;
    assert_int_equal(answer, bitmap[i / 64] >> (i % 64) & 1);
    yes += answer ? weight : 0;
    all += weight;
  }
  free(list), free(bitmap);
  return yes / all;
}

/* ------------------------------------------------------------------ laws */

static void every_base_makes_a_stack(void **state) {
  (void)state;
  for (size_t b = 0; b < BASES; b++) {
    besom_config config = {.options = bases[b], .bits_per_key = 12};
    besom_filter *f = built(&config, N);
    besom_statistics stats = stats_of(f);
    assert_true(layers_of(f) >= 3);
    assert_int_equal(stats.keys, N);
    assert_true(8.0 * (double)stats.bytes <= 12 * N);
    assert_true(stats.workload_fpr < 0.6 * stats.expected_fpr);
    assert_holds(f, 0, N);
    double others = share_of_yes(f, OTHER_MEMBERS, 100000, false),
           asked = share_of_yes(f, NEGATIVES, KEYS, true);
    double expected = 100000 * stats.expected_fpr;
    assert_true(fabs(others * 100000 - expected) < 0.1 * expected + 5 * sqrt(expected));
    assert_true(asked < 0.5 * others);
    uint64_t bytes = 0;
    for (unsigned i = 0; besom_layer(f, i); i++) {
      besom_statistics layer = stats_of(besom_layer(f, i));
      assert_true(strstr(bases[b], layer.kind) != NULL && (layer.keys > 0 || i > 1));
      bytes += layer.bytes;
    }
    assert_true(bytes < stats.bytes && bytes > stats.bytes - 2000);
    besom_free(f);
  }
}

/* Bits are an upper limit, for sets of every size. From some thousand keys on most are used. */
static void bits_are_an_upper_limit(void **state) {
  (void)state;
  static const uint64_t sizes[] = {1400, 1700, 3000, 9000, 30000};
  for (size_t b = 0; b < BASES; b++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      for (double bits = 10; bits < 15; bits += 2.2) {
        besom_filter *f = NULL;
        keys asked = {.stream = NEGATIVES, .n = KEYS, .weighted = true};
        besom_config config = {.options = bases[b], .bits_per_key = bits};
        besom_status status = build_of(&config, sizes[i], asked, &f);
        if (status == BESOM_FULL && !strcmp(bases[b], "base=vacuum")) continue; /* by chance */
        assert_int_equal(status, BESOM_OK);
        double taken = 8.0 * (double)stats_of(f).bytes / (double)sizes[i];
        if (taken > bits || (sizes[i] > 8000 && taken < 0.87 * bits))
          fail_msg("%s, %d keys: %g bits, not %g", bases[b], (int)sizes[i], taken, bits);
        assert_holds(f, 0, sizes[i]);
        besom_free(f);
      }
}

/* If not even the smallest layer of the base fits into the bits, layers are Bloom filters. */
static void small_sets_get_the_base_that_fits(void **state) {
  (void)state;
  for (uint64_t n = 1000; n <= 4000; n *= 4) {
    keys asked = {.stream = NEGATIVES, .n = KEYS, .weighted = true};
    besom_filter *f = NULL;
    besom_config config = {.options = "base=qf", .bits_per_key = 10};
    assert_int_equal(build_of(&config, n, asked, &f), BESOM_OK);
    assert_string_equal(stats_of(besom_layer(f, 0)).kind, n == 1000 ? "bloom" : "qf");
    assert_holds(f, 0, n);
    besom_free(f);
  }
}

/* Without room for inserts the layers are fuse filters, which have the lowest rate. */
static void the_default_base_depends_on_the_room_for_inserts(void **state) {
  (void)state;
  besom_filter *f = built(&(besom_config){.bits_per_key = 10}, N),
               *bloom = built(&(besom_config){.bits_per_key = 10, .options = "base=bloom"}, N),
               *room = built(&(besom_config){.bits_per_key = 10, .capacity = N + 100}, N);
  assert_string_equal(stats_of(besom_layer(f, 0)).kind, "fuse");
  assert_string_equal(stats_of(besom_layer(room, 0)).kind, "bloom");
  assert_int_equal(besom_abilities(f) & BESOM_INSERTS_LATER, 0);
  assert_true(besom_abilities(room) & BESOM_INSERTS_LATER);
  assert_int_equal(besom_insert_u64(room, 1), BESOM_OK);
  assert_true(stats_of(f).workload_fpr < stats_of(bloom).workload_fpr);
  besom_free(f), besom_free(bloom), besom_free(room);
}

/*
 * A sample in which every key occurs once does not tell what will be queried: for all other keys
 * the filter is no worse than a Bloom filter of the same size.
 */
static void keys_that_occur_once_do_no_harm(void **state) {
  (void)state;
  static const char *const some[] = {NULL, "base=bloom", "base=fuse"};
  keys held = {.stream = MEMBERS, .n = N};
  besom_source yes = source_of(&held);
  besom_filter *bloom = NULL;
  besom_config alone = {.kind = "bloom", .bits_per_key = 10};
  assert_int_equal(besom_build(&alone, &(besom_input){.yes = &yes}, &bloom), BESOM_OK);
  for (size_t i = 0; i < 3; i++) {
    besom_filter *f = NULL;
    keys asked = {.stream = NEGATIVES, .n = KEYS};
    assert_int_equal(
        build_of(&(besom_config){.bits_per_key = 10, .options = some[i]}, N, asked, &f), BESOM_OK);
    double limit = stats_of(bloom).fpr_at_capacity;
    if (i == 1) limit *= 1.22; /* the heads of the stack take a part of the bits */
    assert_true(stats_of(f).expected_fpr <= limit);
    besom_free(f);
    f = NULL;
    assert_int_equal(build_of(&(besom_config){.fpr = 0.01, .options = some[i]}, N, asked, &f),
                     BESOM_OK);
    assert_true(stats_of(f).expected_fpr <= 0.0101);
    besom_free(f);
  }
  besom_free(bloom);
}

/*
 * In a small set hardly a member reaches the third layer. It is built nevertheless, so that the
 * frequent keys that pass the first layer are answered no.
 */
static void small_sets_keep_their_layers(void **state) {
  (void)state;
  for (uint64_t members = 4000; members <= 10000; members += 1000) {
    besom_config config = {.options = "base=bloom", .bits_per_key = 12};
    besom_filter *f = NULL;
    keys asked = {.stream = NEGATIVES, .n = 3000, .weighted = true};
    assert_int_equal(build_of(&config, members, asked, &f), BESOM_OK);
    assert_true(layers_of(f) >= 3);
    assert_true(share_of_yes(f, NEGATIVES, 3000, true) < 1e-4);
    assert_true(stats_of(f).bytes <= 12 * members / 8);
    assert_holds(f, 0, members);
    besom_free(f);
  }
}

/*
 * With a target rate over the workload, the filter is smaller than its base at that rate, and meets
 * it.
 */
static void a_wanted_rate_is_kept(void **state) {
  (void)state;
  for (size_t b = 0; b < BASES; b++) {
    besom_config config = {.options = bases[b], .fpr = 0.01};
    besom_filter *f = built(&config, N);
    double asked = share_of_yes(f, NEGATIVES, KEYS, true),
           others = share_of_yes(f, OTHER_MEMBERS, 100000, false);
    assert_true(stats_of(f).workload_fpr <= 0.0101);
    assert_true(asked < 0.01 && others > asked);
    config.options = NULL, config.kind = bases[b] + 5, config.capacity = N;
    besom_filter *alone = NULL;
    keys held = {.stream = MEMBERS, .n = N};
    besom_source yes = source_of(&held);
    assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes}, &alone), BESOM_OK);
    assert_true(stats_of(f).bytes < stats_of(alone).bytes);
    besom_free(f), besom_free(alone);
  }
}

/* Built for twice as many keys. The others are inserted later, frequent non-members among them. */
static void members_come_and_go(void **state) {
  (void)state;
  for (size_t b = 0; b < BASES; b++) {
    besom_config config = {.options = bases[b], .bits_per_key = 11, .capacity = 2 * N};
    besom_filter *f = built(&config, N);
    if (!strcmp(bases[b], "base=fuse")) {
      assert_int_equal(besom_insert_u64(f, 1), BESOM_UNSUPPORTED);
      besom_free(f);
      continue;
    }
    for (uint64_t i = 0; i < 100; i++)
      assert_int_equal(besom_insert_u64(f, key_u64(NEGATIVES, i)), BESOM_OK);
    for (uint64_t i = N; i < 2 * N - 100; i++)
      assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
    for (uint64_t i = 0; i < 100; i++) assert_true(besom_contains_u64(f, key_u64(NEGATIVES, i)));
    assert_holds(f, 0, 2 * N - 100);
    assert_true(stats_of(f).keys <= 2 * N);
    bool removes = strcmp(bases[b], "base=bloom") && strcmp(bases[b], "base=blocked-bloom");
    if (removes) {
      assert_int_equal(besom_insert_u64(f, key_u64(MORE_MEMBERS, 0)), BESOM_FULL);
      uint64_t absent = 0, not_found = 0;
      for (uint64_t i = 0; i < N; i++)
        assert_int_equal(besom_remove_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
      assert_int_equal(stats_of(f).keys, N);
      for (uint64_t i = 0; i < 2000; i++)
        if (!besom_contains_u64(f, key_u64(OTHER_MEMBERS, i))) {
          absent++;
          not_found += besom_remove_u64(f, key_u64(OTHER_MEMBERS, i)) == BESOM_NOT_FOUND;
        }
      assert_true(absent > 1000 && not_found == absent);
      assert_holds(f, N, N - 100);
      assert_true(share_of_yes(f, MEMBERS, N, false) < 0.1);
    } else {
      assert_int_equal(besom_remove_u64(f, key_u64(MEMBERS, 0)), BESOM_UNSUPPORTED);
    }
    besom_free(f);
  }
}

/* Far more inserts than fit: FULL, and the filter is unchanged. */
static void a_full_stack_stays_as_it_was(void **state) {
  (void)state;
  for (size_t b = 0; b < BASES - 1; b++) {
    besom_config config = {.options = bases[b], .bits_per_key = 11, .capacity = N + 500};
    besom_filter *f = built(&config, N);
    uint64_t full = 0;
    for (uint64_t i = 0; i < 1500; i++) {
      uint64_t key = key_u64(MORE_MEMBERS, i), items = stats_of(f).keys;
      besom_status status = besom_insert_u64(f, key);
      assert_true(status == BESOM_OK || status == BESOM_FULL);
      full += status == BESOM_FULL;
      if (status == BESOM_OK)
        assert_true(besom_contains_u64(f, key));
      else
        assert_int_equal(stats_of(f).keys, items);
    }
    assert_true(full > 900);
    assert_holds(f, 0, N);
    besom_free(f);
  }
}

static besom_filter *copy_of(const besom_filter *f) {
  memory_sink saved, again;
  besom_filter *copy = NULL;
  memory_sink_init(&saved), memory_sink_init(&again);
  assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
  assert_int_equal(besom_load(saved.data, saved.len, NULL, &copy), BESOM_OK);
  assert_int_equal(besom_save(copy, &again.api), BESOM_OK);
  assert_true(memory_sinks_equal(&saved, &again));
  for (size_t i = 0; i < saved.len; i += 1 + i / 10) { /* damage is detected */
    besom_filter *none = NULL;
    saved.data[i] ^= 0x10;
    besom_status status = besom_load(saved.data, saved.len, NULL, &none);
    assert_true(status == BESOM_CORRUPT || status == BESOM_NEWER_VERSION);
    saved.data[i] ^= 0x10;
  }
  memory_sink_close(&saved), memory_sink_close(&again);
  return copy;
}

/* Mapped from a file, read-only. */
static void assert_mapped_is_the_same(const besom_filter *f) {
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "stacked.besom");
  besom_filter *mapped = NULL;
  assert_int_equal(besom_save_file(f, path.text), BESOM_OK);
  assert_int_equal(besom_open(path.text, &(besom_open_options){.flags = BESOM_OPEN_MMAP}, &mapped),
                   BESOM_OK);
  assert_holds(mapped, 0, N);
  assert_int_equal(layers_of(mapped), layers_of(f));
  assert_true(share_of_yes(mapped, NEGATIVES, KEYS, true) ==
              share_of_yes(f, NEGATIVES, KEYS, true));
  assert_int_equal(besom_insert_u64(mapped, 1), BESOM_READ_ONLY);
  besom_free(mapped);
  temp_dir_remove(&dir);
}

static void a_saved_stack_is_the_same(void **state) {
  (void)state;
  for (size_t b = 0; b < BASES; b++) {
    besom_config config = {.options = bases[b], .bits_per_key = 12, .capacity = N + 100};
    besom_filter *f = built(&config, N), *copy = copy_of(f);
    for (uint64_t i = 0; i < KEYS; i++)
      assert_int_equal(besom_contains_u64(f, key_u64(NEGATIVES, i)),
                       besom_contains_u64(copy, key_u64(NEGATIVES, i)));
    assert_holds(copy, 0, N);
    assert_true(stats_of(copy).workload_fpr == stats_of(f).workload_fpr);
    assert_mapped_is_the_same(f);
    if (strcmp(bases[b], "base=fuse")) assert_int_equal(besom_insert_u64(copy, 5), BESOM_OK);
    besom_free(f), besom_free(copy);
  }
}

/*
 * Damaged bytes with valid checksums are refused, or give a filter that can be used: it holds what
 * is inserted.
 */
static void repaired_damage_does_no_harm(void **state) {
  (void)state;
  for (size_t b = 0; b < BASES; b++) {
    besom_config config = {.options = bases[b], .bits_per_key = 12, .capacity = N + 100};
    besom_filter *f = built(&config, N);
    memory_sink saved;
    random_stream random = {b};
    size_t accepted = 0;
    memory_sink_init(&saved);
    assert_int_equal(besom_save(f, &saved.api), BESOM_OK);
    for (size_t round = 0; round < 400; round++) {
      besom_filter *damaged = load_damaged(&saved, &random, round);
      if (!damaged) continue;
      share_of_yes(damaged, NEGATIVES, 300, false);
      for (uint64_t i = 0; i < 20; i++)
        if (besom_insert_u64(damaged, i) == BESOM_OK) assert_true(besom_contains_u64(damaged, i));
      for (uint64_t i = 0; i < 20; i++) besom_remove_u64(damaged, i);
      besom_free(damaged);
      accepted++;
    }
    assert_true(accepted > 0);
    memory_sink_close(&saved);
    besom_free(f);
  }
}

/* The order of a sample does not matter, nor repeated keys, nor members in it. */
static besom_status next_shuffled(void *ctx, besom_bytes *key, uint64_t *weight) {
  keys *k = ctx;
  if (k->at == 2 * k->n + 100) return BESOM_END;
  uint64_t i = k->at++;
  if (i >= 2 * k->n) { /* members, the most frequent of all */
    k->key = key_u64(MEMBERS, i % 100);
    *weight = 1000000;
  } else {
    uint64_t number = k->n - 1 - i % k->n, whole = weight_of(number);
    k->key = little_endian(key_u64(k->stream, number));
    *weight = i < k->n ? whole / 2 : whole - whole / 2; /* a weight of 0 is no query */
  }
  *key = (besom_bytes){&k->key, 8};
  return BESOM_OK;
}

static void a_sample_is_a_multiset(void **state) {
  (void)state;
  static const uint8_t seed[16] = "stacked";
  besom_config config = {.kind = "stacked", .bits_per_key = 10, .seed = seed};
  besom_filter *f = built(&config, N), *g = NULL;
  keys held = {.stream = MEMBERS, .n = N}, asked = {.stream = NEGATIVES, .n = KEYS};
  besom_source yes = source_of(&held), no = {.next = next_shuffled, .ctx = &asked};
  assert_int_equal(besom_build(&config, &(besom_input){.yes = &yes, .no = &no}, &g), BESOM_OK);
  memory_sink x, y;
  memory_sink_init(&x), memory_sink_init(&y);
  assert_int_equal(besom_save(f, &x.api), BESOM_OK);
  assert_int_equal(besom_save(g, &y.api), BESOM_OK);
  assert_true(memory_sinks_equal(&x, &y));
  memory_sink_close(&x), memory_sink_close(&y);
  besom_free(f), besom_free(g);
}

/* Every key of the sample was queried at least twice: no others are expected. */
static void a_sample_may_be_all_there_is(void **state) {
  (void)state;
  keys asked = {.stream = NEGATIVES, .n = 300, .weighted = true};
  besom_filter *f = NULL;
  assert_int_equal(build_of(&(besom_config){.bits_per_key = 10}, N, asked, &f), BESOM_OK);
  besom_filter *copy = copy_of(f);
  assert_true(share_of_yes(copy, NEGATIVES, 300, true) < 0.001);
  besom_free(f), besom_free(copy);
}

/* Without weights the sample stands for half of the queries, or for the share in the option. */
static void a_plain_list_is_half_of_the_queries(void **state) {
  (void)state;
  keys asked = {.stream = NEGATIVES, .n = 5000};
  static const char *const options[] = {"sampled=1", NULL, "sampled=99"};
  double last = 2;
  for (size_t i = 0; i < 3; i++) {
    besom_filter *f = NULL;
    assert_int_equal(
        build_of(&(besom_config){.bits_per_key = 10, .options = options[i]}, N, asked, &f),
        BESOM_OK);
    double now = share_of_yes(f, NEGATIVES, 5000, false);
    assert_true(now <= last);
    last = now;
    besom_free(f);
  }
  assert_true(last < 0.001);
}

static void options_are_obeyed_or_refused(void **state) {
  (void)state;
  keys asked = {.stream = NEGATIVES, .n = KEYS, .weighted = true};
  besom_filter *f = built(&(besom_config){.bits_per_key = 10, .options = "layers=3,base=cf"}, N);
  assert_int_equal(layers_of(f), 3);
  besom_free(f);
  f = built(&(besom_config){.bits_per_key = 10, .options = "layers=1"}, N);
  assert_int_equal(layers_of(f), 1);
  assert_true(stats_of(f).workload_fpr == stats_of(f).expected_fpr);
  besom_free(f);
  f = built(&(besom_config){.fpr = 0.02, .options = "worst_fpr_bits=6"}, N);
  assert_true(stats_of(f).expected_fpr <= 0x1p-6 * 1.02);
  besom_free(f);
  f = built(&(besom_config){.bits_per_key = 10, .options = "frequent=1000"}, N);
  assert_true(stats_of(besom_layer(f, 1)).keys < 100);
  besom_free(f);
  static const char *const bad[] = {"layers=2",     "layers=0",     "layers=17",
                                    "layers=x",     "frequent=0",   "worst_fpr_bits=101",
                                    "sampled=101",  "base=aqf",     "base=scaling",
                                    "base=stacked", "base=cascade", "base=x"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    f = NULL;
    assert_int_equal(build_of(&(besom_config){.bits_per_key = 10, .options = bad[i]}, N, asked, &f),
                     BESOM_BAD_OPTION);
    assert_null(f);
  }
  assert_int_equal(build_of(&(besom_config){.bits_per_key = 0.5}, N, asked, &f), BESOM_INVALID);
}

/* Sets of any size, also empty, with samples of any size. */
static void tiny_sets_are_built(void **state) {
  (void)state;
  static const uint64_t sizes[] = {0, 1, 3, 100};
  for (size_t b = 0; b < BASES; b++)
    for (size_t i = 0; i < 4; i++)
      for (size_t j = 0; j < 4; j++) {
        besom_filter *f = NULL;
        keys asked = {.stream = NEGATIVES, .n = sizes[j], .weighted = true};
        besom_config config = {.options = bases[b], .fpr = 0.05, .capacity = sizes[i] + 1};
        assert_int_equal(build_of(&config, sizes[i], asked, &f), BESOM_OK);
        assert_holds(f, 0, sizes[i]);
        besom_free(f);
      }
}

static void failing_memory_leaves_nothing_behind(void **state) {
  (void)state;
  static const char *const some[] = {"base=bloom", "base=cf", "base=fuse"};
  for (size_t b = 0; b < 3; b++) {
    besom_status status = BESOM_NO_MEMORY;
    for (uint64_t n = 1; status != BESOM_OK; n++) {
      failing_allocator memory;
      failing_allocator_init(&memory);
      memory.fail_at = n;
      besom_filter *f = NULL;
      keys asked = {.stream = NEGATIVES, .n = 3000, .weighted = true};
      besom_config config = {.options = some[b], .bits_per_key = 14, .allocator = &memory.api};
      status = build_of(&config, 5000, asked, &f);
      assert_true(status == BESOM_OK || (status == BESOM_NO_MEMORY && !f));
      besom_free(f);
      assert_null(failing_allocator_verdict(&memory));
      failing_allocator_close(&memory);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_base_makes_a_stack),
      cmocka_unit_test(bits_are_an_upper_limit),
      cmocka_unit_test(small_sets_get_the_base_that_fits),
      cmocka_unit_test(the_default_base_depends_on_the_room_for_inserts),
      cmocka_unit_test(keys_that_occur_once_do_no_harm),
      cmocka_unit_test(small_sets_keep_their_layers),
      cmocka_unit_test(a_wanted_rate_is_kept),
      cmocka_unit_test(members_come_and_go),
      cmocka_unit_test(a_full_stack_stays_as_it_was),
      cmocka_unit_test(a_saved_stack_is_the_same),
      cmocka_unit_test(repaired_damage_does_no_harm),
      cmocka_unit_test(a_sample_is_a_multiset),
      cmocka_unit_test(a_sample_may_be_all_there_is),
      cmocka_unit_test(a_plain_list_is_half_of_the_queries),
      cmocka_unit_test(options_are_obeyed_or_refused),
      cmocka_unit_test(tiny_sets_are_built),
      cmocka_unit_test(failing_memory_leaves_nothing_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

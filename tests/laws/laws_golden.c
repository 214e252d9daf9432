/*
 * Golden files: filters saved by the version that introduced their kind, also with what they
 * learned from reports. Every later version loads them, and makes the same bytes from the same
 * keys.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "subjects.h"
#include "support/heap.h"
#include "support/slot_store.h"
#include "support/temp_files.h"

enum { N = 1000, REPORTED = 40, LISTED = 5 };

/* What a golden filter has gone through. */
typedef enum golden_state {
  PLAIN,    /* its members were inserted */
  LEARNED,  /* of 0.2.0: false positives were reported without a store; a no list */
  EXTENDED, /* false positives were reported while it was bound to its stored keys */
  EXCEPTED, /* as LEARNED, of the version in which every kind has exceptions */
  AS_SET,   /* its members were inserted, with BESOM_SET */
  STATES
} golden_state;

static temp_path golden_path(const char *name, golden_state state) {
  static const char *const suffixes[STATES] = {"-v1", "-learned-v1", "-extended-v1", "-excepted-v1",
                                               "-set-v2"};
  temp_path path;
  snprintf(path.text, sizeof path.text, "%s/tests/golden/%s%s.besom", BESOM_SOURCE_DIR, name,
           suffixes[state]);
  return path;
}

static const char *golden_name(const subject *s) {
  return s->golden ? s->golden : s->kind->name;
}

static bool was_reported_to(golden_state state) {
  return state == LEARNED || state == EXTENDED || state == EXCEPTED;
}

/* ------------------------------------------------------------------ making them */

static void report_all(besom_filter *f, const uint64_t *keys, size_t n) {
  for (size_t i = 0; i < n; i++) {
    besom_status status = besom_adapt_u64(f, keys[i]);
    if (status != BESOM_EVICTED) assert_status(BESOM_OK, status);
  }
}

/* The false positives of the plain filter: a learned one does not have them any more. */
static uint64_t *keys_to_report(const subject *s, const besom_config *config) {
  uint64_t *members = keys_u64(MEMBERS, N);
  besom_filter *plain = make_of_u64(s, config, members, N);
  uint64_t *wrong = false_positives_of(plain, REPORTED);
  besom_free(plain);
  free(members);
  return wrong;
}

static void learn(besom_filter *f, const uint64_t *wrong) {
  report_all(f, wrong, REPORTED);
  for (size_t i = 0; besom_abilities(f) & BESOM_CAN_NO_LIST && i < LISTED; i++)
    assert_status(BESOM_OK, no_add_u64(f, key_u64(OTHER_MEMBERS, i)));
}

/* A store: digests and their buckets, in the order of insertion. */
typedef struct key_list {
  uint64_t buckets[N];
  besom_digest digests[N];
  size_t n;
} key_list;

static besom_status digest_of(void *ctx, const besom_filter *f, const besom_match *match,
                              besom_digest *digest) {
  const key_list *keys = ctx;
  uint32_t rank = 0;
  (void)f;
  for (size_t i = 0; i < keys->n; i++)
    if (keys->buckets[i] == match->bucket && rank++ == match->rank) {
      *digest = keys->digests[i];
      return BESOM_OK;
    }
  return BESOM_NOT_FOUND;
}

static void extend_in_key_list(besom_filter *f, const uint64_t *members, const uint64_t *wrong) {
  key_list *keys = heap_array(1, sizeof *keys);
  assert_status(BESOM_OK, besom_bind(f, &(besom_reverse){.digest_of = digest_of, .ctx = keys}));
  for (; keys->n < N; keys->n++) {
    besom_match match;
    besom_digest d = besom_hash_u64(f, members[keys->n]);
    assert_status(BESOM_OK, besom_insert_at(f, d, 0, &match));
    keys->buckets[keys->n] = match.bucket;
    keys->digests[keys->n] = d;
  }
  report_all(f, wrong, REPORTED);
  assert_status(BESOM_OK, besom_bind(f, NULL));
  free(keys);
}

/* For kinds that move fingerprints. */
static void extend_in_slots(besom_filter *f, const uint64_t *members, const uint64_t *wrong) {
  slot_store keys;
  besom_match match;
  assert_status(BESOM_OK, slot_store_open(&keys, f));
  for (size_t i = 0; i < N; i++)
    assert_status(BESOM_OK, slot_store_insert(&keys, besom_hash_u64(f, members[i]), &match));
  report_all(f, wrong, REPORTED);
  assert_false(keys.wrong);
  slot_store_close(&keys);
}

static bool adapted_in_0_2(const subject *s) {
  return strcmp(s->kind->name, "aqf") == 0 || strcmp(s->kind->name, "yesno") == 0;
}

static bool has_state(const subject *s, golden_state state) {
  if (state == PLAIN) return true;
  if (state == AS_SET) {
    char text[100];
    besom_config config = config_of(s, N, 0);
    config.flags = BESOM_SET;
    return can(s, BESOM_CAN_INSERT) && s->kind->abilities & (BESOM_CAN_REMOVE | BESOM_CAN_COUNT) &&
           besom_config_check(&config, text, sizeof text) == BESOM_OK;
  }
  if (state == EXTENDED) return can(s, BESOM_CAN_MATCH) && !can(s, BESOM_CAN_NO_LIST_AT);
  if (state == EXCEPTED) return can(s, BESOM_STORES_EXCEPTIONS);
  return adapted_in_0_2(s) || (can(s, BESOM_CAN_ADAPT) && !can(s, BESOM_STORES_EXCEPTIONS));
}

static besom_config golden_config(const subject *s, golden_state state) {
  besom_config config = config_of(s, N, was_reported_to(state) ? 1.0 / 16 : 1.0 / 256);
  if (state == AS_SET) config.flags = BESOM_SET;
  if (state == EXCEPTED || (was_reported_to(state) && adapted_in_0_2(s))) config.reserve = 0.3;
  return config;
}

static besom_filter *make_golden(const subject *s, golden_state state) {
  uint64_t *members = keys_u64(MEMBERS, N);
  besom_config config = golden_config(s, state);
  besom_filter *f = state == EXTENDED ? make_empty(&config) : make_of_u64(s, &config, members, N);
  uint64_t *wrong = was_reported_to(state) ? keys_to_report(s, &config) : NULL;
  if (state == LEARNED || state == EXCEPTED) learn(f, wrong);
  if (state == EXTENDED && needs_store(s)) extend_in_slots(f, members, wrong);
  if (state == EXTENDED && !needs_store(s)) extend_in_key_list(f, members, wrong);
  free(members);
  free(wrong);
  return f;
}

/* ------------------------------------------------------------------ laws */

/* Kinds with a cache keep the last reports only; some that need a store undo others. */
static void assert_learned(const subject *s, const besom_filter *f, golden_state state) {
  besom_config config = golden_config(s, state);
  uint64_t *wrong = keys_to_report(s, &config);
  size_t yes = count_yes(f, wrong, REPORTED), most = state == EXTENDED ? REPORTED / 4 : 0;
  if (can(s, BESOM_FORGETS)) most = REPORTED - 1;
  free(wrong);
  if (yes > most) fail_msg("%zu keys are forgotten", yes);
}

static void load_golden(const subject *s, golden_state state) {
  temp_path path = golden_path(golden_name(s), state);
  besom_filter *f = NULL;
  assert_status(BESOM_OK, besom_open(path.text, NULL, &f));
  uint64_t *keys = keys_u64(MEMBERS, N);
  assert_holds_u64(f, keys, N);
  assert_valid(f);
  if (was_reported_to(state)) assert_learned(s, f, state);
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

static void golden_files_load_in_every_version(void **state) {
  for (golden_state i = PLAIN; i < STATES; i++)
    if (has_state(subject_of(state), i)) load_golden(subject_of(state), i);
}

/* With every instruction set. The exceptions of aqf are longer than in 0.2.0. */
static void golden_files_can_be_made_again(void **state) {
  subject s = *subject_of(state);
  if (!s.same_format) skip();
  s.hash = "xxh3"; /* the hash of the golden files */
  for (golden_state i = PLAIN; i < STATES; i++) {
    if (!has_state(&s, i) || (i == LEARNED && strcmp(s.kind->name, "aqf") == 0)) continue;
    temp_path path = golden_path(golden_name(&s), i);
    besom_filter *f = NULL, *today = make_golden(&s, i);
    assert_status(BESOM_OK, besom_open(path.text, NULL, &f));
    assert_same_bytes(f, today);
    besom_free(f);
    besom_free(today);
  }
}

static bool write_golden_file(const subject *s, golden_state state) {
  temp_path path = golden_path(golden_name(s), state);
  besom_filter *f = make_golden(s, state);
  besom_status status = besom_save_file(f, path.text);
  printf("%s: %s\n", path.text, besom_strerror(status));
  besom_free(f);
  return status == BESOM_OK;
}

bool write_golden_files(void) {
  static subjects all;
  bool all_written = true;
  find_subjects(&all);
  for (size_t i = 0; i < all.n; i++)
    for (golden_state state = PLAIN; all.list[i].is_default && state < STATES; state++)
      if (has_state(&all.list[i], state)) all_written &= write_golden_file(&all.list[i], state);
  return all_written;
}

/* A build has all published systems or none. Without one, its file is refused, and nothing else. */
static void published_systems_are_all_here_or_said_to_be_left_out(void **state) {
  (void)state;
  size_t missing = 0, n = 0;
  for (const char *const *name = published_systems(); *name; name++, n++) {
    char text[200];
    besom_filter *f = NULL;
    besom_config config = {.kind = *name, .capacity = 10};
    besom_status status = besom_config_check(&config, text, sizeof text);
    temp_path path = golden_path(*name, PLAIN);
    assert_status(status == BESOM_UNKNOWN_KIND ? BESOM_UNKNOWN_KIND : BESOM_OK,
                  besom_open(path.text, NULL, &f));
    besom_free(f);
    if (status != BESOM_UNKNOWN_KIND) continue;
    assert_non_null(strstr(text, "not in this build"));
    missing++;
  }
  assert_true(missing == 0 || missing == n);
}

const law golden_laws[] = {
    LAW(published_systems_are_all_here_or_said_to_be_left_out, THE_LIBRARY, 0),
    LAW(golden_files_load_in_every_version, EVERY_KIND, 0),
    LAW(golden_files_can_be_made_again, EVERY_SUBJECT, 0),
    {0},
};

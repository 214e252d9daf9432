#include "filters.h"

#include <stdlib.h>
#include <string.h>

#include "support/heap.h"
#include "support/reference.h"
#include "support/slot_store.h"

const uint8_t fixed_seed[16] = "a besom's seed 1";

void check_status(besom_status expected, besom_status actual, const char *call, const char *file,
                  int line) {
  if (actual == expected) return;
  print_error("%s\n  returned: %s\n  expected: %s\n", call, besom_strerror(actual),
              besom_strerror(expected));
  _fail(file, line);
}

void check_no_error(const char *message, const char *file, int line) {
  if (!message) return;
  print_error("%s\n", message);
  _fail(file, line);
}

const subject *subject_of(void **state) {
  return *state;
}

bool needs_store(const subject *s) {
  return (s->kind->abilities & BESOM_CAN_MATCH) && !(s->kind->abilities & BESOM_CAN_INSERT);
}

bool can(const subject *s, unsigned abilities) {
  unsigned all = s->kind->abilities | (needs_store(s) ? 0 : CAN_BUILD);
  return (all & abilities) == abilities;
}

size_t copies_within(const subject *s, size_t wanted) {
  /* Half of the maximum: with all copies of one key, its buckets have no slot for other keys. */
  size_t limit = s->kind->max_copies / 2;
  return limit && limit < wanted ? limit : wanted;
}

static bool takes_width(const subject *s, uint32_t width) {
  besom_config config = geometry_of(s, 64, width);
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  besom_free(f);
  return status == BESOM_OK;
}

bool takes_geometry(const subject *s) {
  return can(s, BESOM_CAN_INSERT) && takes_width(s, 8);
}

uint32_t min_width(const subject *s) {
  return takes_width(s, 1) ? 1 : 2;
}

besom_config config_of(const subject *s, uint64_t capacity, double fpr) {
  if (s->most_fpr != 0 && (fpr == 0 || (fpr > s->most_fpr && fpr < 1))) fpr = s->most_fpr;
  return (besom_config){.kind = s->kind->name,
                        .options = s->options,
                        .hash = s->hash,
                        .seed = fixed_seed,
                        .capacity = capacity,
                        .fpr = fpr,
                        .flags = s->flags};
}

besom_config geometry_of(const subject *s, uint64_t slots, uint32_t width) {
  besom_config config = config_of(s, 0, 0);
  config.fpr = 0;
  config.slots = slots;
  config.width = width;
  return config;
}

besom_filter *make_empty(const besom_config *config) {
  besom_filter *f = NULL;
  assert_status(BESOM_OK, besom_create(config, &f));
  assert_non_null(f);
  return f;
}

static besom_filter *build_from(const besom_config *config, const array_source *source) {
  besom_filter *f = NULL;
  assert_status(BESOM_OK, besom_build(config, &(besom_input){.yes = &source->api}, &f));
  return f;
}

/* Inserts keys while the filter is bound to an array of them. */
static besom_filter *make_with_store(const besom_config *config, const uint64_t *u64,
                                     const besom_bytes *bytes, size_t n) {
  besom_filter *f = make_empty(config);
  slot_store keys;
  besom_match match;
  assert_status(BESOM_OK, slot_store_open(&keys, f));
  for (size_t i = 0; i < n; i++) {
    besom_digest d = u64 ? besom_hash_u64(f, u64[i]) : besom_hash(f, bytes[i].data, bytes[i].len);
    assert_status(BESOM_OK, slot_store_insert(&keys, d, &match));
  }
  slot_store_close(&keys);
  return f;
}

besom_filter *make_of_u64(const subject *s, const besom_config *config, const uint64_t *keys,
                          size_t n) {
  if (needs_store(s)) return make_with_store(config, keys, NULL, n);
  if (!can(s, BESOM_CAN_INSERT)) {
    array_source source;
    source_of_u64(&source, keys, n);
    return build_from(config, &source);
  }
  besom_filter *f = make_empty(config);
  size_t done = 0;
  assert_status(BESOM_OK, besom_insert_many_u64(f, keys, n, &done));
  assert_int_equal(done, n);
  return f;
}

besom_filter *make_of_bytes(const subject *s, const besom_config *config, const besom_bytes *keys,
                            size_t n) {
  if (needs_store(s)) return make_with_store(config, NULL, keys, n);
  if (!can(s, BESOM_CAN_INSERT)) {
    array_source source;
    source_of_bytes(&source, keys, n);
    return build_from(config, &source);
  }
  besom_filter *f = make_empty(config);
  for (size_t i = 0; i < n; i++)
    assert_status(BESOM_OK, besom_insert(f, keys[i].data, keys[i].len));
  return f;
}

besom_filter *make_of_members(const subject *s, size_t n, double fpr) {
  besom_config config = config_of(s, n, fpr);
  uint64_t *keys = keys_u64(MEMBERS, n);
  besom_filter *f = make_of_u64(s, &config, keys, n);
  free(keys);
  return f;
}

bool adapts_without_keys(const subject *s) {
  besom_filter *f = make_of_members(s, 1, 0);
  besom_status status = besom_adapt_u64(f, key_u64(MEMBERS, 0));
  besom_free(f);
  if (status != BESOM_NEEDS_STORE && status != BESOM_UNSUPPORTED) assert_status(BESOM_OK, status);
  return status == BESOM_OK;
}

bool is_published_form(const subject *s) {
  return s->options && strstr(s->options, "form=published") && !adapts_without_keys(s);
}

static besom_status source_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  array_source *source = ctx;
  source->calls++;
  if (*weight != 1) source->wrong_weight = true;
  *weight = 5; /* the caller must reset it to 1 */
  if (source->at == source->fail_at) return source->status;
  if (source->at == source->n) return BESOM_END;
  size_t i = source->at++;
  if (source->bytes) {
    *key = source->bytes[i];
  } else {
    source->key = little_endian(source->u64[i]);
    *key = (besom_bytes){&source->key, 8};
  }
  return BESOM_OK;
}

static besom_status source_rewind(void *ctx) {
  array_source *source = ctx;
  source->at = 0;
  source->rewinds++;
  return BESOM_OK;
}

static void source_init(array_source *source, size_t n) {
  *source = (array_source){.n = n, .fail_at = SIZE_MAX, .status = BESOM_IO};
  source->api =
      (besom_source){.next = source_next, .rewind = source_rewind, .size_hint = n, .ctx = source};
}

void source_of_u64(array_source *source, const uint64_t *keys, size_t n) {
  source_init(source, n);
  source->u64 = keys;
}

void source_of_bytes(array_source *source, const besom_bytes *keys, size_t n) {
  source_init(source, n);
  source->bytes = keys;
}

besom_statistics stats_of(const besom_filter *f) {
  besom_statistics stats;
  assert_status(BESOM_OK, besom_stats(f, &stats));
  return stats;
}

void assert_valid(const besom_filter *f) {
  const char *reason = NULL;
  besom_status status = besom_validate(f, &reason);
  if (status != BESOM_OK) print_error("invalid: %s\n", reason ? reason : "(no reason given)");
  assert_status(BESOM_OK, status);
}

void assert_holds_u64(const besom_filter *f, const uint64_t *keys, size_t n) {
  size_t lost = 0;
  for (size_t i = 0; i < n; i++) lost += !besom_contains_u64(f, keys[i]);
  assert_int_equal(lost, 0);
}

size_t count_yes(const besom_filter *f, const uint64_t *keys, size_t n) {
  uint64_t *bitmap = heap_array(n / 64 + 1, sizeof *bitmap);
  size_t yes = 0;
  assert_status(BESOM_OK, besom_contains_many_u64(f, keys, n, bitmap));
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, besom_contains_u64(f, keys[i]));
    yes += bitmap[i / 64] >> (i % 64) & 1;
  }
  free(bitmap);
  return yes;
}

uint64_t *false_positives_of(const besom_filter *f, size_t n) {
  uint64_t *keys = heap_array(n, sizeof *keys);
  size_t found = 0;
  for (size_t i = 0; found < n; i++) {
    if (i == 1 << 25) fail_msg("%zu false positives, not %zu", found, n);
    if (besom_contains_u64(f, key_u64(NEGATIVES, i))) keys[found++] = key_u64(NEGATIVES, i);
  }
  return keys;
}

size_t count_false_positives(const besom_filter *f, size_t n) {
  uint64_t keys[1024], bitmap[1024 / 64];
  size_t yes = 0;
  for (size_t at = 0; at < n; at += 1024) {
    size_t part = n - at < 1024 ? n - at : 1024;
    for (size_t i = 0; i < part; i++) keys[i] = key_u64(NEGATIVES, at + i);
    assert_status(BESOM_OK, besom_contains_many_u64(f, keys, part, bitmap));
    for (size_t i = 0; i < part; i++) yes += bitmap[i / 64] >> (i % 64) & 1;
  }
  return yes;
}

static void assert_same_stored(const besom_filter *a, const besom_filter *b) {
  size_t n = 0, m = 0;
  address *of_a = stored_addresses(a, &n), *of_b = stored_addresses(b, &m);
  assert_non_null(of_a);
  assert_non_null(of_b);
  assert_int_equal(n, m);
  assert_memory_equal(of_a, of_b, n * sizeof *of_a);
  free(of_a);
  free(of_b);
}

void assert_same_answers(const subject *s, const besom_filter *a, const besom_filter *b, size_t n) {
  size_t different = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t member = key_u64(MEMBERS, i), negative = key_u64(NEGATIVES, i);
    different += besom_contains_u64(a, member) != besom_contains_u64(b, member);
    different += besom_contains_u64(a, negative) != besom_contains_u64(b, negative);
  }
  assert_int_equal(different, 0);
  if (can(s, BESOM_CAN_ITERATE)) assert_same_stored(a, b);
}

void save_to(memory_sink *sink, const besom_filter *f) {
  memory_sink_init(sink);
  assert_status(BESOM_OK, besom_save(f, &sink->api));
}

void assert_same_bytes(const besom_filter *a, const besom_filter *b) {
  memory_sink of_a, of_b;
  save_to(&of_a, a);
  save_to(&of_b, b);
  assert_true(memory_sinks_equal(&of_a, &of_b));
  memory_sink_close(&of_a);
  memory_sink_close(&of_b);
}

void check_bytes(const besom_filter *f, memory_sink *before, const char *file, int line) {
  memory_sink now;
  save_to(&now, f);
  bool same = memory_sinks_equal(&now, before);
  memory_sink_close(&now);
  memory_sink_close(before);
  if (same) return;
  print_error("the filter has changed\n");
  _fail(file, line);
}

besom_status open_file(const char *path, unsigned flags, besom_filter **out) {
  return besom_open(path, &(besom_open_options){.flags = flags}, out);
}

besom_filter *loaded_copy(const besom_filter *f) {
  memory_sink saved;
  besom_filter *copy = NULL;
  save_to(&saved, f);
  assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &copy));
  memory_sink_close(&saved);
  return copy;
}

void replace_filter(besom_filter **f, besom_filter *by) {
  besom_free(*f);
  *f = by;
}

besom_filter *merged(const besom_filter *a, const besom_filter *b) {
  besom_filter *out = NULL;
  assert_status(BESOM_OK, besom_merge(a, b, &out));
  return out;
}

/*
 * filters.h - making filters of any kind, and asking them what every law asks. Whatever fails here fails
 * the test.
 */
#ifndef BESOM_TESTS_FILTERS_H
#define BESOM_TESTS_FILTERS_H

#include "law.h"
#include "support/keys.h"
#include "support/memory_sink.h"

/* Fails with both statuses in words. */
#define assert_status(expected, call) check_status((expected), (call), #call, __FILE__, __LINE__)
void check_status(besom_status expected, besom_status actual, const char *call, const char *file,
                  int line);

/* Fails with the sentence, if there is one. */
#define assert_nothing_wrong(sentence) check_nothing_wrong((sentence), __FILE__, __LINE__)
void check_nothing_wrong(const char *sentence, const char *file, int line);

/* The subject of a law, from cmocka's state. */
const subject *subject_of(void **state);
bool can(const subject *s, unsigned abilities); /* of besom_ability, and CAN_BUILD */

/* Does the kind take keys only with their store at hand? Then make_of_* bind it as long as they fill it. */
bool needs_store(const subject *s);

/* Does the kind adapt by the offender alone? The others say that they need their keys. */
bool adapts_without_keys(const subject *s);

/* As many copies of each of many keys as are wanted, or as a kind that keeps few of one key has room for. */
size_t copies_within(const subject *s, size_t wanted);

/* Does the kind take slots and width in place of capacity and rate? */
bool takes_geometry(const subject *s);
uint32_t least_width(const subject *s); /* of those that do */

/* The seed of all filters here, so that every run is the same. */
extern const uint8_t fixed_seed[16];

/* A configuration for the subject: fixed seed, its options and hash. A rate of 0 is the default. */
besom_config config_of(const subject *s, uint64_t capacity, double rate);
besom_config geometry_of(const subject *s, uint64_t slots, uint32_t width);

/* An empty filter. Not for kinds that can only be built. */
besom_filter *make_empty(const besom_config *config);

/* A filter of n keys: inserted where the kind can, else built. */
besom_filter *make_of_u64(const subject *s, const besom_config *config, const uint64_t *keys,
                          size_t n);
besom_filter *make_of_bytes(const subject *s, const besom_config *config, const besom_bytes *keys,
                            size_t n);

/* With the first n keys of the stream MEMBERS, in a filter of capacity n. */
besom_filter *make_of_members(const subject *s, size_t n, double rate);

/* A source over an array, for besom_build: counts its calls, and fails when told to. */
typedef struct array_source {
  besom_source api;
  const besom_bytes *bytes; /* either these */
  const uint64_t *u64;      /* or these */
  uint64_t little_endian;   /* the bytes of the u64 key in hand */
  size_t n, at, calls, rewinds;
  size_t fail_at; /* this key is not given but */
  besom_status complaint;
  bool wrong_weight; /* a weight came in that was not 1 */
} array_source;

void source_of_u64(array_source *source, const uint64_t *keys, size_t n);
void source_of_bytes(array_source *source, const besom_bytes *keys, size_t n);

besom_statistics stats_of(const besom_filter *f);
void assert_valid(const besom_filter *f);
void assert_holds_u64(const besom_filter *f, const uint64_t *keys, size_t n);

/* How many of the keys are answered yes, the same by one call and by many. */
size_t count_yes(const besom_filter *f, const uint64_t *keys, size_t n);

/* The first n keys of NEGATIVES that are answered yes; free() them. */
uint64_t *false_positives_of(const besom_filter *f, size_t n);

/* How many of the first n keys of the stream NEGATIVES are answered yes. */
size_t count_false_positives(const besom_filter *f, size_t n);

/* Two filters that answer the same on n keys of MEMBERS and n of NEGATIVES, and store the same. */
void assert_same_answers(const subject *s, const besom_filter *a, const besom_filter *b, size_t n);

/* The bytes of a saved filter; memory_sink_close them. */
void save_to(memory_sink *sink, const besom_filter *f);
void assert_same_bytes(const besom_filter *a, const besom_filter *b);

/* A failed call must have changed nothing: what the filter was, to be compared with what it is. Closes `before`. */
#define assert_bytes(f, before) check_bytes((f), (before), __FILE__, __LINE__)
void check_bytes(const besom_filter *f, memory_sink *before, const char *file, int line);

/* The same filter through its saved bytes; a and b merged; another filter in the place of one, which is freed. */
besom_filter *loaded_copy(const besom_filter *f);
besom_filter *merged(const besom_filter *a, const besom_filter *b);
void replace_filter(besom_filter **f, besom_filter *by);

#endif

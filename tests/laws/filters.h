/*
 * filters.h - creates filters of any kind, and checks what many laws check. A failure here fails
 * the test.
 */
#ifndef BESOM_TESTS_FILTERS_H
#define BESOM_TESTS_FILTERS_H

#include "law.h"
#include "support/counters.h"
#include "support/keys.h"
#include "support/memory_sink.h"
#include "support/u64_forms.h"

/* Prints both statuses if they differ. */
#define assert_status(expected, call) check_status((expected), (call), #call, __FILE__, __LINE__)
void check_status(besom_status expected, besom_status actual, const char *call, const char *file,
                  int line);

/* Fails with the message if it is not NULL. */
#define assert_no_error(message) check_no_error((message), __FILE__, __LINE__)
void check_no_error(const char *message, const char *file, int line);

/* The subject of a law, from cmocka's state. */
const subject *subject_of(void **state);
bool can(const subject *s, unsigned abilities); /* of besom_ability, and CAN_BUILD */

/*
 * Does the kind accept keys only while it is bound to a store? make_of_* bind it while they insert.
 */
bool needs_store(const subject *s);

/* Does the kind adapt given only the false positive? Other kinds return NEEDS_STORE. */
bool adapts_without_keys(const subject *s);

/* The form of a paper (form=published) in which a report needs the stored keys. */
bool is_published_form(const subject *s);

/*
 * `wanted` copies per key, or fewer if the kind cannot store that many copies of each of many keys.
 */
size_t copies_within(const subject *s, size_t wanted);

/* Does the kind accept slots and width instead of capacity and false-positive rate? */
bool takes_geometry(const subject *s);
uint32_t min_width(const subject *s); /* if it does */

/* The seed of all filters, so that all runs are equal. */
extern const uint8_t fixed_seed[16];

/* A configuration for the subject: the fixed seed, its options and hash. fpr 0 is the default. */
besom_config config_of(const subject *s, uint64_t capacity, double fpr);
besom_config geometry_of(const subject *s, uint64_t slots, uint32_t width);

/* An empty filter. Fails for kinds that can only be built. */
besom_filter *make_empty(const besom_config *config);

/* A filter of n keys: inserted if the kind supports it, else built. */
besom_filter *make_of_u64(const subject *s, const besom_config *config, const uint64_t *keys,
                          size_t n);
besom_filter *make_of_bytes(const subject *s, const besom_config *config, const besom_bytes *keys,
                            size_t n);

/* A filter of capacity n with the first n keys of the stream MEMBERS. */
besom_filter *make_of_members(const subject *s, size_t n, double fpr);

/* A source over an array, for besom_build: counts its calls, and fails at a chosen key. */
typedef struct array_source {
  besom_source api;
  const besom_bytes *bytes; /* either these */
  const uint64_t *u64;      /* or these */
  uint64_t key;             /* the bytes of the current u64 key */
  size_t n, at, calls, rewinds;
  size_t fail_at;      /* at this key, next returns */
  besom_status status; /* this status */
  bool wrong_weight;   /* next was called with a weight that was not 1 */
} array_source;

void source_of_u64(array_source *source, const uint64_t *keys, size_t n);
void source_of_bytes(array_source *source, const besom_bytes *keys, size_t n);

besom_statistics stats_of(const besom_filter *f);
void assert_valid(const besom_filter *f);
void assert_holds_u64(const besom_filter *f, const uint64_t *keys, size_t n);

/* How many of the keys are answered yes. Fails if contains and contains_many differ. */
size_t count_yes(const besom_filter *f, const uint64_t *keys, size_t n);

/* The first n keys of NEGATIVES that are answered yes; free() them. */
uint64_t *false_positives_of(const besom_filter *f, size_t n);

/* How many of the first n keys of the stream NEGATIVES are answered yes. */
size_t count_false_positives(const besom_filter *f, size_t n);

/*
 * Both filters answer alike for n keys of MEMBERS and n of NEGATIVES, and store the same entries.
 */
void assert_same_answers(const subject *s, const besom_filter *a, const besom_filter *b, size_t n);

/* Saves the filter to memory; the caller calls memory_sink_close. */
void save_to(memory_sink *sink, const besom_filter *f);
void assert_same_bytes(const besom_filter *a, const besom_filter *b);

/*
 * Fails if the filter does not save as `before`: for calls that must not change it. Closes
 * `before`.
 */
#define assert_bytes(f, before) check_bytes((f), (before), __FILE__, __LINE__)
void check_bytes(const besom_filter *f, memory_sink *before, const char *file, int line);

/* besom_open with these flags. */
besom_status open_file(const char *path, unsigned flags, besom_filter **out);

/* A copy by save and load. */
besom_filter *loaded_copy(const besom_filter *f);

/* The result of besom_merge. */
besom_filter *merged(const besom_filter *a, const besom_filter *b);

/* Frees *f and sets it to another filter. */
void replace_filter(besom_filter **f, besom_filter *by);

#endif

/*
 * write_vectors GOLDEN DIRECTORY: writes the files of the test vectors, expected.txt and maps.txt.
 * All seeds are fixed, so the files are the same each time. KIND.besom has the members of vectors.h
 * under xxh3, KIND-sip.besom under SipHash, KIND-reported.besom also reports, aqf-extended.besom
 * extensions and tombstones, pqf-12-bits.besom another layout. Published systems that work in front
 * of a store only have their golden file (GOLDEN).
 */
#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>

#include "besom_guard.h"
#include "besom_store.h"

enum { NO_LIST = 500, REPORTED = 64 };

static const char *golden, *directory;
static FILE *expected;

typedef struct range {
  uint64_t first, end, next;
  vector_key key;
} range;

/* Keys of 7 bytes or less repeat: the no list has none of them, since they may be members. */
static besom_status next_of(void *ctx, besom_bytes *key, uint64_t *weight) {
  range *r = ctx;
  (void)weight;
  do {
    if (r->next == r->end) return BESOM_END;
    r->key = vector_key_number(r->next++);
  } while (r->first && r->key.len < 8);
  *key = (besom_bytes){r->key.bytes, r->key.len};
  return BESOM_OK;
}

static besom_status rewind_of(void *ctx) {
  range *r = ctx;
  r->next = r->first;
  return BESOM_OK;
}

static bool has_no_list(const char *kind) {
  for (size_t i = 0; besom_kinds(i); i++)
    if (strcmp(besom_kinds(i)->name, kind) == 0)
      return besom_kinds(i)->abilities & (BESOM_CAN_BUILD_NO | BESOM_TAKES_SAMPLE) &&
             !(besom_kinds(i)->abilities & BESOM_CAN_INSERT);
  return false;
}

/* NULL if this kind works in front of a store only. */
static besom_filter *make(const char *kind, const char *hash, double fpr) {
  static const uint8_t seed[16] = "test vectors";
  besom_config config = {.kind = kind, .hash = hash, .seed = seed, .capacity = MEMBERS, .fpr = fpr};
  besom_filter *f = NULL;
  besom_status status = besom_create(&config, &f);
  if (status == BESOM_UNSUPPORTED) {
    range yes = {0, MEMBERS, 0, {0}}, no = {MEMBERS, MEMBERS + NO_LIST, MEMBERS, {0}};
    besom_source yes_source = {next_of, rewind_of, 0, &yes},
                 no_source = {next_of, rewind_of, 0, &no};
    besom_input input = {.yes = &yes_source, .no = has_no_list(kind) ? &no_source : NULL};
    status = besom_build(&config, &input, &f);
  } else {
    for (uint64_t n = 0; n < MEMBERS && status == BESOM_OK; n++) {
      vector_key key = vector_key_number(n);
      status = besom_insert(f, key.bytes, key.len);
    }
  }
  if (status == BESOM_OK) return f;
  if (status != BESOM_NEEDS_STORE && status != BESOM_FULL)
    printf("%s: %s\n", kind, besom_strerror(status));
  besom_free(f);
  return NULL;
}

/* Reports the first false positives. False if the kind takes no reports without a store. */
static bool report(besom_filter *f) {
  unsigned reported = 0;
  for (uint64_t i = 0; i < MANY && reported < REPORTED; i++) {
    vector_key key = vector_key_number(vector_query(i));
    if (vector_query(i) < MEMBERS || !vector_answer(f, &key)) continue;
    besom_status status = besom_adapt(f, key.bytes, key.len);
    if (status != BESOM_OK && status != BESOM_EVICTED) return false;
    reported++;
  }
  return reported > 0;
}

static void write_line(const char *name, const besom_filter *f) {
  uint32_t crc = ~UINT32_C(0);
  unsigned long yes = 0;
  unsigned long long sample = 0;
  fprintf(expected, "%s", name);
  for (uint64_t i = 0; i < MANY; i += 8) {
    uint8_t byte = 0;
    for (unsigned k = 0; k < 8; k++) {
      vector_key key = vector_key_number(vector_query(i + k));
      bool answer = vector_answer(f, &key);
      byte |= (uint8_t)(answer << k);
      yes += answer;
    }
    crc = vector_crc(crc, byte);
    if (i < 64) sample |= (unsigned long long)byte << i;
    if (i + 8 == FEW || i + 8 == MANY) fprintf(expected, " %08x %lu", (unsigned)~crc, yes);
  }
  fprintf(expected, " %016llx\n", sample);
}

static void add(const char *kind, const char *form, const besom_filter *f) {
  char name[64], path[4096];
  snprintf(name, sizeof name, "%s%s.besom", kind, form);
  snprintf(path, sizeof path, "%s/%s", directory, name);
  if (besom_save_file(f, path) != BESOM_OK) exit(1);
  write_line(name, f);
}

static void add_golden(const char *kind) {
  char path[4096];
  besom_filter *f = NULL;
  snprintf(path, sizeof path, "%s/%s-v1.besom", golden, kind);
  if (besom_open(path, NULL, &f) != BESOM_OK) exit(1);
  add(kind, "", f);
  besom_free(f);
}

static void add_kind(const char *kind) {
  besom_filter *f = make(kind, "xxh3", 0.01), *sip = make(kind, "sip", 0.01);
  if (f) add(kind, "", f);
  if (sip) add(kind, "-sip", sip);
  if (f && report(f)) add(kind, "-reported", f);
  if (!f) add_golden(kind);
  besom_free(f);
  besom_free(sip);
}

/* ------------------------------------------------------------------ extensions */

/* The layout that a kind has at a rate. */
static void add_layout(const char *kind, const char *form, double fpr) {
  besom_filter *f = make(kind, "xxh3", fpr);
  add(kind, form, f);
  besom_free(f);
}

static void must(besom_status status) {
  if (status == BESOM_OK || status == BESOM_NOT_FOUND) return;
  printf("%s\n", besom_strerror(status));
  exit(1);
}

/* An aqf in front of a store: with extensions, and with tombstones of NO_LIST further keys. */
static void add_extended(const char *form, double fpr) {
  static const uint8_t seed[16] = "test vectors";
  besom_config filter = {.kind = "aqf",
                         .options = "tombstones=yes",
                         .seed = seed,
                         .capacity = 2 * MEMBERS,
                         .fpr = fpr,
                         .reserve = 0.2};
  besom_guard_config config = {.filter = &filter, .grow_at = 1, .rekey_at = 1};
  besom_store *store;
  besom_guard *g;
  must(besom_store_memory(NULL, &store));
  must(besom_guard_open(&config, store, &g));
  for (uint64_t n = 0; n < MEMBERS + NO_LIST; n++) {
    vector_key key = vector_key_number(n);
    must(besom_guard_put(g, key.bytes, key.len, NULL, 0, 0));
  }
  for (uint64_t i = 0; i < MANY / 8; i++) { /* a false positive extends a fingerprint */
    vector_key key = vector_key_number(vector_query(i));
    besom_bytes value;
    if (vector_query(i) >= MEMBERS + NO_LIST && key.len >= 8)
      must(besom_guard_get(g, key.bytes, key.len, &value));
  }
  for (uint64_t n = MEMBERS; n < MEMBERS + NO_LIST; n++) {
    vector_key key = vector_key_number(n);
    if (key.len >= 8) must(besom_guard_delete(g, key.bytes, key.len));
  }
  add("aqf", form, besom_guard_filter(g));
  must(besom_guard_close(g));
}

/* ------------------------------------------------------------------ maplets */

static besom_filter *make_map(const char *kind, const char *options, const char *hash) {
  static const uint8_t seed[16] = "test vectors";
  besom_config config = {.kind = kind,
                         .options = options,
                         .hash = hash,
                         .seed = seed,
                         .capacity = MEMBERS + MEMBERS / 4,
                         .fpr = 0.01,
                         .value_bits = 10};
  besom_filter *f;
  if (besom_create(&config, &f) != BESOM_OK) exit(1);
  for (uint64_t n = 0; n < MEMBERS; n++) {
    vector_key key = vector_key_number(n);
    for (uint64_t which = 0; which < (n % 4 ? 1 : 2); which++)
      if (besom_insert_value(f, key.bytes, key.len, vector_value(n, which)) != BESOM_OK) exit(1);
  }
  return f;
}

/* Reports all candidates of the first absent keys that have some. */
static void report_candidates(besom_filter *f) {
  unsigned reported = 0;
  for (uint64_t i = 0; reported < REPORTED; i++) {
    vector_key key = vector_key_number(vector_query(i));
    if (vector_query(i) < MEMBERS || !vector_answer(f, &key)) continue;
    if (besom_adapt(f, key.bytes, key.len) != BESOM_OK) exit(1);
    reported++;
  }
}

static void add_map(const char *name, besom_filter *f) {
  char path[4096];
  uint32_t crc = ~UINT32_C(0);
  unsigned long candidates = 0;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  if (besom_save_file(f, path) != BESOM_OK) exit(1);
  fprintf(expected, "%s", name);
  for (uint64_t i = 0; i < MANY; i++) {
    vector_key key = vector_key_number(vector_query(i));
    candidates += vector_candidates(f, &key, &crc);
    if (i + 1 == FEW || i + 1 == MANY) fprintf(expected, " %08x %lu", (unsigned)~crc, candidates);
  }
  fprintf(expected, "\n");
}

static void add_maps(void) {
  besom_filter *map = make_map("aqf", "maplet=yes", "xxh3"),
               *sip = make_map("aqf", "maplet=yes", "sip"),
               *chain = make_map("scaling", "base=aqf,maplet=yes", "xxh3");
  add_map("maplet.besom", map);
  add_map("maplet-sip.besom", sip);
  add_map("maplet-scaling.besom", chain);
  report_candidates(map);
  add_map("maplet-reported.besom", map);
  besom_free(map);
  besom_free(sip);
  besom_free(chain);
}

static void open_expected(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  expected = fopen(path, "w");
  if (!expected) exit(1);
}

int main(int n_arguments, char **arguments) {
  if (n_arguments != 3) return 2;
  golden = arguments[1];
  directory = arguments[2];
  open_expected("expected.txt");
  for (size_t i = 0; besom_kinds(i); i++) add_kind(besom_kinds(i)->name);
  add_extended("-extended", 0.01);
  add_extended("-extended-wide", 0.0005);
  add_layout("pqf", "-12-bits", 0x1p-11);
  if (fclose(expected) != 0) return 1;
  open_expected("maps.txt");
  add_maps();
  return fclose(expected) != 0;
}

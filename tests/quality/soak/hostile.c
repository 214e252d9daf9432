/*
 * soak_hostile --seed S --amount N --input files|patches: N damaged files or patches, through the
 * checks of the fuzz targets. Files are those of random filters (model.h) in all forms of all
 * kinds; damage is done to header, section table and single sections (support/mutate.h). Checksums
 * are repaired. Files are opened copied, in place, checked and unchecked.
 *
 * An episode makes two originals, and damaged copies of each that may have bytes of the other.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../fuzz/hostile_checks.h"
#include "../../../fuzz/patch_subject.h"
#include "batch.h"
#include "core/byte_io.h"
#include "laws/subjects.h"
#include "model.h"
#include "support/checksums.h"
#include "support/heap.h"
#include "support/mutate.h"

/* LLVMFuzzerTestOneInput of fuzz_open.c, which is compiled under this name. */
int hostile_open(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 13, LARGE = 1 << 11, PER_ORIGINAL = 200, FILE_ALIGNMENT = 64 };

typedef struct bytes {
  uint8_t at[MOST_BYTES + MUTATION_ROOM];
  size_t len;
} bytes;

typedef struct results {
  uint64_t files, loaded, unchecked, patches, originals;
} results;

/* What is damaged. */
typedef struct input {
  const char *name;
  bool (*make)(random_stream *random, bytes *out); /* an original; false if it is too large */
  void (*damage)(const bytes *original, const bytes *other, random_stream *random, results *r);
} input;

typedef struct campaign {
  input input;
  uint64_t amount, done;
  results r;
} campaign;

/* ------------------------------------------------------------------ damage */

/* Bytes of another place, or of another file. */
static void copy_bytes(bytes *b, const bytes *from, random_stream *random) {
  size_t most = b->len < from->len ? b->len : from->len;
  if (!most) return;
  size_t n = 1 + (size_t)random_below(random, most < 64 ? most : 64);
  memmove(b->at + random_below(random, b->len - n + 1),
          from->at + random_below(random, from->len - n + 1), n);
}

/* Some bytes as a number that decoders fail at. */
static void write_number(bytes *b, random_stream *random) {
  size_t size = (size_t)1 << random_below(random, 4);
  if (b->len < size) return;
  uint8_t *at = b->at + random_below(random, b->len - size + 1);
  uint64_t n = 0;
  memcpy(&n, at, size);
  n = hostile_number(random, n);
  memcpy(at, &n, size);
}

/* For patches, whose structure mutate_container does not know. */
static void damage(bytes *b, const bytes *other, random_stream *random) {
  for (uint64_t n = 1 + random_below(random, 3); n && b->len; n--) {
    switch (random_below(random, 6)) {
    case 0:
      copy_bytes(b, b, random);
      break;
    case 1:
      copy_bytes(b, other, random);
      break;
    case 2:
      b->at[random_below(random, b->len)] ^= (uint8_t)(1u << random_below(random, 8));
      break;
    case 3:
      if (random_below(random, 8) == 0) b->len = (size_t)random_below(random, b->len + 1);
      break;
    default:
      write_number(b, random);
    }
  }
}

/* ------------------------------------------------------------------ files */

/*
 * A random filter of any kind after some hundred operations. Most defects of decoders need no large
 * file, so that one in four large ones is enough.
 */
static bool some_file(random_stream *random, bytes *out) {
  static subjects all;
  if (!all.n) find_subjects(&all);
  model_counts counts = {0};
  model m = {.counts = &counts};
  memory_sink saved;
  bool fits = false;
  const subject *form = &all.list[random_below(random, all.n)];
  if (model_open(&m, form, random_next(random))) {
    model_run(&m, 20 + random_below(random, 600));
    memory_sink_init(&saved);
    model_demand(&m, besom_save(m.f, &saved.api) == BESOM_OK);
    fits = saved.len <= (random_below(random, 4) ? LARGE : MOST_BYTES);
    if (fits) memcpy(out->at, saved.data, out->len = saved.len);
    memory_sink_close(&saved);
  }
  model_close(&m);
  return fits;
}

static bool opens_unchecked(const bytes *b, const uint8_t *block, unsigned flags) {
  besom_filter *f = NULL;
  bool ok = open_block(block, b->len, flags, &f) == BESOM_OK;
  if (ok) check_unchecked(f, flags & BESOM_OPEN_MMAP);
  besom_free(f);
  return ok;
}

static void check_mapped(const bytes *b, const uint8_t *block, besom_status expected,
                         const besom_filter *loaded) {
  besom_filter *f = NULL;
  demand(open_block(block, b->len, BESOM_OPEN_MMAP, &f) == expected);
  if (f) check_checked(f, loaded, true);
  besom_free(f);
}

/*
 * What loads is also opened in place, what does not load is opened without checks. One file in four
 * is opened in all ways: copied and in place, with and without checks.
 */
static void check_file(const bytes *b, const uint8_t *block, random_stream *random, results *r) {
  static const unsigned unchecked[] = {BESOM_OPEN_TRUSTED, BESOM_OPEN_CHECKSUMS,
                                       BESOM_OPEN_TRUSTED | BESOM_OPEN_CHECKSUMS};
  besom_filter *f = NULL;
  unsigned flags = unchecked[random_below(random, 3)];
  bool all_ways = random_below(random, 4) == 0;
  besom_status status = open_block(block, b->len, 0, &f);
  bool loads = status == BESOM_OK, opens = loads;
  if (loads || all_ways) check_mapped(b, block, status, f);
  if (!loads || all_ways) opens = opens_unchecked(b, block, flags);
  if (all_ways) opens_unchecked(b, block, flags | BESOM_OPEN_MMAP);
  if (loads) check_loaded(f, block, b->len, random_below(random, 16) == 0);
  besom_free(f);
  demand(!memcmp(block, b->at, b->len)); /* nothing was written in place */
  r->loaded += loads;
  r->unchecked += opens;
}

/* A file with a wrong checksum must be refused. */
static void repair(bytes *b) {
  static bytes right;
  besom_filter *f = NULL;
  memcpy(right.at, b->at, right.len = b->len);
  fix_checksums(right.at, right.len);
  demand(besom_load(b->at, b->len, NULL, &f) != BESOM_OK || !memcmp(right.at, b->at, b->len));
  besom_free(f);
  memcpy(b->at, right.at, b->len);
}

static void damage_file(const bytes *original, const bytes *other, random_stream *random,
                        results *r) {
  static bytes b;
  bool repaired;
  memcpy(b.at, original->at, b.len = original->len);
  if (random_below(random, 4) == 0) copy_bytes(&b, other, random);
  b.len = mutate_container(b.at, b.len, random, &repaired);
  if (!repaired) repair(&b);
  void *block = NULL;
  demand(!posix_memalign(&block, FILE_ALIGNMENT, b.len));
  memcpy(block, b.at, b.len);
  check_file(&b, block, random, r);
  if (random_below(random, 64) == 0) hostile_open(b.at, b.len); /* by the path of a file */
  free(block);
  r->files++;
}

/* ------------------------------------------------------------------ patches */

static besom_filter *changed_copy(const besom_filter *old, random_stream *random) {
  memory_sink saved;
  besom_filter *f = NULL;
  memory_sink_init(&saved);
  demand(besom_save(old, &saved.api) == BESOM_OK);
  demand(besom_load(saved.data, saved.len, NULL, &f) == BESOM_OK);
  memory_sink_close(&saved);
  for (uint64_t n = 1 + random_below(random, 40); n; n--) {
    (void)besom_insert_u64(f, key_u64(MORE_MEMBERS, random_below(random, 1000)));
    (void)besom_remove_u64(f, key_u64(MEMBERS, n));
    (void)besom_adapt_u64(f, key_u64(NEGATIVES, random_below(random, 1000)));
  }
  return f;
}

/* An update of a static list has more keys. */
static besom_filter *updated_copy(const besom_filter *old, random_stream *random) {
  patch_list keys = {.n = PATCH_KEYS + 1 + random_below(random, 50)};
  besom_source yes = {.next = next_patch_key, .ctx = &keys};
  besom_filter *f = NULL;
  demand(besom_build(NULL, &(besom_input){.yes = &yes, .update = old}, &f) == BESOM_OK);
  return f;
}

typedef struct patched {
  besom_filter *f;
  memory_sink saved;
  uint64_t checksum;
} patched;

/* The filter of this choice. It is made once: a patch must not change it. */
static const patched *old_filter(uint8_t choice) {
  static patched all[PATCH_KINDS];
  patched *p = &all[choice];
  if (p->f) return p;
  p->f = patch_subject(choice);
  memory_sink_init(&p->saved);
  demand(besom_save(p->f, &p->saved.api) == BESOM_OK);
  p->checksum = besom__checksum(p->saved.data, p->saved.len);
  return p;
}

static void demand_unchanged(const patched *p) {
  memory_sink now;
  memory_sink_init(&now);
  demand(besom_save(p->f, &now.api) == BESOM_OK);
  demand(now.len == p->saved.len && !memcmp(now.data, p->saved.data, now.len));
  memory_sink_close(&now);
}

/* The first byte is the number of the filter that the patch is for. */
static bool some_patch(random_stream *random, bytes *out) {
  uint8_t choice = (uint8_t)random_below(random, PATCH_KINDS);
  const besom_filter *old = old_filter(choice)->f;
  besom_filter *fresh = strcmp(patch_kinds[choice], "updated") ? changed_copy(old, random)
                                                               : updated_copy(old, random);
  memory_sink diff;
  memory_sink_init(&diff);
  demand(besom_diff(old, fresh, &diff.api) == BESOM_OK);
  bool fits = diff.len < MOST_BYTES;
  if (fits) {
    out->at[0] = choice;
    memcpy(out->at + 1, diff.data, diff.len);
    out->len = diff.len + 1;
  }
  memory_sink_close(&diff);
  besom_free(fresh);
  return fits;
}

static void damage_patch(const bytes *original, const bytes *other, random_stream *random,
                         results *r) {
  static bytes b;
  const patched *old = old_filter(original->at[0]);
  memcpy(b.at, original->at, b.len = original->len);
  damage(&b, other, random);
  if (!b.len) b.len = 1;
  uint8_t *block = heap_array(b.len - 1, 1);
  memcpy(block, b.at + 1, b.len - 1);
  check_patch(old->f, old->checksum, block, b.len - 1);
  free(block);
  if (r->patches++ % 16 == 0) demand_unchanged(old);
}

/* ------------------------------------------------------------------ the campaign */

static const input inputs[] = {{"files", some_file, damage_file},
                               {"patches", some_patch, damage_patch}};
enum { INPUTS = sizeof inputs / sizeof *inputs };

static void run_episode(void *ctx, uint64_t seed) {
  static bytes two[2];
  campaign *c = ctx;
  random_stream random = {mix64(seed)};
  for (int i = 0; i < 2; i++)
    while (!c->input.make(&random, &two[i])) continue;
  for (int i = 0; i < 2; i++, c->r.originals++)
    for (int n = 0; n < PER_ORIGINAL && c->done < c->amount; n++, c->done++)
      c->input.damage(&two[i], &two[!i], &random, &c->r);
}

int main(int argc, char **argv) {
  batch request = batch_of(argc, argv, "--input");
  size_t i = 0;
  while (i < INPUTS && !(request.row && !strcmp(inputs[i].name, request.row))) i++;
  if (i == INPUTS) return fputs("--input must be files or patches\n", stderr), 2;
  campaign c = {.input = inputs[i], .amount = request.amount};
  batch_run(request, &c.done, run_episode, &c);
  count counts[] = {{"files", c.r.files},
                    {"patches", c.r.patches},
                    {"undamaged_originals", c.r.originals},
                    {"loaded_in_spite_of_damage", c.r.loaded},
                    {"opened_without_checks", c.r.unchecked}};
  print_counts(counts, sizeof counts / sizeof *counts);
  return 0;
}

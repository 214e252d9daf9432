/*
 * soak_hostile --seed S --amount N --input files|patches: N damaged files or patches, through the
 * checks of the fuzz targets. Files are those of random filters (model.h) in all forms of all
 * kinds; damage is done to header, section table and single sections (support/mutate.h). The
 * targets repair the checksums and open files in memory, copied, mapped, checked and trusted.
 */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "contract/subjects.h"
#include "file/container.h"
#include "model.h"
#include "patch_subject.h"
#include "support/heap.h"
#include "support/mutate.h"

/* LLVMFuzzerTestOneInput of the fuzz targets, which are compiled under these names. */
int hostile_load(const uint8_t *data, size_t size);
int hostile_open(const uint8_t *data, size_t size);
int hostile_patch(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 13, PER_FILE = 100 };

typedef struct bytes {
  uint8_t at[MOST_BYTES + MUTATION_ROOM];
  size_t len;
} bytes;

typedef struct results {
  uint64_t files, loaded, patches, originals;
} results;

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

/* A random filter of any kind after some hundred operations, as a file; false if too large. */
static bool some_file(const subjects *all, random_stream *random, bytes *out) {
  model_counts counts = {0};
  model m = {.counts = &counts};
  memory_sink saved;
  bool fits = false;
  const subject *form = &all->list[random_below(random, all->n)];
  if (model_open(&m, form, random_next(random))) {
    model_run(&m, 20 + random_below(random, 600));
    memory_sink_init(&saved);
    model_demand(&m, besom_save(m.f, &saved.api) == BESOM_OK);
    fits = saved.len <= MOST_BYTES;
    if (fits) memcpy(out->at, saved.data, out->len = saved.len);
    memory_sink_close(&saved);
  }
  model_close(&m);
  return fits;
}

/*
 * From a heap block of exactly this length, so that the sanitizer sees a read past its end. What
 * has a wrong checksum must be refused.
 */
static bool loads(const bytes *b) {
  uint8_t *exact = heap_array(b->len, 1);
  besom_filter *f = NULL;
  memcpy(exact, b->at, b->len);
  bool ok = besom_load(exact, b->len, NULL, &f) == BESOM_OK;
  besom__container_fix_checksums(exact, b->len);
  demand(!ok || !memcmp(exact, b->at, b->len));
  besom_free(f);
  free(exact);
  return ok;
}

static void damage_files(batch request, random_stream *random, results *r) {
  static subjects all;
  static bytes original, other, damaged;
  find_subjects(&all);
  while (!some_file(&all, random, &other)) continue;
  while (r->files < request.amount) {
    if (!some_file(&all, random, &original)) continue;
    r->originals++;
    for (int i = 0; i < PER_FILE && r->files < request.amount; i++, r->files++) {
      damaged = original;
      if (random_below(random, 4) == 0) copy_bytes(&damaged, &other, random);
      bool repaired; /* `loads` compares the checksums itself */
      damaged.len = mutate_container(damaged.at, damaged.len, random, &repaired);
      r->loaded += loads(&damaged);
      hostile_load(damaged.at, damaged.len);
      hostile_open(damaged.at, damaged.len);
    }
    other = original;
  }
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

/* The first byte tells the target which filter the patch is for. */
static bool some_patch(random_stream *random, bytes *out) {
  uint8_t choice = (uint8_t)random_below(random, PATCH_KINDS);
  besom_filter *old = patch_subject(choice);
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
  besom_free(old);
  besom_free(fresh);
  return fits;
}

static void damage_patches(batch request, random_stream *random, results *r) {
  static bytes original, other, damaged;
  while (!some_patch(random, &other)) continue;
  while (r->patches < request.amount) {
    if (!some_patch(random, &original)) continue;
    r->originals++;
    for (int i = 0; i < PER_FILE && r->patches < request.amount; i++, r->patches++) {
      damaged = original;
      damage(&damaged, &other, random);
      damaged.at[0] = original.at[0];
      hostile_patch(damaged.at, damaged.len);
    }
    other = original;
  }
}

int main(int argc, char **argv) {
  batch request = batch_of(argc, argv, "--input");
  random_stream random = {mix64(request.seed)};
  results r = {0};
  if (request.row && !strcmp(request.row, "patches"))
    damage_patches(request, &random, &r);
  else
    damage_files(request, &random, &r);
  count counts[] = {{"files", r.files},
                    {"patches", r.patches},
                    {"undamaged_originals", r.originals},
                    {"loaded_in_spite_of_damage", r.loaded}};
  print_counts(counts, sizeof counts / sizeof *counts);
  return 0;
}

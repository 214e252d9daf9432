#include "layered/alternating.h"

#include "core/memory.h"

#define BATCH 256

besom_digest besom__alternating_digest(const struct alternating *a, unsigned layer,
                                       besom_digest d) {
  return layer == 0 && a->plain_first ? d : layer_digest(d, layer);
}

void besom__alternating_free(struct alternating *a) {
  while (a->n) besom_free(a->layers[--a->n]);
}

/* ------------------------------------------------------------------ building */

static void digests_at(const struct alternating *a, unsigned layer, const besom_digest *d, size_t n,
                       besom_digest *out) {
  for (size_t i = 0; i < n; i++) out[i] = besom__alternating_digest(a, layer, d[i]);
}

static besom_status insert_all(const struct alternating *a, unsigned layer, besom_filter *f,
                               const struct digests *held) {
  besom_digest batch[BATCH];
  besom_status status = BESOM_OK;
  for (uint64_t at = 0; at < held->n && status == BESOM_OK; at += BATCH) {
    size_t some = held->n - at < BATCH ? (size_t)(held->n - at) : BATCH, done;
    digests_at(a, layer, held->at + at, some, batch);
    status = f->kind->insert_many(f, batch, some, &done);
  }
  return status;
}

/* Kinds that are built need all digests at once, and may reorder them. */
static besom_status build_of_all(const struct alternating *a, const besom_filter *outer,
                                 const struct inner_kind *inner, const besom_config *config,
                                 const struct digests *held, besom_filter **out) {
  struct digests own = {.n = held->n, .room = held->n + 1};
  own.at = besom__allocate(&outer->allocator, (size_t)own.room * sizeof *own.at);
  if (!own.at) return BESOM_NO_MEMORY;
  digests_at(a, a->n, held->at, (size_t)held->n, own.at);
  besom_status status = besom__inner_build(outer, inner, config, &own, out);
  besom__digests_free(outer, &own);
  return status;
}

besom_status besom__alternating_add(struct alternating *a, const besom_filter *outer,
                                    const struct inner_kind *inner, const besom_config *config,
                                    const struct digests *held) {
  besom_filter *f;
  if (a->n == a->most) return BESOM_FULL; /* no lists come to this */
  besom_status status = inner->kind->create ? besom__inner_create(outer, inner, config, &f)
                                            : build_of_all(a, outer, inner, config, held, &f);
  if (status != BESOM_OK) return status;
  a->layers[a->n++] = f;
  return inner->kind->create ? insert_all(a, a->n - 1, f, held) : BESOM_OK;
}

void besom__alternating_keep_wrong(const struct alternating *a, struct digests *list) {
  const besom_filter *f = a->layers[a->n - 1];
  besom_digest batch[BATCH];
  uint64_t answers[BATCH / 64], kept = 0;
  for (uint64_t at = 0; at < list->n; at += BATCH) {
    size_t some = list->n - at < BATCH ? (size_t)(list->n - at) : BATCH;
    digests_at(a, a->n - 1, list->at + at, some, batch);
    f->kind->contains_many(f, batch, some, answers);
    for (size_t i = 0; i < some; i++)
      if (answers[i / 64] >> (i % 64) & 1) list->at[kept++] = list->at[at + i];
  }
  list->n = kept;
}

/* ------------------------------------------------------------------ queries */

bool besom__alternating_answer(const struct alternating *a, unsigned from, besom_digest d) {
  while (from < a->n && alternating_has(a, from, d)) from++;
  return from % 2;
}

/* Asks the layers behind the first for those of a batch that it says yes to. */
static void ask_further(const struct alternating *a, const besom_digest *d, size_t n,
                        uint64_t *bitmap) {
  besom_digest asked[BATCH];
  uint64_t answers[BATCH / 64];
  uint8_t number[BATCH];
  size_t left = 0;
  for (size_t i = 0; i < n; i++) {
    number[left] = (uint8_t)i;
    left += bitmap[i / 64] >> (i % 64) & 1;
  }
  for (unsigned layer = 1; layer <= a->n && left; layer++) {
    size_t undecided = 0;
    if (layer < a->n) {
      for (size_t i = 0; i < left; i++)
        asked[i] = besom__alternating_digest(a, layer, d[number[i]]);
      a->layers[layer]->kind->contains_many(a->layers[layer], asked, left, answers);
    } else {
      memset(answers, 0, sizeof answers); /* as if there were one more, which held nothing */
    }
    for (size_t i = 0; i < left; i++)
      if (answers[i / 64] >> (i % 64) & 1)
        number[undecided++] = number[i];
      else if (layer % 2 == 0)
        bitmap[number[i] / 64] &= ~(UINT64_C(1) << (number[i] % 64));
    left = undecided;
  }
}

/* The first layer answers most keys, so that one is asked for as many as possible at once. */
void besom__alternating_answer_many(const struct alternating *a, const besom_digest *d, size_t n,
                                    uint64_t *bitmap) {
  const besom_filter *first = a->layers[0];
  if (a->plain_first) first->kind->contains_many(first, d, n, bitmap);
  for (size_t at = 0; at < n; at += BATCH) {
    size_t some = n - at < BATCH ? n - at : BATCH;
    if (!a->plain_first) {
      besom_digest asked[BATCH];
      digests_at(a, 0, d + at, some, asked);
      first->kind->contains_many(first, asked, some, bitmap + at / 64);
    }
    if (a->n > 1) ask_further(a, d + at, some, bitmap + at / 64);
  }
}

/* ------------------------------------------------------------------ whole filters */

void besom__alternating_stats(const struct alternating *a, besom_statistics *out) {
  double now = a->n % 2, planned = now; /* the answer to a key that has come this far is yes */
  for (unsigned i = a->n; i--;) {
    besom_statistics layer = besom__inner_stats(a->layers[i], out);
    now = layer.expected_fpr * now + (1 - layer.expected_fpr) * (double)(i % 2);
    planned = layer.fpr_at_capacity * planned + (1 - layer.fpr_at_capacity) * (double)(i % 2);
  }
  out->expected_fpr = now;
  out->fpr_at_capacity = planned;
}

const char *besom__alternating_validate(const struct alternating *a) {
  for (unsigned i = 0; i < a->n; i++) {
    const char *wrong = a->layers[i]->kind->validate(a->layers[i]);
    if (wrong) return wrong;
  }
  return NULL;
}

void besom__alternating_save(const struct alternating *a, struct sections_out *out) {
  for (unsigned i = 0; i < a->n; i++) besom__inner_save(a->layers[i], out);
}

besom_status besom__alternating_load(struct alternating *a, const besom_filter *outer,
                                     struct sections_in *in, uint64_t n) {
  besom_status status = n > 0 && n <= a->most ? BESOM_OK : BESOM_CORRUPT;
  while (a->n < n && status == BESOM_OK) {
    status = besom__inner_load_built(outer, in, &a->layers[a->n]);
    if (status != BESOM_OK) break;
    const struct besom_kind *kind = a->layers[a->n++]->kind;
    if (!kind->bits_per_key || kind != a->layers[0]->kind) status = BESOM_CORRUPT;
  }
  if (status != BESOM_OK) besom__alternating_free(a);
  return status;
}

#include "layers/layer_chain.h"

#include "core/system/memory.h"

#define BATCH 256

besom_digest besom__layer_chain_digest(const struct layer_chain *chain, unsigned layer,
                                       besom_digest d) {
  return layer == 0 && chain->plain_first ? d : layer_digest(d, layer + chain->salt);
}

void besom__layer_chain_free(struct layer_chain *chain) {
  while (chain->n) besom_free(chain->layers[--chain->n]);
}

/* ------------------------------------------------------------------ building */

static void layer_chain_digests_at(const struct layer_chain *chain, unsigned layer,
                                   const besom_digest *d, size_t n, besom_digest *out) {
  for (size_t i = 0; i < n; i++) out[i] = besom__layer_chain_digest(chain, layer, d[i]);
}

static besom_status layer_chain_insert_all(const struct layer_chain *chain, unsigned layer,
                                           besom_filter *f, const struct digests *held) {
  besom_digest batch[BATCH];
  besom_status status = BESOM_OK;
  for (uint64_t at = 0; at < held->n && status == BESOM_OK; at += BATCH) {
    size_t some = held->n - at < BATCH ? (size_t)(held->n - at) : BATCH, done;
    layer_chain_digests_at(chain, layer, held->at + at, some, batch);
    status = f->kind->change->insert_many(f, batch, some, &done);
  }
  return status;
}

/* Kinds without insert are built from all digests at once, and may change them. */
static besom_status build_of_all(const struct layer_chain *chain, const besom_filter *outer,
                                 const struct layer_kind *base, const besom_config *config,
                                 const struct digests *held, besom_filter **out) {
  struct digests own = {.n = held->n, .room = held->n + 1};
  own.at = besom__allocate(&outer->allocator, own.room * sizeof *own.at);
  if (!own.at) return BESOM_NO_MEMORY;
  layer_chain_digests_at(chain, chain->n, held->at, (size_t)held->n, own.at);
  besom_status status = besom__layer_build(outer, base, config, &own, out);
  besom__digests_free(outer, &own);
  return status;
}

besom_status besom__layer_chain_add(struct layer_chain *chain, const besom_filter *outer,
                                    const struct layer_kind *base, const besom_config *config,
                                    const struct digests *held) {
  besom_filter *f;
  if (chain->n == chain->max) return BESOM_FULL; /* does not happen in practice */
  besom_status status = base->kind->create ? besom__layer_create(outer, base, config, &f)
                                           : build_of_all(chain, outer, base, config, held, &f);
  if (status != BESOM_OK) return status;
  chain->layers[chain->n++] = f;
  return base->kind->create ? layer_chain_insert_all(chain, chain->n - 1, f, held) : BESOM_OK;
}

void besom__layer_chain_keep_false_positives(const struct layer_chain *chain,
                                             struct digests *list) {
  const besom_filter *f = chain->layers[chain->n - 1];
  besom_digest batch[BATCH];
  uint64_t answers[BATCH / 64], kept = 0;
  for (uint64_t at = 0; at < list->n; at += BATCH) {
    size_t some = list->n - at < BATCH ? (size_t)(list->n - at) : BATCH;
    layer_chain_digests_at(chain, chain->n - 1, list->at + at, some, batch);
    f->kind->query.contains_many(f, batch, some, answers);
    for (size_t i = 0; i < some; i++)
      if (answers[i / 64] >> (i % 64) & 1) list->at[kept++] = list->at[at + i];
  }
  list->n = kept;
}

/* ------------------------------------------------------------------ queries */

bool besom__layer_chain_answer(const struct layer_chain *chain, unsigned from, besom_digest d) {
  while (from < chain->n && layer_chain_has(chain, from, d)) from++;
  return from % 2;
}

/* Queries the layers after the first for the keys of a batch that pass the first. */
static void query_further(const struct layer_chain *chain, const besom_digest *d, size_t n,
                          uint64_t *bitmap) {
  besom_digest asked[BATCH];
  uint64_t answers[BATCH / 64];
  uint8_t number[BATCH];
  size_t left = 0;
  for (size_t i = 0; i < n; i++) {
    number[left] = (uint8_t)i;
    left += bitmap[i / 64] >> (i % 64) & 1;
  }
  for (unsigned layer = 1; layer <= chain->n && left; layer++) {
    size_t undecided = 0;
    if (layer < chain->n) {
      for (size_t i = 0; i < left; i++)
        asked[i] = besom__layer_chain_digest(chain, layer, d[number[i]]);
      chain->layers[layer]->kind->query.contains_many(chain->layers[layer], asked, left, answers);
    } else {
      memset(answers, 0, sizeof answers); /* acts as one more layer, which is empty */
    }
    for (size_t i = 0; i < left; i++)
      if (answers[i / 64] >> (i % 64) & 1)
        number[undecided++] = number[i];
      else if (layer % 2 == 0)
        bitmap[number[i] / 64] &= ~(UINT64_C(1) << (number[i] % 64));
    left = undecided;
  }
}

/* The first layer decides most keys, so it gets as large a batch as possible. */
void besom__layer_chain_answer_many(const struct layer_chain *chain, const besom_digest *d,
                                    size_t n, uint64_t *bitmap) {
  const besom_filter *first = chain->layers[0];
  if (chain->plain_first) first->kind->query.contains_many(first, d, n, bitmap);
  for (size_t at = 0; at < n; at += BATCH) {
    size_t some = n - at < BATCH ? n - at : BATCH;
    if (!chain->plain_first) {
      besom_digest asked[BATCH];
      layer_chain_digests_at(chain, 0, d + at, some, asked);
      first->kind->query.contains_many(first, asked, some, bitmap + at / 64);
    }
    if (chain->n > 1) query_further(chain, d + at, some, bitmap + at / 64);
  }
}

/* ------------------------------------------------------------------ whole filters */

void besom__layer_chain_stats(const struct layer_chain *chain, struct stats_out *out) {
  double now = chain->n % 2, planned = now; /* P(yes) for a key that passes all layers */
  for (unsigned i = chain->n; i--;) {
    besom_statistics layer = besom__layer_stats(chain->layers[i], out);
    now = layer.expected_fpr * now + (1 - layer.expected_fpr) * (double)(i % 2);
    planned = layer.fpr_at_capacity * planned + (1 - layer.fpr_at_capacity) * (double)(i % 2);
  }
  out->common.expected_fpr = now;
  out->common.fpr_at_capacity = planned;
}

const char *besom__layer_chain_validate(const struct layer_chain *chain) {
  for (unsigned i = 0; i < chain->n; i++) {
    const char *wrong = chain->layers[i]->kind->file->validate(chain->layers[i]);
    if (wrong) return wrong;
  }
  return NULL;
}

void besom__layer_chain_save(const struct layer_chain *chain, struct sections_out *out) {
  for (unsigned i = 0; i < chain->n; i++) besom__layer_save(chain->layers[i], out);
}

besom_status besom__layer_chain_load(struct layer_chain *chain, const besom_filter *outer,
                                     struct sections_in *in, uint64_t n) {
  besom_status status = n > 0 && n <= chain->max ? BESOM_OK : BESOM_CORRUPT;
  while (chain->n < n && status == BESOM_OK) {
    status = besom__layer_load_built(outer, in, &chain->layers[chain->n]);
    if (status != BESOM_OK) break;
    const struct besom_kind *kind = chain->layers[chain->n++]->kind;
    if (!kind->bits_per_key || kind != chain->layers[0]->kind) status = BESOM_CORRUPT;
  }
  if (status != BESOM_OK) besom__layer_chain_free(chain);
  return status;
}

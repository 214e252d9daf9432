/*
 * Scoring and training: logistic regression by stochastic gradient descent, with a step size per
 * weight (AdaGrad).
 */
#include "papers/learned/key_classifier.h"

#include <math.h>

#include "core/sort.h"
#include "core/system/memory.h"

#define MIN_GRAM 2
#define MAX_GRAM 4
#define MAX_FEATURES ((CLASSIFIER_KEY_BYTES + 2) * (MAX_GRAM - MIN_GRAM + 1))
#define EPOCHS 4        /* passes over all keys */
#define STEP_SIZE 0.25f /* initial step size */
#define TICK_EVERY 4096

/* ------------------------------------------------------------------ scores */

/* The indexes of the weights of a key's n-grams. Returns their number. */
static unsigned features_of(unsigned log, const void *key, size_t len, uint32_t *out) {
  uint8_t text[CLASSIFIER_KEY_BYTES + 2];
  unsigned n = 0;
  if (len > CLASSIFIER_KEY_BYTES) len = CLASSIFIER_KEY_BYTES;
  text[0] = 2; /* start and end of text, in ASCII */
  if (len) memcpy(text + 1, key, len);
  text[len + 1] = 3;
  for (size_t i = 0; i < len + 2; i++) {
    uint32_t hash = 0;
    for (size_t k = i; k < i + MAX_GRAM && k < len + 2; k++) {
      hash = (hash + text[k] + 1) * UINT32_C(0x9e3779b1);
      hash ^= hash >> 15;
      if (k - i + 1 >= MIN_GRAM) out[n++] = hash * UINT32_C(0x85ebca77) >> (32 - log);
    }
  }
  return n;
}

int32_t besom__key_classifier_score(const struct key_classifier *m, const void *key, size_t len) {
  uint32_t features[MAX_FEATURES];
  unsigned n = features_of(m->log, key, len, features);
  int32_t score = 0;
  for (unsigned i = 0; i < n; i++) score += m->weights[features[i]];
  return score;
}

void besom__key_classifier_free(const besom_filter *f, struct key_classifier *m) {
  if (!m->borrowed) besom__release(&f->allocator, m->weights, key_classifier_bytes(m));
  m->weights = NULL;
}

/* ------------------------------------------------------------------ training */

struct training {
  unsigned log;
  float *weights;
  float *squares; /* sum of squared gradients per weight; the larger, the smaller the steps */
  /* Per key: a random number; 2 * its offset in the sample + (1 if a member). */
  besom_digest *order;
  size_t keys, room;
};

/* 1 / (1 + e^-x), with e^-x as (1 - x / 1024)^1024, which is the same on every machine. */
static float logistic(float x) {
  float power = 1 - fminf(fmaxf(x, -30), 30) / 1024;
  for (int i = 0; i < 10; i++) power *= power;
  return 1 / (1 + power);
}

static void learn_key(struct training *t, besom_bytes key, bool yes) {
  uint32_t features[MAX_FEATURES];
  unsigned n = features_of(t->log, key.data, key.len, features);
  float score = 0;
  for (unsigned i = 0; i < n; i++) score += t->weights[features[i]];
  float slope = logistic(score) - (yes ? 1.0f : 0.0f), square = slope * slope;
  for (unsigned i = 0; i < n; i++) {
    uint32_t k = features[i];
    t->squares[k] += square;
    t->weights[k] -= STEP_SIZE * slope / sqrtf(1 + t->squares[k]);
  }
}

static void order_keys(struct training *t, const struct key_sample *s, bool yes) {
  struct sampled_key k;
  for (size_t at = 0, offset = 0; besom__key_sample_next(s, &at, &k); offset = at)
    if (!key_sample_held_out(&k))
      t->order[t->keys++] = (besom_digest){k.number, 2 * (uint64_t)offset + yes};
}

static size_t classifier_count_keys(const struct key_sample *s) {
  struct sampled_key k;
  size_t n = 0;
  for (size_t at = 0; besom__key_sample_next(s, &at, &k);) n++;
  return n;
}

static besom_status learn_all(struct training *t, const struct key_sample *yes,
                              const struct key_sample *no, const besom_progress *progress) {
  for (unsigned epoch = 0; epoch < EPOCHS; epoch++)
    for (size_t i = 0; i < t->keys; i++) {
      if (i % TICK_EVERY == 0 &&
          besom__tick(progress, epoch * t->keys + i, EPOCHS * t->keys) != BESOM_OK)
        return BESOM_CANCELLED;
      bool is_yes = t->order[i].lo & 1;
      size_t at = (size_t)(t->order[i].lo / 2);
      struct sampled_key k;
      besom__key_sample_next(is_yes ? yes : no, &at, &k);
      learn_key(t, k.key, is_yes);
    }
  return BESOM_OK;
}

/* Scales the weights to integers, the largest to 127. */
static void round_weights(const struct training *t, int8_t *out) {
  size_t n = (size_t)1 << t->log;
  float largest = 1e-6f;
  for (size_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(t->weights[i]));
  for (size_t i = 0; i < n; i++) out[i] = (int8_t)lrintf(t->weights[i] / largest * 127);
}

static void training_free(const besom_filter *f, struct training *t) {
  besom__release(&f->allocator, t->weights, sizeof *t->weights << t->log);
  besom__release(&f->allocator, t->squares, sizeof *t->squares << t->log);
  besom__release(&f->allocator, t->order, (uint64_t)t->room * sizeof *t->order);
}

besom_status besom__key_classifier_train(const besom_filter *f, unsigned log,
                                         const struct key_sample *yes, const struct key_sample *no,
                                         const besom_progress *progress,
                                         struct key_classifier *out) {
  struct training t = {.log = log,
                       .room = classifier_count_keys(yes) + classifier_count_keys(no) + 1};
  struct key_classifier m = {.log = log};
  t.weights = besom__allocate(&f->allocator, sizeof *t.weights << log);
  t.squares = besom__allocate(&f->allocator, sizeof *t.squares << log);
  t.order = besom__allocate(&f->allocator, (uint64_t)t.room * sizeof *t.order);
  m.weights = besom__allocate(&f->allocator, UINT64_C(1) << log);
  besom_status status = t.weights && t.squares && t.order && m.weights ? BESOM_OK : BESOM_NO_MEMORY;
  if (status == BESOM_OK) {
    order_keys(&t, yes, true);
    order_keys(&t, no, false);
    besom__sort_digests(t.order, t.keys, 0);
    status = learn_all(&t, yes, no, progress);
  }
  if (status == BESOM_OK)
    round_weights(&t, m.weights);
  else
    besom__key_classifier_free(f, &m);
  training_free(f, &t);
  *out = m;
  return status;
}

#include "papers/adaptive_cuckoo/acf.h"

#include "core/system/memory.h"

enum { MAX_BUCKETS_SEARCHED = 2000, MAX_MATCHES = 8 };

#define TAG_SELECTORS SECTION_TAG('S', 'E', 'L', 'S')

/* ------------------------------------------------------------------ create and destroy */

/* The bytes of the selectors of buckets; 0 if the policy has none. */
static size_t selector_bytes(const struct acf *a) {
  return a->policy->layout.bucket_selector ? (size_t)(a->table.buckets + 1) / 2 : 0;
}

/* If status is OK, sets the fields that follow from the table. Selectors of buckets are 0. */
static besom_status acf_ready(besom_filter *f, besom_status status, const struct acf_policy *policy,
                              unsigned selector_bits) {
  struct acf *a = acf(f);
  if (status != BESOM_OK) return status;
  a->policy = policy;
  a->selector_bits = selector_bits;
  a->fingerprints = bits_below(a->table.width - selector_bits);
  if (!selector_bytes(a) || f->mapping) return BESOM_OK;
  a->selectors = besom__allocate(&f->allocator, selector_bytes(a));
  if (a->selectors) return BESOM_OK;
  besom__release(&f->allocator, a->table.bits, cuckoo_table_size(&a->table));
  return BESOM_NO_MEMORY;
}

besom_status besom__acf_create(besom_filter *f, const besom_config *config,
                               const struct acf_policy *policy, unsigned selector_bits) {
  besom_status status =
      besom__cuckoo_create(f, &policy->layout, config, selector_bits, &acf(f)->table);
  return acf_ready(f, status, policy, selector_bits);
}

besom_status besom__acf_create_like(besom_filter *f, const besom_filter *model) {
  const struct acf *m = const_acf(model);
  besom_status status = besom__cuckoo_table_new(f, &m->policy->layout, m->table.buckets,
                                                m->table.width, &acf(f)->table);
  return acf_ready(f, status, m->policy, m->selector_bits);
}

void besom__acf_destroy(besom_filter *f) {
  struct acf *a = acf(f);
  if (f->mapping) return;
  besom__release(&f->allocator, a->table.bits, cuckoo_table_size(&a->table));
  if (a->selectors) besom__release(&f->allocator, a->selectors, selector_bytes(a));
}

/* ------------------------------------------------------------------ the store */

static besom_match match_of(uint64_t slot) {
  return (besom_match){slot, 0};
}

besom_status besom__acf_bind(besom_filter *f, const besom_reverse *reverse) {
  if (reverse && !reverse->exchange) return BESOM_INVALID;
  acf(f)->reverse = reverse ? *reverse : (besom_reverse){0};
  return BESOM_OK;
}

besom_status besom__acf_stored(const struct acf *a, uint64_t slot, besom_digest *d) {
  besom_match match = match_of(slot);
  return a->reverse.digest_of(a->reverse.ctx, &a->head, &match, d);
}

besom_status besom__acf_exchange(const struct acf *a, uint64_t slot, uint64_t other) {
  besom_match a_match = match_of(slot), b_match = match_of(other);
  return a->reverse.exchange(a->reverse.ctx, &a->head, &a_match, &b_match);
}

/* ------------------------------------------------------------------ kicks */

struct search {
  const struct acf *filter;
  uint64_t blocked; /* the key of this slot must not move */
};

static besom_status acf_moves_from(void *ctx, uint64_t slot, uint64_t *buckets, unsigned *n) {
  const struct search *s = ctx;
  const struct acf *a = s->filter;
  besom_digest d;
  *n = 0;
  if (slot == s->blocked) return BESOM_OK;
  besom_status status = besom__acf_stored(a, slot, &d);
  if (status != BESOM_OK) return status;
  unsigned own = acf_part(a, slot);
  for (unsigned part = 0; part < a->policy->layout.buckets_per_key; part++)
    if (part != own) buckets[(*n)++] = acf_bucket(a, d, part);
  return BESOM_OK;
}

/* A path of kicks, with what is needed to do and to undo them. */
struct kicks {
  struct cuckoo_path path;
  besom_digest digests[MAX_PATH]; /* of the keys to move */
  uint64_t entries[MAX_PATH];     /* of their slots before the kicks */
};

/* Finds a path and reads the keys along it. Changes nothing. */
static besom_status plan_kicks(const struct acf *a, const uint64_t *buckets, unsigned n,
                               uint64_t blocked, struct kicks *k) {
  struct search search = {a, blocked};
  struct cuckoo_moves moves = {acf_moves_from, &search, MAX_BUCKETS_SEARCHED};
  besom_status status = besom__cuckoo_find_path(&a->table, buckets, n, &moves, &k->path);
  for (unsigned i = 0; status == BESOM_OK && i < k->path.moves; i++) {
    k->entries[i] = slot_get(&a->table, k->path.slots[i]);
    status = besom__acf_stored(a, k->path.slots[i], &k->digests[i]);
  }
  return status;
}

/* Moves one key from its slot to an empty one, in the store and in the filter. */
static besom_status move_key(struct acf *a, uint64_t from, uint64_t to, besom_digest d) {
  besom_status status = besom__acf_exchange(a, from, to);
  if (status != BESOM_OK) return status;
  slot_set(&a->table, to, acf_entry(a, d, a->policy->function(a, to, slot_get(&a->table, from))));
  slot_set(&a->table, from, 0);
  return BESOM_OK;
}

/* Filter and store agree after every single move, so no key is lost even if undoing fails. */
static void undo_kicks(struct acf *a, const struct kicks *k, unsigned from) {
  for (unsigned i = from; i < k->path.moves; i++) {
    if (besom__acf_exchange(a, k->path.slots[i + 1], k->path.slots[i]) != BESOM_OK) return;
    slot_set(&a->table, k->path.slots[i], k->entries[i]);
    slot_set(&a->table, k->path.slots[i + 1], 0);
  }
}

static besom_status do_kicks(struct acf *a, const struct kicks *k) {
  for (unsigned i = k->path.moves; i--;) {
    besom_status status = move_key(a, k->path.slots[i], k->path.slots[i + 1], k->digests[i]);
    if (status == BESOM_OK) continue;
    undo_kicks(a, k, i + 1);
    return status;
  }
  return BESOM_OK;
}

static void count_kicks(struct acf *a, const struct kicks *k) {
  a->kicks += k->path.moves;
  if (k->path.moves > a->longest_chain) a->longest_chain = k->path.moves;
}

besom_status besom__acf_move(struct acf *a, uint64_t slot, besom_digest stored,
                             const uint64_t *buckets, unsigned n) {
  struct kicks k;
  besom_status status = plan_kicks(a, buckets, n, slot, &k);
  if (status == BESOM_OK) status = do_kicks(a, &k);
  if (status != BESOM_OK) return status;
  status = move_key(a, slot, k.path.slots[0], stored);
  if (status != BESOM_OK)
    undo_kicks(a, &k, 0);
  else
    count_kicks(a, &k);
  return status;
}

/* ------------------------------------------------------------------ keys */

void besom__acf_prefetch(const besom_filter *f, besom_digest d) {
  acf_fetch_buckets(const_acf(f), d);
}

besom_status besom__acf_insert(besom_filter *f, besom_digest d) {
  (void)f, (void)d;
  return BESOM_NEEDS_STORE;
}

besom_status besom__acf_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                    size_t *done) {
  (void)f, (void)d;
  *done = 0;
  return n ? BESOM_NEEDS_STORE : BESOM_OK;
}

besom_status besom__acf_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                  besom_match *match) {
  struct acf *a = acf(f);
  uint64_t buckets[MAX_BUCKETS_PER_KEY];
  unsigned buckets_per_key = a->policy->layout.buckets_per_key;
  struct kicks k;
  if (value) return BESOM_INVALID;
  if (!a->reverse.digest_of) return BESOM_NEEDS_STORE;
  if (f->items >= f->capacity) return BESOM_FULL;
  for (unsigned part = 0; part < buckets_per_key; part++) buckets[part] = acf_bucket(a, d, part);
  besom_status status = plan_kicks(a, buckets, buckets_per_key, NO_SLOT, &k);
  if (status == BESOM_OK) status = do_kicks(a, &k);
  if (status != BESOM_OK) return status;
  uint64_t slot = k.path.slots[0];
  slot_set(&a->table, slot, acf_entry(a, d, a->policy->function(a, slot, 0)));
  *match = match_of(slot);
  count_kicks(a, &k);
  f->items++;
  return BESOM_OK;
}

/* Whether this slot is in one of the key's buckets. */
static bool is_candidate_slot(const struct acf *a, uint64_t slot, besom_digest d) {
  return slot < cuckoo_table_slots(&a->table) &&
         acf_bucket(a, d, acf_part(a, slot)) == slot / a->table.slots_per_bucket;
}

/* Whether the slot is a candidate of this digest and matches it. */
static bool holds(const struct acf *a, uint64_t slot, besom_digest d) {
  return is_candidate_slot(a, slot, d) && acf_slot_matches(a, slot, d, a->policy->function);
}

besom_status besom__acf_restore_at(besom_filter *f, besom_digest d, besom_match match) {
  struct acf *a = acf(f);
  if (match.rank || !is_candidate_slot(a, match.bucket, d) || slot_get(&a->table, match.bucket))
    return BESOM_INCOMPATIBLE;
  if (f->items >= f->capacity) return BESOM_FULL;
  slot_set(&a->table, match.bucket, acf_entry(a, d, a->policy->function(a, match.bucket, 0)));
  f->items++;
  return BESOM_OK;
}

besom_status besom__acf_remove_at(besom_filter *f, besom_match match) {
  struct cuckoo_table *t = &acf(f)->table;
  if (match.rank || match.bucket >= cuckoo_table_slots(t) || !slot_get(t, match.bucket))
    return BESOM_NOT_FOUND;
  slot_set(t, match.bucket, 0);
  f->items--;
  return BESOM_OK;
}

besom_status besom__acf_matches(const besom_filter *f, besom_digest d, besom_match *out, size_t cap,
                                size_t *total) {
  const struct acf *a = const_acf(f);
  *total = 0;
  for (unsigned part = 0; part < a->policy->layout.buckets_per_key; part++)
    for (unsigned i = 0; i < a->table.slots_per_bucket; i++) {
      uint64_t slot = acf_bucket(a, d, part) * a->table.slots_per_bucket + i;
      if (!acf_slot_matches(a, slot, d, a->policy->function)) continue;
      if (*total < cap) out[*total] = match_of(slot);
      ++*total;
    }
  return BESOM_OK;
}

/* ------------------------------------------------------------------ adapting */

static bool same(besom_digest a, besom_digest b) {
  return a.hi == b.hi && a.lo == b.lo;
}

besom_status besom__acf_adapt_at(besom_filter *f, besom_digest offender, besom_match match,
                                 besom_digest stored) {
  struct acf *a = acf(f);
  if (!a->reverse.digest_of) return BESOM_NEEDS_STORE;
  if (match.rank || !holds(a, match.bucket, stored)) return BESOM_NOT_FOUND;
  if (same(offender, stored)) return BESOM_IS_MEMBER;
  if (!holds(a, match.bucket, offender)) return BESOM_OK;
  besom_status status = a->policy->fix(a, offender, match.bucket, stored);
  a->adapted += status == BESOM_OK;
  return status;
}

/* Whether the slot still has this key: a fix moves keys, and the next one may look like it. */
static bool has_stayed(const struct acf *a, uint64_t slot, besom_digest stored) {
  besom_digest now;
  return holds(a, slot, stored) && besom__acf_stored(a, slot, &now) == BESOM_OK &&
         same(now, stored);
}

/*
 * Reads all matching stored keys before it changes the first, because one may be the reported key
 * itself. Fixing one may move another, which then has another fingerprint already. OK if at least
 * one could be fixed, also if the store fails then: after any other status nothing has changed.
 */
besom_status besom__acf_adapt(besom_filter *f, besom_digest d) {
  struct acf *a = acf(f);
  besom_match matches[MAX_MATCHES];
  besom_digest stored[MAX_MATCHES];
  size_t n, fixed = 0;
  besom_status status = BESOM_OK;
  besom__acf_matches(f, d, matches, MAX_MATCHES, &n);
  if (n && !a->reverse.digest_of) return BESOM_NEEDS_STORE;
  for (size_t i = 0; i < n; i++) {
    status = besom__acf_stored(a, matches[i].bucket, &stored[i]);
    if (status != BESOM_OK) return status;
    if (same(stored[i], d)) return BESOM_IS_MEMBER;
  }
  for (size_t i = 0; i < n; i++) {
    if (fixed && !has_stayed(a, matches[i].bucket, stored[i])) continue;
    status = besom__acf_adapt_at(f, d, matches[i], stored[i]);
    fixed += status == BESOM_OK;
    if (status != BESOM_OK && status != BESOM_FULL && status != BESOM_NOT_FOUND)
      return fixed ? BESOM_OK : status;
  }
  return n && !fixed ? BESOM_FULL : BESOM_OK;
}

/* ------------------------------------------------------------------ whole filters */

void besom__acf_stats(const besom_filter *f, struct stats_out *out) {
  const struct acf *a = const_acf(f);
  besom__cuckoo_stats(&a->policy->layout, &a->table, a->table.width - a->selector_bits,
                      &out->common);
  out->common.bytes += selector_bytes(a);
  besom__add_counter(out, "kicks", a->kicks);
  besom__add_counter(out, "longest_chain", a->longest_chain);
  besom__add_counter(out, "adapted", a->adapted);
}

const char *besom__acf_validate(const besom_filter *f) {
  const struct acf *a = const_acf(f);
  uint64_t used = 0;
  if (f->items > f->capacity) return "there are more keys than the capacity";
  for (uint64_t slot = 0; slot < cuckoo_table_slots(&a->table); slot++) {
    uint64_t entry = slot_get(&a->table, slot);
    if (entry && !(entry >> a->selector_bits)) return "an empty slot has a selector";
    used += entry != 0;
  }
  if (used != f->items) return "the number of keys is not the number of used slots";
  return besom__cuckoo_table_ends_clean(&a->table) ? NULL : "there are bits after the last slot";
}

void besom__acf_save(const besom_filter *f, struct sections_out *out) {
  const struct acf *a = const_acf(f);
  besom__cuckoo_save(&a->table, a->selector_bits, out);
  if (a->selectors) add_section(out, TAG_SELECTORS, a->selectors, selector_bytes(a));
}

/* The selectors of the buckets, of a filter whose table is ready. */
static besom_status load_selectors(besom_filter *f, struct sections_in *in) {
  struct acf *a = acf(f);
  const struct section *selectors = take_section(in, TAG_SELECTORS);
  if (!selectors || selectors->len != selector_bytes(a)) {
    besom__acf_destroy(f);
    return BESOM_CORRUPT;
  }
  if (f->mapping)
    a->selectors = (uint8_t *)(uintptr_t)selectors->data;
  else
    memcpy(a->selectors, selectors->data, selector_bytes(a));
  return BESOM_OK;
}

besom_status besom__acf_load(besom_filter *f, struct sections_in *in,
                             const struct acf_policy *policy) {
  unsigned selector_bits = 0;
  besom_status status = besom__cuckoo_load(f, &policy->layout, in, &acf(f)->table, &selector_bits);
  status = acf_ready(f, status, policy, selector_bits);
  return status == BESOM_OK && selector_bytes(acf(f)) ? load_selectors(f, in) : status;
}

const struct change_ops besom__acf_change = {
    .insert = besom__acf_insert,
    .insert_many = besom__acf_insert_many,
};

const struct adapt_ops besom__acf_reports = {.adapt = besom__acf_adapt};

const struct store_ops besom__acf_store = {
    .bind = besom__acf_bind,
    .matches = besom__acf_matches,
    .insert_at = besom__acf_insert_at,
    .restore_at = besom__acf_restore_at,
    .remove_at = besom__acf_remove_at,
    .adapt_at = besom__acf_adapt_at,
};

/*
 * yesno-dynamic: a yes list and a no list in one quotient table, exact on both, and both can change
 * at any time (Wen et al., "Adaptive Quotient Filters", 2024, section 4.3). A key of the no list
 * has a fingerprint, too, but a tagged one: it matches nothing, and determines how long the
 * extensions of members must be.
 *
 * The length rule: in a minirun every fingerprint is exactly as long as separates its key from all
 * keys of the other list there: 1 + the longest common prefix with one of them. So no fingerprint
 * of a member is a prefix of the digest of a no key. Because both sides store the bit in which they
 * differ, the common prefix of two keys can be read from the table. Only an insert must read stored
 * keys, and only if a fingerprint of the other list is a prefix of the new digest. A removal reads
 * no key.
 */
#include "core/hash.h"
#include "core/options.h"
#include "quotient/aqf/aqf.h"
#include "quotient/fingerprint/match.h"
#include "quotient/table/walk.h"

/*
 * In slots. A longer run is forged or full of copies, and comparing all pairs would take too long.
 */
#define LONGEST_CHECKED_RUN 512

/* ------------------------------------------------------------------ lengths */

static unsigned longest_extension(const struct qtable *t) {
  return t->width + MAX_EXTENSION < 128 ? MAX_EXTENSION : 128u - t->width;
}

/*
 * The extension bits that the fingerprint needs, as far as the table shows them: all, if the length
 * rule holds.
 */
static unsigned needed_bits(const struct qtable *t, const struct fingerprint *fp) {
  struct matching m = besom__minirun_start(t, fp->quotient, fp->remainder);
  unsigned needed = 0;
  while (besom__next_of_minirun(&m)) {
    if (m.fp.tagged == fp->tagged) continue;
    unsigned common = common_bits(m.fp.extension, fp->extension);
    if (common > m.fp.extension_bits) common = m.fp.extension_bits;
    if (needed <= common) needed = common + 1;
  }
  return needed;
}

static void set_extension(struct fingerprint *fp, besom_digest rest, unsigned width,
                          unsigned bits) {
  fp->extension = besom__extension_of(rest, width, bits);
  fp->extension_bits = bits;
}

/* After a removal: shortens the fingerprints of the other list to what they now need. */
static void shorten_others(struct aqf *a, const struct fingerprint *gone) {
  unsigned payload = further_payload_of(&a->base.table);
  struct matching m = besom__minirun_start(&a->base.table, gone->quotient, gone->remainder);
  while (besom__next_of_minirun(&m)) {
    if (m.fp.tagged == gone->tagged) continue;
    struct fingerprint shorter = m.fp;
    unsigned needed = needed_bits(&a->base.table, &m.fp);
    if (needed >= m.fp.extension_bits) continue;
    set_extension(&shorter, m.fp.extension, 0, needed);
    besom__aqf_rewrite(a, &m.fp, &shorter);
    unsigned closed = m.fp.slots - besom__fingerprint_slots(m.fp.count, needed, payload);
    m.next -= closed;
    m.run_end -= closed;
  }
}

/* ------------------------------------------------------------------ inserting into either list */

struct new_key {
  besom_digest digest;
  struct address address;
  bool tagged;
  uint64_t value;
  unsigned bits; /* extension bits of its fingerprint */
  /* fingerprints of the other list to extend */
  struct extension_change conflicts[MAX_EXTENSION_CHANGES];
  unsigned conflict_bits[MAX_EXTENSION_CHANGES];
  unsigned n;
};

/*
 * Compares the new key with the stored key of a fingerprint that is a prefix of its digest.
 * IS_MEMBER: they are the same key, and *where is its match.
 */
static besom_status compare_with_key(const struct aqf *a, struct new_key *x,
                                     const struct matching *m, besom_match *where) {
  const struct qtable *t = &a->base.table;
  if (x->n == MAX_EXTENSION_CHANGES) return BESOM_RESERVE_FULL;
  struct extension_change *conflict = &x->conflicts[x->n];
  conflict->match = (besom_match){bucket_of(t, m->fp.quotient, m->fp.remainder), m->rank};
  conflict->old = m->fp;
  besom_status status = besom__aqf_stored_digest(a, conflict);
  if (status != BESOM_OK) return status;
  if (conflict->stored.hi == x->digest.hi && conflict->stored.lo == x->digest.lo) {
    *where = conflict->match;
    return BESOM_IS_MEMBER;
  }
  struct address theirs = address_of(conflict->stored, t->slots);
  if (!besom__fingerprint_is_of_key(t, &m->fp, theirs)) return BESOM_INVALID;
  unsigned bits = common_bits(theirs.rest, x->address.rest) + 1 - t->width;
  /* does not occur: two digests with so long a common prefix */
  if (bits > longest_extension(t)) return BESOM_RESERVE_FULL;
  x->conflict_bits[x->n++] = bits;
  if (x->bits < bits) x->bits = bits;
  return BESOM_OK;
}

/* Compares the new key with all fingerprints of the other list in its minirun. */
static besom_status compare_with_all(const struct aqf *a, struct new_key *x, besom_match *where) {
  const struct qtable *t = &a->base.table;
  /* analysis: ctuuninitvar: add sets what is read */
  struct matching m = besom__matching_start(t, x->digest);
  besom_digest all = besom__extension_of(m.address.rest, t->width, longest_extension(t));
  besom_status status = BESOM_OK;
  x->address = m.address;
  while (status == BESOM_OK && besom__next_of_minirun(&m)) {
    if (m.fp.tagged == x->tagged) continue;
    if (besom__fingerprint_is_prefix(&m.fp, m.address.rest, t->width)) {
      status = compare_with_key(a, x, &m, where);
    } else {
      unsigned common = common_bits(m.fp.extension, all);
      if (x->bits <= common) x->bits = common + 1;
    }
  }
  return status;
}

static bool fits_in_reserve(const struct aqf *a, const struct new_key *x) {
  unsigned payload = further_payload_of(&a->base.table);
  uint64_t more = besom__fingerprint_slots(1, x->bits, payload) - 1;
  for (unsigned i = 0; i < x->n; i++) {
    const struct fingerprint *conflict = &x->conflicts[i].old;
    more +=
        besom__fingerprint_slots(conflict->count, x->conflict_bits[i], payload) - conflict->slots;
  }
  return a->counters.slots + more <= besom__aqf_reserve(a);
}

static besom_status extend_conflicts(struct aqf *a, const struct new_key *x) {
  const struct qtable *t = &a->base.table;
  besom_status status = BESOM_OK;
  for (unsigned done = 0; done < x->n; done++) {
    struct fingerprint now, longer;
    besom__locate_match(t, x->conflicts[done].match, &now);
    longer = now;
    set_extension(&longer, address_of(x->conflicts[done].stored, t->slots).rest, t->width,
                  x->conflict_bits[done]);
    status = besom__aqf_rewrite(a, &now, &longer);
    if (status == BESOM_OK) continue;
    besom__aqf_undo_changes(a, x->conflicts, done);
    break;
  }
  return status;
}

static besom_status write_new_key(struct aqf *a, const struct new_key *x) {
  struct qtable *t = &a->base.table;
  besom_status status = t->ops->insert(t, x->digest, NULL);
  if (status != BESOM_OK) return status;
  struct fingerprint plain = besom__aqf_last_of_run(a, x->digest), own = plain;
  own.tagged = x->tagged;
  own.value = x->value;
  set_extension(&own, x->address.rest, t->width, x->bits);
  status = besom__aqf_rewrite(a, &plain, &own);
  if (status == BESOM_OK) status = extend_conflicts(a, x);
  if (status == BESOM_OK) return BESOM_OK;
  /* the conflicts are restored, so that it has not moved */
  own = besom__fingerprint_read(t, plain.quotient, plain.position);
  besom__aqf_delete(a, &own);
  return status;
}

static besom_status yesno_dynamic_add(struct aqf *a, besom_digest d, bool tagged, uint64_t value,
                                      besom_match *match) {
  const struct qtable *t = &a->base.table;
  struct new_key x;
  x.digest = d;
  x.tagged = tagged;
  x.value = value;
  x.bits = x.n = 0;
  if (!has_buckets(t)) return BESOM_INVALID;
  besom_status status = compare_with_all(a, &x, match);
  if (status == BESOM_OK && member_slots(a) >= a->base.head.capacity) status = BESOM_FULL;
  if (status == BESOM_OK)
    status = fits_in_reserve(a, &x) ? write_new_key(a, &x) : BESOM_RESERVE_FULL;
  if (status != BESOM_OK) return status;
  uint64_t remainder = remainder_of(x.address, t->width);
  *match = (besom_match){bucket_of(t, x.address.quotient, remainder),
                         besom__last_rank(t, x.address.quotient, remainder)};
  return BESOM_OK;
}

/* ------------------------------------------------------------------ in front of a store */

static bool is_bound(const struct aqf *a) {
  return a->reverse.digest_of;
}

static besom_status yesno_dynamic_insert_at(besom_filter *f, besom_digest d, uint64_t value,
                                            besom_match *match) {
  struct aqf *a = aqf(f);
  if (value >> own_value_bits(&a->base.table)) return BESOM_INVALID;
  if (a->counters.no_entries && !is_bound(a)) return BESOM_NEEDS_STORE;
  besom_status status = yesno_dynamic_add(a, d, false, value, match);
  f->items += status == BESOM_OK;
  return status;
}

static besom_status yesno_dynamic_no_add_at(besom_filter *f, besom_digest d, besom_match *match) {
  return is_bound(aqf(f)) ? yesno_dynamic_add(aqf(f), d, true, 0, match) : BESOM_NEEDS_STORE;
}

static besom_status delete_at(struct aqf *a, besom_match match, bool tagged) {
  struct fingerprint fp;
  if (!besom__locate_match(&a->base.table, match, &fp) || fp.tagged != tagged)
    return BESOM_NOT_FOUND;
  bool others = a->counters.no_entries;
  besom__aqf_delete(a, &fp);
  a->base.head.items -= is_member(&fp) ? fp.count : 0;
  if (others) shorten_others(a, &fp);
  return BESOM_OK;
}

static besom_status yesno_dynamic_remove_at(besom_filter *f, besom_match match) {
  return delete_at(aqf(f), match, false);
}

static besom_status yesno_dynamic_no_remove_at(besom_filter *f, besom_match match) {
  return delete_at(aqf(f), match, true);
}

static besom_status yesno_dynamic_no_matches(const besom_filter *f, besom_digest d,
                                             besom_match *out, size_t cap, size_t *total) {
  const struct qtable *t = &const_quotient_filter(f)->table;
  *total = 0;
  if (!has_buckets(t)) return BESOM_INVALID;
  struct matching m = besom__matching_start(t, d);
  while (besom__next_of_minirun(&m)) {
    if (!m.fp.tagged || !besom__fingerprint_is_prefix(&m.fp, m.address.rest, t->width)) continue;
    if (*total < cap)
      out[*total] = (besom_match){bucket_of(t, m.fp.quotient, m.fp.remainder), m.rank};
    ++*total;
  }
  return BESOM_OK;
}

/* ------------------------------------------------------------------ without a store */

/* While the no list is empty, the filter is a plain aqf and can be used without a store. */
static besom_status yesno_dynamic_insert(besom_filter *f, besom_digest d) {
  return aqf(f)->counters.no_entries ? BESOM_NEEDS_STORE : besom__aqf.change->insert(f, d);
}

static besom_status yesno_dynamic_insert_many(besom_filter *f, const besom_digest *d, size_t n,
                                              size_t *done) {
  *done = 0;
  return aqf(f)->counters.no_entries ? BESOM_NEEDS_STORE
                                     : besom__aqf.change->insert_many(f, d, n, done);
}

static besom_status yesno_dynamic_insert_count(besom_filter *f, besom_digest d, uint64_t n) {
  return aqf(f)->counters.no_entries ? BESOM_NEEDS_STORE : besom__aqf.change->insert_count(f, d, n);
}

static besom_status yesno_dynamic_remove(besom_filter *f, besom_digest d) {
  return aqf(f)->counters.no_entries ? BESOM_NEEDS_STORE : besom__aqf_remove(f, d);
}

/* ------------------------------------------------------------------ creating */

static besom_status yesno_dynamic_create(besom_filter *f, const besom_config *config) {
  besom_status status =
      besom__option_isa(&f->kind->options, config->options, &quotient_filter(f)->isa);
  return status == BESOM_OK ? besom__aqf_make(f, config, TAGS) : status;
}

/* ------------------------------------------------------------------ merging */

/* A minirun of two filters that are merged: the keys of the first, then those of the second. */
struct joint_minirun {
  const struct aqf *from[2];
  uint64_t quotient, remainder;
  struct address keys[MAX_EXTENSION_CHANGES];
  bool tagged[MAX_EXTENSION_CHANGES];
  unsigned n;
};

/* Reads the keys of one filter's minirun. */
static besom_status yesno_dynamic_read_keys(struct joint_minirun *j, const struct aqf *from) {
  const struct qtable *t = &from->base.table;
  struct matching m = besom__minirun_start(t, j->quotient, j->remainder);
  for (; besom__next_of_minirun(&m); j->n++) {
    if (!is_bound(from)) return BESOM_NEEDS_STORE;
    if (j->n == MAX_EXTENSION_CHANGES) return BESOM_RESERVE_FULL;
    struct extension_change key = {.match = {bucket_of(t, j->quotient, j->remainder), m.rank}};
    besom_status status = besom__aqf_stored_digest(from, &key);
    if (status != BESOM_OK) return status;
    j->keys[j->n] = address_of(key.stored, t->slots);
    j->tagged[j->n] = m.fp.tagged;
    if (!besom__fingerprint_is_of_key(t, &m.fp, j->keys[j->n])) return BESOM_INVALID;
  }
  return BESOM_OK;
}

/* The extension bits that the i-th key needs. FULL, IS_MEMBER: as for an insert. */
static besom_status needed_by_keys(const struct joint_minirun *j, unsigned i,
                                   const struct qtable *t, unsigned *needed) {
  *needed = 0;
  for (unsigned k = 0; k < j->n; k++) {
    if (j->tagged[k] == j->tagged[i]) continue;
    unsigned common = common_bits(j->keys[k].rest, j->keys[i].rest);
    if (common >= 128) return BESOM_IS_MEMBER;
    if (common + 1 - t->width > *needed) *needed = common + 1 - t->width;
  }
  return *needed > longest_extension(t) ? BESOM_RESERVE_FULL : BESOM_OK;
}

/* Gives the fingerprints of a merged minirun the extensions that they need. */
static besom_status join(struct aqf *into, struct joint_minirun *j) {
  const struct qtable *t = &into->base.table;
  j->n = 0;
  besom_status status = yesno_dynamic_read_keys(j, j->from[0]);
  if (status == BESOM_OK) status = yesno_dynamic_read_keys(j, j->from[1]);
  for (unsigned i = 0; i < j->n && status == BESOM_OK; i++) {
    unsigned needed;
    struct fingerprint now, longer;
    status = needed_by_keys(j, i, t, &needed);
    if (status != BESOM_OK) break;
    besom__locate_match(t, (besom_match){bucket_of(t, j->quotient, j->remainder), i}, &now);
    longer = now;
    set_extension(&longer, j->keys[i].rest, t->width, needed);
    status = besom__aqf_rewrite(into, &now, &longer);
  }
  return status;
}

static bool has_both_lists(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  struct matching m = besom__minirun_start(t, quotient, remainder);
  bool has[2] = {false, false};
  while (besom__next_of_minirun(&m)) has[m.fp.tagged] = true;
  return has[false] && has[true];
}

/*
 * Keys are read only for miniruns in which both lists meet. Visits each minirun once: at its first
 * fingerprint in the second filter.
 */
static besom_status yesno_dynamic_merge(const besom_filter *a, const besom_filter *b,
                                        besom_filter *into) {
  struct aqf *out = aqf(into);
  struct joint_minirun j = {.from = {const_aqf(a), const_aqf(b)}};
  struct qtable_cursor c;
  besom_status status = besom__aqf_merge(a, b, into);
  if (status != BESOM_OK || !out->counters.no_entries || !has_buckets(&out->base.table))
    return status;
  besom__qtable_first(&j.from[1]->base.table, &c);
  while (status == BESOM_OK && besom__qtable_next(&c)) {
    uint64_t last;
    struct run run = run_of(c.table, c.quotient);
    bool first = c.table->ops->next_equal(c.table, run.start, run.end, c.remainder) == c.position;
    j.quotient = c.quotient;
    j.remainder = c.remainder;
    bool met = first && c.table->ops->find(&j.from[0]->base.table, c.quotient, c.remainder, &last);
    if (met && has_both_lists(&out->base.table, c.quotient, c.remainder)) status = join(out, &j);
  }
  return status == BESOM_OK && out->counters.slots > besom__aqf_reserve(out) ? BESOM_RESERVE_FULL
                                                                             : status;
}

/* ------------------------------------------------------------------ checking and files */

static const char *check_lengths(const struct qtable *t) {
  struct qtable_cursor c;
  besom__qtable_first(t, &c);
  while (besom__qtable_next(&c)) {
    struct fingerprint fp = besom__fingerprint_read(t, c.quotient, c.position);
    if (fp.tagged && (fp.count > 1 || fp.value)) return "a no entry has a count or a value";
    struct run run = run_of(t, c.quotient);
    if (run.end - run.start > LONGEST_CHECKED_RUN) continue;
    if (needed_bits(t, &fp) != fp.extension_bits)
      return "a fingerprint does not have the length that the other list requires";
  }
  return NULL;
}

static const char *yesno_dynamic_validate(const besom_filter *f) {
  const struct aqf *a = const_aqf(f);
  const char *wrong = besom__aqf_validate(f);
  return wrong || !a->base.table.extended ? wrong : check_lengths(&a->base.table);
}

static void yesno_dynamic_save(const besom_filter *f, struct sections_out *out) {
  besom__aqf_save(f, out);
  besom__write_u64(&out->parameters, const_aqf(f)->counters.no_entries);
}

static besom_status yesno_dynamic_load(besom_filter *f, struct sections_in *in) {
  struct aqf *a = aqf(f);
  besom_status status = besom__aqf_load_coded(f, in, TAGS);
  if (status != BESOM_OK) return status;
  a->counters.no_entries = besom__read_u64(&in->parameters);
  if (a->counters.no_entries <= a->base.table.extended && !a->options.keep_tombstones)
    return BESOM_OK;
  besom__quotient_destroy(f);
  return BESOM_CORRUPT;
}

const struct besom_kind besom__yesno_dynamic = {
    .name = "yesno-dynamic",
    .summary =
        "quotient filter of a yes list and a no list with a store: exact on both, both can change",
    .size = sizeof(struct aqf),
    .options = ISA_ONLY,
    .refuses_set = true,
    .takes_repeats = true,
    .create = yesno_dynamic_create,
    .create_like = besom__aqf_create_like,
    .destroy = besom__quotient_destroy,
    .stats = besom__aqf_stats,
    .query = {.calls = besom__aqf_query_calls,
              .prefix_bits = besom__aqf_prefix_bits,
              .contains = besom__aqf_contains,
              .contains_many = besom__aqf_contains_many,
              .prefetch = besom__quotient_prefetch,
              .count = besom__aqf_count,
              .get_value = besom__aqf_get_value},
    .change = &(const struct change_ops){.insert = yesno_dynamic_insert,
                                         .insert_many = yesno_dynamic_insert_many,
                                         .insert_count = yesno_dynamic_insert_count,
                                         .remove = yesno_dynamic_remove,
                                         .set_value = besom__aqf_set_value},
    .adapt = &(const struct adapt_ops){.exception_slots = besom__aqf_exception_slots},
    .store = &(const struct store_ops){.bind = besom__aqf_bind,
                                       .matches = besom__aqf_matches,
                                       .insert_at = yesno_dynamic_insert_at,
                                       .remove_at = yesno_dynamic_remove_at,
                                       .no_matches = yesno_dynamic_no_matches,
                                       .no_add_at = yesno_dynamic_no_add_at,
                                       .no_remove_at = yesno_dynamic_no_remove_at},
    .whole = &(const struct whole_ops){.merge = yesno_dynamic_merge,
                                       .resize_start = besom__aqf_resize_start,
                                       .resize_step = besom__aqf_resize_step,
                                       .append = besom__quotient_append_counts,
                                       .parts = &besom__quotient_counts_in_parts,
                                       .iter_start = besom__quotient_iter_start,
                                       .iter_next = besom__quotient_iter_next},
    .file = &(const struct file_ops){.validate = yesno_dynamic_validate,
                                     .save = yesno_dynamic_save,
                                     .load = yesno_dynamic_load},
};

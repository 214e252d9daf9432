#include "quotient/fingerprint/match.h"

#include "quotient/table/walk.h"

struct matching besom__minirun_start(const struct qtable *t, uint64_t quotient,
                                     uint64_t remainder) {
  struct run run = t->ops->run_of(t, quotient);
  return (struct matching){.table = t,
                           .address.quotient = quotient,
                           .remainder = remainder,
                           .next = run.start,
                           .run_end = run.end};
}

struct matching besom__matching_start(const struct qtable *t, besom_digest d) {
  struct address address = address_of(d, t->slots);
  struct matching m = besom__minirun_start(t, address.quotient, remainder_of(address, t->width));
  m.address = address;
  return m;
}

/* The next fingerprint with the remainder, including tombstones. */
ALWAYS_INLINE bool next_in_run(struct matching *m) {
  uint64_t position = m->table->ops->next_equal(m->table, m->next, m->run_end, m->remainder);
  if (position >= m->run_end) return false;
  m->fp = besom__fingerprint_read(m->table, m->address.quotient, position);
  m->next = position + m->fp.slots;
  m->rank = m->next_rank;
  m->next_rank += m->fp.count > 0;
  return true;
}

bool besom__next_of_minirun(struct matching *m) {
  return next_in_run(m);
}

bool besom__next_match(struct matching *m) {
  while (next_in_run(m))
    if (besom__fingerprint_matches(&m->fp, m->address.rest, m->table->width)) return true;
  return false;
}

bool besom__find_tombstone(const struct qtable *t, besom_digest d, struct fingerprint *longest) {
  struct matching m = besom__matching_start(t, d);
  bool found = false;
  while (next_in_run(&m)) {
    if (m.fp.count || !besom__fingerprint_is_prefix(&m.fp, m.address.rest, t->width)) continue;
    if (!found || m.fp.extension_bits > longest->extension_bits) *longest = m.fp;
    found = true;
  }
  return found;
}

uint32_t besom__last_rank(const struct qtable *t, uint64_t quotient, uint64_t remainder) {
  struct matching m = besom__minirun_start(t, quotient, remainder);
  while (next_in_run(&m)) continue;
  return m.next_rank - 1;
}

bool besom__locate_match(const struct qtable *t, besom_match match, struct fingerprint *fp) {
  if (!has_buckets(t) || match.bucket >> t->width >= t->slots) return false;
  struct matching m =
      besom__minirun_start(t, match.bucket >> t->width, match.bucket & bits_below(t->width));
  while (next_in_run(&m))
    if (m.rank == match.rank && m.fp.count) {
      *fp = m.fp;
      return true;
    }
  return false;
}

/* ------------------------------------------------------------------ extending */

bool besom__fingerprint_is_of_key(const struct qtable *t, const struct fingerprint *fp,
                                  struct address key) {
  return key.quotient == fp->quotient && remainder_of(key, t->width) == fp->remainder &&
         besom__fingerprint_is_prefix(fp, key.rest, t->width);
}

besom_status besom__fingerprint_extend(const struct qtable *t, const struct fingerprint *fp,
                                       besom_digest offender, besom_digest stored,
                                       struct fingerprint *out) {
  struct address mine = address_of(stored, t->slots), other = address_of(offender, t->slots);
  if (!besom__fingerprint_is_of_key(t, fp, mine)) return BESOM_INVALID;
  if (offender.hi == stored.hi && offender.lo == stored.lo) return BESOM_IS_MEMBER;
  *out = *fp;
  if (other.quotient != fp->quotient || !besom__fingerprint_matches(fp, other.rest, t->width))
    return BESOM_OK;
  unsigned common = common_bits(mine.rest, other.rest);
  if (common < t->width) return BESOM_OK;
  unsigned bits = common + 1 - t->width;
  /* does not occur: two digests with so long a common prefix */
  if (bits > MAX_EXTENSION || common >= 128) return BESOM_FULL;
  out->extension_bits = besom__fingerprint_stretch(fp->count, bits, further_payload_of(t));
  if (out->extension_bits > 128u - t->width) out->extension_bits = 128u - t->width;
  out->extension = besom__extension_of(mine.rest, t->width, out->extension_bits);
  return BESOM_OK;
}

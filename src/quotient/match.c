#include "quotient/match.h"

#include "quotient/walk.h"

struct matching besom__matching_start(const struct qtable *t, besom_digest d) {
  struct address address = address_of(d, t->slots);
  struct run run = run_of(t, address.quotient);
  return (struct matching){.table = t,
                           .address = address,
                           .remainder = remainder_of(address, t->width),
                           .next = run.start,
                           .run_end = run.end};
}

bool besom__next_match(struct matching *m) {
  for (;;) {
    uint64_t position = next_equal(m->table, m->next, m->run_end, m->remainder);
    if (position >= m->run_end) return false;
    m->fp = besom__long_read(m->table, m->address.quotient, position);
    m->next = position + m->fp.slots;
    m->rank = m->next_rank++;
    if (besom__long_matches(&m->fp, m->address.rest, m->table->width)) return true;
  }
}

bool besom__locate_match(const struct qtable *t, besom_match match, struct long_fingerprint *fp) {
  if (!has_buckets(t) || match.bucket >> t->width >= t->slots) return false;
  uint64_t quotient = match.bucket >> t->width, remainder = match.bucket & bits_below(t->width);
  struct run run = run_of(t, quotient);
  uint64_t position = next_equal(t, run.start, run.end, remainder);
  for (uint32_t rank = 0; rank < match.rank && position < run.end; rank++)
    position = next_equal(t, position + 1, run.end, remainder);
  if (position >= run.end) return false;
  *fp = besom__long_read(t, quotient, position);
  return true;
}

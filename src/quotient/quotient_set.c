/* Merging two quotient filters that are sets: a fingerprint that both have is kept once. */
#include "quotient/fingerprint/match.h"
#include "quotient/quotient_filter.h"
#include "quotient/table/cursor.h"

/* The fingerprints of one table, in the order of their quotients. */
struct set_side {
  struct qtable_cursor cursor;
  bool more;
};

static struct set_side set_side_start(const besom_filter *f) {
  struct set_side side;
  besom__qtable_first(&const_quotient_filter(f)->table, &side.cursor);
  side.more = besom__qtable_next(&side.cursor);
  return side;
}

static bool set_side_is_behind(const struct set_side *side, const struct set_side *other) {
  return !side->more || (other->more && other->cursor.quotient < side->cursor.quotient);
}

/* In a set, equal quotients and remainders are equal fingerprints. */
static bool set_has_fingerprint(const besom_filter *f, const struct fingerprint *fp) {
  struct matching m =
      besom__minirun_start(&const_quotient_filter(f)->table, fp->quotient, fp->remainder);
  return besom__next_of_minirun(&m);
}

/* Appends the fingerprint that the side is at, and moves on. skip: not those of this filter. */
static besom_status set_side_take(struct set_side *side, const besom_filter *skip,
                                  besom_filter *into, struct qtable_appender *out) {
  struct fingerprint fp =
      besom__fingerprint_read(side->cursor.table, side->cursor.quotient, side->cursor.position);
  besom_status status = BESOM_OK;
  if (!skip || !set_has_fingerprint(skip, &fp)) {
    status = besom__fingerprint_append(out, &fp);
    into->items += fp.count;
  }
  side->more = besom__qtable_next(&side->cursor);
  return status;
}

besom_status besom__quotient_set_merge(const besom_filter *a, const besom_filter *b,
                                       besom_filter *into) {
  struct qtable *t = &quotient_filter(into)->table;
  struct qtable_appender out = qtable_append_start(t);
  struct set_side x = set_side_start(a), y = set_side_start(b);
  besom_status status = BESOM_OK;
  while (status == BESOM_OK && (x.more || y.more))
    status = set_side_is_behind(&x, &y) ? set_side_take(&y, a, into, &out)
                                        : set_side_take(&x, NULL, into, &out);
  qtable_append_finish(&out, t);
  return status == BESOM_OK && t->used > into->capacity ? BESOM_FULL : status;
}

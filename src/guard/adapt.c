/* False positives: remembering them, counting the worst, adapting the filter, and leaving all that to the writer. */
#include "guard/guard.h"

/* ------------------------------------------------------------------ who it was */

static struct offence offence_of(const struct lookup *l) {
  besom_bytes key = l->key->bytes;
  struct offence o = {.digest = l->digest, .epoch = l->side->epoch, .len = (uint32_t)key.len};
  size_t some = key.len < sizeof o.key ? key.len : sizeof o.key;
  if (some) memcpy(o.key, key.data, some);
  return o;
}

/* Keys that begin alike and are of one length have one name; whoever shows keys shows no more of them. */
static uint64_t name_of(const struct offence *o) {
  return besom__checksum(o->key, sizeof o->key) + o->len;
}

/*
 * Space saving (Metwally et al. 2005): who is not on the list takes the place of the one with the lowest count, and
 * its count, too, as the error that the own one may have. Who came more often than all / OFFENDERS is on it.
 */
static void count_offender(besom_guard *g, const struct offence *o) {
  uint64_t name = name_of(o);
  struct offender *place = &g->offenders[0];
  for (struct offender *x = g->offenders; x < g->offenders + OFFENDERS; x++) {
    if (x->told.count && x->name == name) {
      x->told.count++;
      return;
    }
    if (x->told.count < place->told.count) place = x;
  }
  place->name = name;
  place->told =
      (besom_offender){.count = place->told.count + 1, .error = place->told.count, .len = o->len};
  memcpy(place->told.key, o->key, sizeof o->key);
}

/*
 * Notes a false positive, and tells whether the key was noted before. Each key has one place, and the last to come has
 * it: so some of those who come round and round are caught in every round, however many they are, where a
 * queue that is too short would catch none.
 */
static bool seen_before(besom_guard *g, besom_digest offender) {
  uint64_t *place = &g->offences[offender.lo >> (64 - MEMORY_BITS)];
  bool seen = *place == offender.lo;
  *place = offender.lo;
  return seen;
}

/* Takes it into the books, and tells whether to adapt. */
static bool worth_adapting(besom_guard *g, const struct offence *o) {
  bool again = seen_before(g, o->digest);
  count(g, &g->stats.repeated_false_positives, again);
  count_offender(g, o);
  return g->adapt == BESOM_ADAPT_ALWAYS || (g->adapt == BESOM_ADAPT_SECOND && again);
}

/* ------------------------------------------------------------------ adapting */

static void look_at_room(besom_guard *g, const besom_filter *f) {
  besom_statistics stats;
  if (g->rekey_at > 1 || besom_stats(f, &stats) != BESOM_OK) return;
  if (stats.reserve_used >= g->rekey_at) g->rekey_wanted = true;
}

/* The reserve is used up. A filter without a reserve of its own says FULL. */
static bool is_reserve_full(besom_status status) {
  return status == BESOM_RESERVE_FULL || status == BESOM_FULL;
}

/* Two keys of one digest we just told apart, as no filter can; and one may move as others adapt. */
static besom_status adapt_to_refuted(struct lookup *l) {
  besom_guard *g = l->guard;
  for (size_t i = 0; i < l->refuted; i++) {
    besom_status status = besom_adapt_at(l->side->filter, l->digest, l->matches[i], l->stored[i]);
    if (status == BESOM_OK)
      count(g, &g->stats.adapted, 1);
    else if (is_reserve_full(status))
      count(g, &g->stats.adapt_full, 1);
    else if (status != BESOM_IS_MEMBER && status != BESOM_NOT_FOUND)
      return status;
    if (is_reserve_full(status) && g->rekey_at <= 1) g->rekey_wanted = true;
  }
  if (l->refuted) look_at_room(g, l->side->filter);
  return BESOM_OK;
}

/* Kinds that move records change the store when they adapt. */
static besom_status adapt_filter(struct lookup *l) {
  besom_guard *g = l->guard;
  if (moves_records(g) && g->transactional) {
    besom_status status = besom__change_begin(g);
    return status == BESOM_OK ? besom__change_end(g, adapt_to_refuted(l), durable_work(g)) : status;
  }
  lock_write(g);
  besom_status status = adapt_to_refuted(l);
  unlock(g);
  return status;
}

besom_status besom__guard_adapt(struct lookup *l) {
  struct offence o = offence_of(l);
  return worth_adapting(l->guard, &o) ? adapt_filter(l) : BESOM_OK;
}

/* ------------------------------------------------------------------ readers and the writer */

void besom__guard_queue(struct lookup *l) {
  besom_guard *g = l->guard;
  lock_queue(g);
  bool room = g->queue_n < QUEUE_LENGTH;
  if (room) g->queue[(g->queue_first + g->queue_n++) % QUEUE_LENGTH] = offence_of(l);
  unlock_queue(g);
  count(g, room ? &g->stats.queued : &g->stats.queue_drops, 1);
}

static bool next_queued(besom_guard *g, struct offence *o) {
  lock_queue(g);
  bool any = g->queue_n;
  if (any) {
    *o = g->queue[g->queue_first];
    g->queue_first = (g->queue_first + 1) % QUEUE_LENGTH;
    g->queue_n--;
  }
  unlock_queue(g);
  return any;
}

/* Things may have changed since the reader looked: the key may be there by now, or others behind its matches. */
static besom_status adapt_again(besom_guard *g, const struct offence *o) {
  const struct side *side = g->next.filter && o->epoch == g->next.epoch ? &g->next : &g->now;
  struct lookup l;
  if (side->epoch != o->epoch) return BESOM_OK; /* of a hash key that is gone */
  besom_status status = besom__lookup_digest(&l, g, side, o->digest);
  if (status != BESOM_OK) return status;
  status = besom__lookup_lists(&l, &g->stats.filter_reads);
  if (status == BESOM_OK && !l.found && l.refuted) status = adapt_filter(&l);
  besom__lookup_end(&l);
  return status;
}

besom_status besom__guard_apply_queue(besom_guard *g) {
  struct offence o;
  besom_status status = BESOM_OK;
  if (!g->locks) return BESOM_OK;
  for (size_t i = 0; i < QUEUE_LENGTH && status == BESOM_OK && next_queued(g, &o); i++) {
    lock_queue(g); /* readers may ask for offenders */
    bool worth = worth_adapting(g, &o);
    unlock_queue(g);
    if (worth) status = adapt_again(g, &o);
  }
  return status;
}

#include "race.h"

#include <stdlib.h>

#include "besom_store.h"
#include "kinds.h"
#include "random.h"
#include "zipf.h"

/*
 * In front of a store: ORDINARY and PLANNED filters get no reports, which shows what a filter that
 * does not adapt costs. REPORTED filters do. GUARD filters find the stored keys of their matches.
 */
enum role { ORDINARY, PLANNED, REPORTED, GUARD };

static const struct contender_kind {
  const char *kind;
  enum role role;
} KINDS[] = {
    {"bloom", ORDINARY},  {"cf", ORDINARY}, {"qf", ORDINARY}, {"stacked", PLANNED},
    {"cached", REPORTED}, {"taf", GUARD},   {"aqf", GUARD},
};
enum { FILTERS = sizeof KINDS / sizeof *KINDS, MEMBER_QUERIES_PER_TEN = 1, LAYERS = 3 };

/* Streams of random numbers. */
enum { MEMBERS = 1, TURNS, RANKS, CHOICES, PAST_RANKS, HASHES };

struct contender {
  const struct contender_kind *kind;
  besom_filter *filter; /* NULL if it has a guard */
  besom_guard *guard;
  race_numbers numbers;
  uint8_t *reported; /* a bit per absent key */
  uint32_t *found;   /* false positives in the order of their discovery: what the adversary knows */
  uint64_t found_count, replayed;
};

struct race {
  race_setup setup;
  zipf popularity;
  uint64_t next; /* number of the next query */
  uint8_t seed[16];
  struct contender contenders[FILTERS];
};

/* -------------------------------------------------------------- keys and queries */

static uint64_t stream(const race *r, unsigned purpose) {
  return random_at(r->setup.seed, purpose);
}

/* random_at is a bijection, so that members and absent keys are distinct. */
static uint64_t member_key(const race *r, uint64_t i) {
  return random_at(stream(r, MEMBERS), 2 * i);
}

static uint64_t absent_key(const race *r, uint64_t i) {
  return random_at(stream(r, MEMBERS), 2 * i + 1);
}

enum asker { MEMBER, CLIENT, ADVERSARY };

struct query {
  enum asker asker;
  uint64_t number; /* of the member or the absent key; of the adversary: if it knows no key */
};

static struct query query_at(const race *r, uint64_t i) {
  uint64_t choice = random_at(stream(r, CHOICES), i);
  if (random_below(random_at(stream(r, TURNS), 2 * i), 10) < MEMBER_QUERIES_PER_TEN)
    return (struct query){MEMBER, random_below(choice, r->setup.members)};
  if (random_unit(random_at(stream(r, TURNS), 2 * i + 1)) < r->setup.attack)
    return (struct query){ADVERSARY, random_below(choice, r->setup.universe)};
  return (struct query){CLIENT, zipf_rank(&r->popularity, random_at(stream(r, RANKS), i)) - 1};
}

/* -------------------------------------------------------------- sources for besom_build */

/* Members, or past queries with their counts. */
struct key_source {
  const race *race;
  const uint32_t *counts; /* of past queries per absent key; NULL: members */
  uint64_t n, at;
  besom_u64_key key;
};

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct key_source *s = ctx;
  while (s->counts && s->at < s->n && !s->counts[s->at]) s->at++;
  if (s->at == s->n) return BESOM_END;
  uint64_t i = s->at++;
  if (s->counts) *weight = s->counts[i];
  s->key = besom_u64(s->counts ? absent_key(s->race, i) : member_key(s->race, i));
  *key = (besom_bytes){s->key.bytes, sizeof s->key.bytes};
  return BESOM_OK;
}

static besom_status rewind_keys(void *ctx) {
  ((struct key_source *)ctx)->at = 0;
  return BESOM_OK;
}

static besom_source source_of(struct key_source *s) {
  return (besom_source){next_key, rewind_keys, s->counts ? 0 : s->n, s};
}

/* Counts the past queries of clients per absent key. NULL if there is no memory. */
static uint32_t *count_past_queries(const race *r) {
  uint32_t *counts = calloc(r->setup.universe, sizeof *counts);
  for (uint64_t i = 0; counts && i < r->setup.past_queries; i++)
    counts[zipf_rank(&r->popularity, random_at(stream(r, PAST_RANKS), i)) - 1]++;
  return counts;
}

/* -------------------------------------------------------------- making the filters */

/*
 * Structs are not part of the budget: they have another size in WebAssembly, where a pointer has 32
 * bits, and tables of different sizes could not be compared. Stacks have at most three layers.
 */
static double bits_of_structs(const struct contender_kind *kind) {
  double bytes = (double)besom__kind_named(kind->kind)->size;
  if (kind->role == PLANNED) bytes += LAYERS * (double)besom__in_this_build(&besom__fuse)->size;
  return 8 * bytes;
}

static besom_config config_of(const race *r, const struct contender *c) {
  double structs = bits_of_structs(c->kind) / (double)r->setup.members;
  return (besom_config){.kind = c->kind->kind,
                        .seed = r->seed,
                        .capacity = r->setup.members,
                        .bits_per_key = r->setup.bits_per_key + structs};
}

static besom_status build(const race *r, struct contender *c) {
  besom_config config = config_of(r, c);
  struct key_source members = {.race = r, .n = r->setup.members};
  besom_source yes = source_of(&members);
  return besom_build(&config, &(besom_input){.yes = &yes}, &c->filter);
}

static besom_status build_planned(const race *r, struct contender *c) {
  besom_config config = config_of(r, c);
  config.options = "layers=3";
  uint32_t *counts = count_past_queries(r);
  if (!counts) return BESOM_NO_MEMORY;
  struct key_source members = {.race = r, .n = r->setup.members};
  struct key_source past = {.race = r, .counts = counts, .n = r->setup.universe};
  besom_source yes = source_of(&members), no = source_of(&past);
  besom_status status = besom_build(&config, &(besom_input){.yes = &yes, .no = &no}, &c->filter);
  free(counts);
  return status;
}

static besom_status fill_guard(const race *r, besom_guard *g) {
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < r->setup.members && status == BESOM_OK; i++)
    status = besom_guard_put_u64(g, member_key(r, i), NULL, 0, BESOM_PUT_NEW);
  return status;
}

/* Without growing and rekeying: the filter keeps its size, and shows what it forgets. */
static besom_status open_guard(const race *r, struct contender *c) {
  besom_config filter = config_of(r, c);
  besom_guard_config config = {.filter = &filter, .grow_at = 1, .rekey_at = 2};
  besom_store *store = NULL;
  besom_status status = besom_store_memory(NULL, &store);
  if (status != BESOM_OK) return status;
  status = besom_guard_open(&config, store, &c->guard);
  if (status != BESOM_OK) {
    besom_store_close(store);
    return status;
  }
  return fill_guard(r, c->guard);
}

static const besom_filter *filter_of(const struct contender *c) {
  return c->guard ? besom_guard_filter(c->guard) : c->filter;
}

static besom_status make_contender(const race *r, struct contender *c) {
  c->reported = calloc(r->setup.universe / 8 + 1, 1);
  c->found = calloc(r->setup.universe, sizeof *c->found);
  if (!c->reported || !c->found) return BESOM_NO_MEMORY;
  return c->kind->role == GUARD     ? open_guard(r, c)
         : c->kind->role == PLANNED ? build_planned(r, c)
                                    : build(r, c);
}

static void free_contender(struct contender *c) {
  if (c->guard) besom_guard_close(c->guard);
  besom_free(c->filter);
  free(c->reported);
  free(c->found);
}

besom_status race_create(const race_setup *setup, race **out) {
  if (!setup->members || !setup->universe || setup->universe > UINT32_MAX) return BESOM_INVALID;
  race *r = calloc(1, sizeof *r);
  if (!r) return BESOM_NO_MEMORY;
  r->setup = *setup;
  r->popularity = zipf_create(setup->skew, setup->universe);
  for (unsigned i = 0; i < sizeof r->seed; i++)
    r->seed[i] = (uint8_t)random_at(stream(r, HASHES), i);
  for (unsigned i = 0; i < FILTERS; i++) {
    struct contender *c = &r->contenders[i];
    c->kind = &KINDS[i];
    c->numbers.status = make_contender(r, c);
    if (c->numbers.status == BESOM_NO_MEMORY) {
      race_free(r);
      return BESOM_NO_MEMORY;
    }
  }
  *out = r;
  return BESOM_OK;
}

void race_free(race *r) {
  if (!r) return;
  for (unsigned i = 0; i < FILTERS; i++) free_contender(&r->contenders[i]);
  free(r);
}

/* -------------------------------------------------------------- running */

static bool was_reported(const struct contender *c, uint64_t absent) {
  return c->reported[absent / 8] >> (absent % 8) & 1;
}

/* Reads of a guard's store are counted by the guard. */
static void report(const race *r, struct contender *c, uint64_t absent) {
  c->numbers.false_positives++;
  if (was_reported(c, absent)) {
    c->numbers.repeats++;
  } else {
    c->reported[absent / 8] |= (uint8_t)(1 << (absent % 8));
    c->found[c->found_count++] = (uint32_t)absent;
  }
  if (c->kind->role == REPORTED) {
    besom_status status = besom_adapt_u64(c->filter, absent_key(r, absent));
    if (status == BESOM_OK || status == BESOM_EVICTED) c->numbers.adapted++;
  }
}

/* Returns the answer of the filter. A guard asks its filter again and does the rest. */
static bool ask(struct contender *c, uint64_t key) {
  bool yes = besom_contains_u64(filter_of(c), key);
  if (c->guard) besom_guard_get_u64(c->guard, key, NULL);
  c->numbers.queries++;
  return yes;
}

static void ask_member(const race *r, struct contender *c, uint64_t member) {
  if (!ask(c, member_key(r, member))) {
    c->numbers.false_negatives++;
    return;
  }
  c->numbers.needed_reads++;
}

static void ask_absent(const race *r, struct contender *c, uint64_t absent) {
  if (ask(c, absent_key(r, absent))) report(r, c, absent);
}

static uint64_t next_of_adversary(struct contender *c, uint64_t otherwise) {
  return c->found_count ? c->found[c->replayed++ % c->found_count] : otherwise;
}

static void run_query(const race *r, struct contender *c, struct query q) {
  if (c->numbers.status != BESOM_OK) return;
  if (q.asker == MEMBER)
    ask_member(r, c, q.number);
  else
    ask_absent(r, c, q.asker == ADVERSARY ? next_of_adversary(c, q.number) : q.number);
}

void race_run(race *r, uint64_t n) {
  for (; n; n--) {
    struct query q = query_at(r, r->next++);
    for (unsigned i = 0; i < FILTERS; i++) run_query(r, &r->contenders[i], q);
  }
}

/* -------------------------------------------------------------- numbers */

unsigned race_filters(void) {
  return FILTERS;
}

const char *race_kind(unsigned i) {
  return KINDS[i].kind;
}

void race_read(const race *r, unsigned i, race_numbers *out) {
  const struct contender *c = &r->contenders[i];
  besom_statistics stats;
  besom_guard_statistics guard;
  *out = c->numbers;
  out->reads = out->needed_reads + out->false_positives;
  if (out->status != BESOM_OK || besom_stats(filter_of(c), &stats) != BESOM_OK) return;
  out->bits_per_key = stats.bits_per_key;
  out->reserve_used = stats.reserve_used;
  if (c->guard && besom_guard_stats(c->guard, &guard) == BESOM_OK) {
    out->reads = (double)(guard.store_reads + guard.filter_reads);
    out->adapted = (double)guard.adapted;
  }
}

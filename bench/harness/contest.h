/*
 * Designs of filters that know or learn their workload, compared in the same total memory: plain,
 * learned, stacked, cached and adaptive filters over text keys. Static designs are built from the
 * members and a sample of queries for absent keys; the others are told of their false positives.
 */
#ifndef BENCH_HARNESS_CONTEST_H
#define BENCH_HARNESS_CONTEST_H

#include <stdbool.h>

#include "besom_guard.h"
#include "besom_plan.h"
#include "harness/timing.h"
#include "workloads/text_list.h"

typedef enum design {
  PLAIN_BLOOM,
  PLAIN_RIBBON,
  LEARNED,
  STACKED_BLOOM,
  STACKED_FUSE,
  CACHED,         /* a Bloom filter with a cache of false positives */
  ADAPT,          /* aqf without the keys: exceptions, within the memory; old ones are forgotten */
  RIBBON_REPORTS, /* the same of other kinds */
  FUSE_REPORTS,
  BLOCKED_REPORTS,
  CF_REPORTS,
  QF_REPORTS,
  PQF_REPORTS,
  ADAPT_STORE, /* aqf with a store, as published; rekeys in twice the memory when it must */
  /* ADAPT_STORE with half of the bits, so that both filters of a rekey fit into the memory; all
     queries are positive if there is no filter that small */
  ADAPT_HALF,
  ADAPT_ONCE,  /* ADAPT_STORE without a rekey: adapts until its reserve is full */
  TAF_STORE,   /* taf with a store, without a rekey: a full block forgets its fixes */
  BROOM_STORE, /* broom with a store: a new round, in place, when its budget is used */
  DESIGNS
} design;

extern const char *const design_names[DESIGNS];

/* Whether the design needs a sample to be built. */
bool design_is_trained(design d);

/* Whether the design reads its keys from a store: a reverse map. */
bool design_has_store(design d);

/* Whether the design stays within its memory. ADAPT_STORE needs twice as much while it rekeys. */
bool design_fits(design d);

/* Whether keys can be added and removed. */
bool design_is_dynamic(design d);

/* Whether it takes reports, each of which is an exception: about EXCEPTION_BITS of its memory. */
enum { EXCEPTION_BITS = 100 };
bool design_takes_reports(design d);

typedef struct contestant {
  design design;
  besom_filter *own;        /* of designs without a store; NULL if there is none that small */
  besom_guard *guard;       /* of designs with a store; the same */
  uint8_t *answers;         /* of the lines queried so far: 0 unknown, 1 no, 2 yes; or NULL */
  bool migrating;           /* of the guard */
  uint64_t most_bytes;      /* the largest memory so far; the store is not counted */
  uint64_t false_positives; /* of the guard, so far */
} contestant;

/*
 * A filter of the members of at most `bits` bits per member, with the memory that adapting will
 * take (but see design_fits). sample: of queries for absent keys; may be NULL for designs that are
 * not trained.
 */
contestant contestant_create(design d, double bits, text_list *members, besom_workload *sample,
                             uint64_t seed);
void contestant_free(contestant *c);

/* Queries an absent key. Returns true for a false positive, to which the design adapts at once. */
bool contestant_query(contestant *c, besom_bytes key);

/*
 * The same for a key of a list, always the same list. Faster for designs that do not adapt: their
 * answers are kept.
 */
bool contestant_query_line(contestant *c, const text_list *absent, size_t line);

/* Only for dynamic designs. */
void contestant_insert(contestant *c, besom_bytes key);
void contestant_remove(contestant *c, besom_bytes key);

/* The rates of all designs for one workload, over seeds. A design without a rate does not compete.
 */
typedef struct standings {
  double bits; /* the memory that is given, in bits per member */
  samples rates[DESIGNS];
  double most_bits[DESIGNS]; /* the largest memory in bits per member */
} standings;

/*
 * The design with the fewest false positives of those that stay within the memory (5 % more is
 * allowed: the sizes of tables are rounded). map_counted: the
 * keys in the store count as memory, too, so that no design with a store stays within it.
 */
design standings_best(const standings *s, bool map_counted);

/* Whether a design can be the best one: it is judged, and its 95 % interval reaches the best's. */
bool standings_may_win(const standings *s, design d, bool map_counted);

/* "yes": the best; "tie": may win; "no"; "-": not judged. */
const char *standings_word(const standings *s, design d, bool map_counted);

void standings_free(standings *s);

#endif

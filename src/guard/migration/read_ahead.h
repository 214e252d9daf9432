/* Copies of the lists that migrate next. */
#ifndef BESOM_GUARD_READ_AHEAD_H
#define BESOM_GUARD_READ_AHEAD_H

#include "guard/guard.h"

struct copied_record {
  uint64_t bucket;
  size_t at; /* offset in bytes: the key, then the value */
  size_t key_len, value_len;
  bool no; /* a key of the no list */
};

/* Copies of the next lists to migrate, ordered by bucket, members before keys of the no list. */
struct read_ahead {
  besom_guard *guard;
  uint64_t ns, begun; /* the time to read for, and when the scan showed its first record */
  bool late;          /* it is over */
  struct copied_record *items;
  size_t n, room;
  size_t done;     /* items that have migrated */
  size_t complete; /* items of lists that are complete */
  size_t first;    /* items from here on are of the current scan, */
  bool no;         /* which is that of the no lists */
  uint8_t *bytes;
  size_t used, size, used_before; /* used_before: by the scan before the current one */
  uint64_t upto;                  /* the first bucket that was not read */
};

/* Lists for the next steps: reads at least one, and then for at most ns nanoseconds. */
besom_status besom__read_ahead_fill(besom_guard *g, uint64_t ns);

/* The next list. If there is none, it is empty. */
struct slice {
  size_t from, to;
  uint64_t upto; /* the frontier after it */
};
struct slice besom__read_ahead_next(const struct read_ahead *ahead);

/* The copies are stale if one of the lists was changed by anything but a migration step: the
   first call drops them in that case, the second always. */
void besom__migration_list_changed(besom_guard *g, const struct epoch *epoch, uint64_t bucket);
void besom__read_ahead_drop(besom_guard *g);

#endif

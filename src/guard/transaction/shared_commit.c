/*
 * Shared commits: writers that wait for the disk share one commit. The literature calls this group
 * commit (DeWitt et al. 1984); in a guard, a group is what BESOM_DURABLE_SYNC gathers.
 *
 * With BESOM_DURABLE_PUT every put waits for the disk, over LMDB also with BESOM_DURABLE_BATCH.
 * That takes a thousand times as long as the change in memory. So a writer leaves its change in
 * the open transaction, gives the lock of the writers up, and waits. Others add their changes. The
 * writer that completes the expected number commits for all of them. The first one waits for the
 * others only for a short time, and then commits itself; a writer that needs the guard without an
 * open transaction does not wait at all. The expected number is that of the writers seen during
 * the last commit, so a single writer never waits. If the commit fails, none of the changes was
 * acknowledged, all of them are undone, and all of the calls return the failure.
 */
#include "guard/transaction/shared_commit.h"
#include "guard/transaction/transaction.h"

/* The first writer waits for a quarter of the time that a commit takes, but no longer than
   MAX_DELAY nanoseconds. Less than MIN_DELAY is not worth a wait. */
#define MAX_DELAY UINT64_C(1000000)
#define MIN_DELAY UINT64_C(20000)

/* The transaction has ended: the calls that wait return the status. */
static void wake_members(besom_guard *g, besom_status status) {
  struct shared_commit *shared = &g->shared;
  for (struct waiting_writer *w = shared->first, *next; w; w = next) {
    next = w->next; /* it ends with its thread's call */
    w->status = status;
    w->done = true;
  }
  shared->expected = shared->members + besom__writers_waiting(g->locks);
  shared->members = 0;
  shared->first = NULL;
  besom__wake_writers(g->locks);
}

besom_status besom__shared_commit(besom_guard *g) {
  struct shared_commit *shared = &g->shared;
  uint64_t start = besom__monotonic_ns();
  besom_status status = besom__transaction_commit(g);
  uint64_t delay = (besom__monotonic_ns() - start) / 4;
  shared->delay = delay < MAX_DELAY ? delay : MAX_DELAY;
  wake_members(g, status);
  return status;
}

besom_status besom__shared_wait(besom_guard *g, struct waiting_writer *me) {
  struct shared_commit *shared = &g->shared;
  bool first = shared->members++ == 0;
  me->next = shared->first;
  shared->first = me;
  if (shared->members < shared->expected && shared->delay >= MIN_DELAY) {
    uint64_t until = first ? besom__monotonic_ns() + shared->delay : UINT64_MAX;
    while (!me->done && besom__wait_writer(g->locks, until)) {
    }
  }
  if (!me->done) besom__shared_commit(g);
  return me->status;
}

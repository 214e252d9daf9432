/*
 * The locks of a guard with many readers and many writers (config.threads).
 *
 * lock    kind                protects                          held during
 * writer  mutex and           the transaction, the undo log,    a call that changes the guard,
 *         condition           everything that no reader needs   except while it waits
 * commit  mutex               commit, sync, stats of the store  a write to disk
 * view    reader/writer lock  filters, migration state, and     readers: a whole get or scan
 *                             the store with its uncommitted    writer: a change in memory
 *                             changes
 * queue   mutex               queue of false positives,         a few instructions
 *                             offenders
 *
 * Order: writer, commit, view, queue. A writer never takes commit while it has view, so readers go
 * on while the store writes.
 */
#ifndef BESOM_GUARD_LOCK_H
#define BESOM_GUARD_LOCK_H

#include "besom.h"

struct locks;

/* NULL if there is no memory. */
struct locks *besom__locks_new(const besom_allocator *allocator);
void besom__locks_free(struct locks *l, const besom_allocator *allocator); /* NULL is fine */

/* The lock of the writers. A thread that has it may wait for a change of the state that it
   protects: wait gives the lock up meanwhile. It returns after besom__wake_writers, or by chance,
   or after the time (besom__monotonic_ns), and then false. UINT64_MAX: no time limit. */
void besom__lock_writer(struct locks *l);
void besom__unlock_writer(struct locks *l);
bool besom__wait_writer(struct locks *l, uint64_t until);
void besom__wake_writers(struct locks *l);

/* The thread that a batch belongs to. */
void besom__set_owner(struct locks *l);
bool besom__is_owner(const struct locks *l);

/* The same for readers: set with the view locked for writing, read with it locked for reading. */
void besom__set_reader(struct locks *l);
bool besom__is_reader(const struct locks *l);

/* Threads that wait for the lock of the writers. */
unsigned besom__writers_waiting(const struct locks *l);

/* The reader/writer lock. Readers share it, a writer has it exclusively. With glibc a waiting
   writer goes before readers that come later. */
void besom__lock_read(struct locks *l);
bool besom__try_lock_read(struct locks *l);
void besom__lock_write(struct locks *l);
void besom__unlock(struct locks *l);

/* Serializes the calls that a store allows one at a time: commit, sync and stats. */
void besom__lock_commit(struct locks *l);
bool besom__try_lock_commit(struct locks *l);
void besom__unlock_commit(struct locks *l);

/* Protects the queue from readers to writers and the list of offenders. */
void besom__lock_queue(struct locks *l);
void besom__unlock_queue(struct locks *l);

#endif

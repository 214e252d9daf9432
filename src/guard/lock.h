/*
 * The locks of a guard with one writer and many readers (config.threads).
 *
 * lock    kind                protects                          held during
 * view    reader/writer lock  filters, migration state, and     readers: a whole get or scan
 *                             the store with its uncommitted    writer: a change in memory
 *                             changes
 * commit  mutex               commit, sync, stats of the store  a write to disk
 * queue   mutex               queue of false positives,         a few instructions
 *                             offenders
 *
 * Order: view, then commit or queue. The writer takes commit without view, so readers go on while
 * the store writes.
 */
#ifndef BESOM_GUARD_LOCK_H
#define BESOM_GUARD_LOCK_H

#include "besom.h"

struct locks;

/* NULL if there is no memory. */
struct locks *besom__locks_new(const besom_allocator *allocator);
void besom__locks_free(struct locks *l, const besom_allocator *allocator); /* NULL is fine */

/* The reader/writer lock. Readers share it, the writer has it exclusively. With glibc a waiting
   writer goes before readers that come later. */
void besom__lock_read(struct locks *l);
void besom__lock_write(struct locks *l);
void besom__unlock(struct locks *l);

/* Serializes the calls that a store allows one at a time: commit, sync and stats. */
void besom__lock_commit(struct locks *l);
void besom__unlock_commit(struct locks *l);

/* Protects the queue from readers to the writer and the list of offenders. */
void besom__lock_queue(struct locks *l);
void besom__unlock_queue(struct locks *l);

#endif

/*
 * processes.h - child processes that a test kills, or whose end it waits for.
 */
#ifndef BESOM_TESTS_PROCESSES_H
#define BESOM_TESTS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that a process shares with its children, filled with zeros. Aborts if there is none. */
void *shared_memory(size_t bytes);

void pause_for(uint64_t microseconds);

/*
 * Runs work in a child process, and kills it. The child is killed `microseconds` after *started is
 * not 0 any more, or after its start if started is NULL. False: the child ended by itself.
 */
bool kill_child(void (*work)(void *ctx), void *ctx, const _Atomic uint64_t *started,
                uint64_t microseconds);

/* Runs work in a child process. True if it returns or exits with code 0. */
bool run_child(void (*work)(void *ctx), void *ctx);

/* Removes a directory and everything in it. */
void remove_tree(const char *path);

#endif

/*
 * Crash states: what a disk may hold after a power cut at some point of a recording.
 *
 * - A write, or a change of size, that was followed by a sync of its file is there. So is a write
 *   through a descriptor with O_DSYNC. Of all other writes any subset is there, torn at 512 bytes.
 *   A file may also have its new size without the data; then it has zeros.
 * - A new name, a rename or a removal is there if its directory was synced afterwards. Of all
 *   others any subset is there, or with ordered_names all before some point, as a file system with
 *   a journal guarantees. A sync of a file does not keep its name (ext4 would keep it).
 * - The operation at the cut may have happened partly; a sync at the cut has no effect.
 */
#ifndef BESOM_TESTS_CRASH_STATE_H
#define BESOM_TESTS_CRASH_STATE_H

#include "recorder.h"

struct crash_log; /* a recording, indexed */

/* The recording must outlive it. NULL after a message: the recording is not complete. */
struct crash_log *crash_log_new(const struct recording *recording, const char *root);
void crash_log_free(struct crash_log *log);

/* The number of the last mark before the cut, and what was kept, for messages. */
struct crash_state {
  uint64_t mark;
  uint64_t cut, ops;      /* operations before the cut, of how many */
  uint64_t kept, dropped; /* operations that were not synced */
};

/* Writes the state with that number into an empty directory. */
struct crash_state crash_state_write(const struct crash_log *log, uint64_t seed, bool ordered_names,
                                     const char *directory);

/* Whether a replay of all operations gives the files of the real directory, except those whose
   names begin with `except`. If not: false, after a message. */
bool crash_log_is_complete(const struct crash_log *log, const char *except);

#endif

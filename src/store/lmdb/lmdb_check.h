/*
 * Files of LMDB that would end the process with SIGBUS: checked, and allocated, before LMDB maps
 * them.
 */
#ifndef BESOM_STORE_LMDB_CHECK_H
#define BESOM_STORE_LMDB_CHECK_H

#include "besom.h"

/*
 * Whether data.mdb has all pages that its last committed state uses. A file that ends before its
 * last page may be whole: pages at its end can be free. So the pages are walked, with pread, if the
 * file is that short, or if always is set. A file without meta pages is OK: LMDB judges it. Errors:
 * CORRUPT (a page that is in use is beyond the end), NO_MEMORY.
 */
besom_status besom__lmdb_check_pages(const char *directory, bool always,
                                     const besom_allocator *allocator);

/*
 * Allocates lock.mdb for so many readers if it is shorter, and no process uses it: LMDB would make
 * it a file with a hole, and write into that on a full disk. Errors: DISK_FULL. Other failures are
 * left to LMDB.
 */
besom_status besom__lmdb_allocate_lock(const char *directory, unsigned readers);

#endif

/* Ctrl-C: long work looks now and then whether it should stop, so that it leaves nothing half done behind. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stddef.h>
#include <sys/types.h>

/* From now on SIGINT and SIGTERM only make a note. */
void interrupt_watch(void);

/* What an interrupted run has done, to be told then; until it is said otherwise: no file was changed. */
void interrupt_leaves(const char *what);

/* Ends the program, if there is such a note. */
void interrupt_check(void);

/* read(2), which may wait for ever for somebody to write, but not any longer than until there is such a note. */
ssize_t interrupt_read(int fd, void *to, size_t most);

#endif

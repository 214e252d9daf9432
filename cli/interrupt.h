/* Clean stop on SIGINT and SIGTERM: long operations poll a flag and stop where no file is half
 * written. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stddef.h>
#include <sys/types.h>

/* From now on SIGINT and SIGTERM only set the flag. */
void interrupt_watch(void);

/* Sets the message about what an interrupted run leaves behind; default "no file was changed". */
void interrupt_leaves(const char *what);

/* Ends the program if the flag is set. */
void interrupt_check(void);

/* read(2), but a signal ends the program even while the call waits for input. */
ssize_t interrupt_read(int fd, void *to, size_t most);

#endif

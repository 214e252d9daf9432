/* Ctrl-C: long work looks now and then whether it should stop, so that it leaves nothing half done behind. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

/* From now on SIGINT and SIGTERM only make a note. */
void interrupt_watch(void);

/* Ends the program, if there is such a note. */
void interrupt_check(void);

#endif

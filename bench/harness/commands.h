/* The verbs of besom-bench. argv[0] is the verb itself; each returns the exit code. */
#ifndef BENCH_HARNESS_COMMANDS_H
#define BENCH_HARNESS_COMMANDS_H

int micro_verb(int argc, char **argv);
int run_verb(int argc, char **argv);

#endif

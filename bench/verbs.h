/* The verbs of besom-bench. argv[0] is the verb itself; each returns the exit code. */
#ifndef BENCH_VERBS_H
#define BENCH_VERBS_H

int micro_verb(int argc, char **argv);
int run_verb(int argc, char **argv);

#endif

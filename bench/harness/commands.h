/* The commands of besom-bench. argv[0] is the name of the command. Each returns the exit code. */
#ifndef BENCH_HARNESS_COMMANDS_H
#define BENCH_HARNESS_COMMANDS_H

int instructions_command(int argc, char **argv);
int micro_command(int argc, char **argv);
int run_command(int argc, char **argv);

#endif

/*
 * The driver of a peer: a program of the user that measures another filter and speaks the line
 * protocol of docs/benchmarks.md on its stdin and stdout.
 *
 * A driver that ends, answers wrongly or does not answer in time ends this program with a message
 * (fail); its processes are killed.
 */
#ifndef BENCH_HARNESS_PEER_DRIVER_H
#define BENCH_HARNESS_PEER_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct peer_driver {
  const char *name;
  uint64_t seconds; /* in which it must answer */
  pid_t process;    /* the leader of a process group of its own */
  int in, out;      /* its stdin and stdout */
} peer_driver;

/* Starts a command of the shell. The name must outlive the driver. */
peer_driver peer_driver_start(const char *name, const char *command, uint64_t seconds);

/*
 * Sends a line and waits for the answer: "OK" with exactly n numbers. Returns false if the answer
 * is "NO": the peer has no such operation.
 */
bool peer_driver_ask(const peer_driver *d, uint64_t *numbers, size_t n, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fails with a message about the driver, and kills it. */
_Noreturn void peer_driver_fail(const peer_driver *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Closes its stdin, so that it ends; kills it if it does not end in time. */
void peer_driver_end(peer_driver *d);

#endif

#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS, madvise */

#include "harness/probe.h"

#include <string.h>
#include <sys/mman.h>

#include "fail.h"
#include "harness/timing.h"
#include "workloads/key_stream.h"

enum { LINE = 64, WORDS_PER_LINE = LINE / sizeof(uint64_t), READS = 1 << 22, AHEAD = 32 };

static volatile uint64_t sink; /* stores the result, so that the compiler must keep the reads */

probe probe_create(uint64_t bytes) {
  probe p = {.bytes = (size_t)((bytes + LINE - 1) / LINE * LINE)};
  void *memory = mmap(NULL, p.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for a probe of %zu bytes", p.bytes);
  /* Fails if the kernel has no huge pages; then the pages are ordinary anyway. */
  (void)madvise(memory, p.bytes, MADV_NOHUGEPAGE);
  memset(memory, 1, p.bytes); /* untouched pages would all map to one cached zero page */
  p.memory = memory;
  return p;
}

void probe_free(probe *p) {
  munmap(p->memory, p->bytes);
  *p = (probe){0};
}

static inline const uint64_t *random_line(const probe *p, uint64_t i) {
  return p->memory + random_below(random_at(0, i), p->bytes / LINE) * WORDS_PER_LINE;
}

static double finish(probe *p, double start, uint64_t sum) {
  double seconds = cpu_seconds() - start;
  sink = sum;
  p->next += READS;
  return 1e9 * seconds / READS;
}

double probe_independent(probe *p) {
  uint64_t sum = 0;
  double start = cpu_seconds();
  for (uint64_t i = 0; i < READS; i++) sum += *random_line(p, p->next + i);
  return finish(p, start, sum);
}

double probe_prefetched(probe *p) {
  const uint64_t *lines[AHEAD];
  uint64_t sum = 0;
  double start = cpu_seconds();
  for (uint64_t i = 0; i < AHEAD; i++) {
    lines[i] = random_line(p, p->next + i);
    __builtin_prefetch(lines[i]);
  }
  for (uint64_t i = 0; i < READS; i++) {
    const uint64_t **oldest = &lines[i % AHEAD];
    sum += **oldest;
    *oldest = random_line(p, p->next + i + AHEAD);
    __builtin_prefetch(*oldest);
  }
  return finish(p, start, sum);
}

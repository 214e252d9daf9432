#define _GNU_SOURCE /* MADV_WIPEONFORK, MAP_ANONYMOUS */
#include "core/system/process.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 1 }; /* bytes: the system rounds up */

void besom__process_init(struct process *p) {
  *p = (struct process){.id = getpid()};
#ifdef MADV_WIPEONFORK
  void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, PAGE, MADV_WIPEONFORK) == 0) {
    p->page = page;
    *p->page = 1;
  } else {
    munmap(page, PAGE);
  }
#endif
}

void besom__process_free(struct process *p) {
  if (p->page) munmap((void *)p->page, PAGE);
}

bool besom__process_has_id(const struct process *p) {
  return p->id == getpid();
}

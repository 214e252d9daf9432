/*
 * Counts in a filter: how often was a page seen? And an allocator that tells what the filter takes.
 *
 * An aqf keeps a multiset. A count is never too low, and too high only at the false-positive rate.
 *
 *     cc counts.c $(pkg-config --cflags --libs besom) && ./a.out
 */
#include <besom.h>
#include <besom_store.h>
#include <stdio.h>

#define PAGES 20000

/* -------------------------------------------------------------- an allocator that counts */

/* Wraps the default allocator. A concurrent filter would need atomic members. */
struct meter {
  size_t now, most;
};

static void *allocate(void *ctx, size_t size) {
  struct meter *meter = ctx;
  const besom_allocator *base = besom_default_allocator();
  void *memory = base->allocate(base->ctx, size);
  if (memory) meter->now += size;
  if (meter->now > meter->most) meter->most = meter->now;
  return memory;
}

static void release(void *ctx, void *memory, size_t size) {
  struct meter *meter = ctx;
  const besom_allocator *base = besom_default_allocator();
  if (memory) meter->now -= size;
  base->release(base->ctx, memory, size);
}

/* -------------------------------------------------------------- a run */

static uint64_t visits(unsigned page) {
  return page % 100 == 0 ? 1000000 + page : 1 + page % 3;
}

int main(void) {
  struct meter meter = {0};
  besom_allocator allocator = {.allocate = allocate, .release = release, .ctx = &meter};
  /* Distinct pages. All may be seen more than once; the few popular ones take little more room. */
  besom_config config = {.kind = "aqf",
                         .capacity = PAGES,
                         .fpr = 0.001,
                         .allocator = &allocator,
                         .repeated = 1,
                         .copies = 3};
  besom_filter *f;
  besom_statistics stats;
  char page[24];
  if (besom_create(&config, &f) != BESOM_OK) return 1;

  /* A day's log has a sum per page. A million copies are one call and a few slots. */
  for (unsigned i = 0; i < PAGES; i++) {
    size_t len = (size_t)snprintf(page, sizeof page, "/page/%u", i);
    if (besom_insert_count(f, page, len, visits(i)) != BESOM_OK) return 1;
  }
  if (besom_insert(f, "/page/0", 7) != BESOM_OK) return 1; /* one more */

  unsigned low = 0, exact = 0;
  for (unsigned i = 0; i < PAGES; i++) {
    size_t len = (size_t)snprintf(page, sizeof page, "/page/%u", i);
    uint64_t n = 0, true_count = visits(i) + (i == 0);
    if (besom_count(f, page, len, &n) != BESOM_OK) return 1;
    low += n < true_count;
    exact += n == true_count;
  }
  if (besom_stats(f, &stats) != BESOM_OK) return 1;
  printf("%llu visits of %d pages: %u counts exact, %u too low\n", (unsigned long long)stats.keys,
         PAGES, exact, low);
  printf("%zu bytes allocated; besom_stats says %llu\n", meter.now,
         (unsigned long long)stats.bytes);
  bool agree = meter.now > 0 && meter.now <= stats.bytes + 4096 && stats.bytes <= meter.now + 4096;
  besom_free(f);
  printf("%zu bytes after besom_free\n", meter.now);
  return low == 0 && exact > PAGES * 99 / 100 && agree && meter.now == 0 ? 0 : 1;
}

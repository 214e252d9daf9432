/*
 * The locks of a thread-safe table: an operation locks the regions that it can touch and no others,
 * and a query sees an insert as a whole, at whatever instruction of the insert it happens.
 */
#define _DEFAULT_SOURCE 1 /* MAP_ANONYMOUS */
#include "quotient/table/table_regions.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/snapshot.h"
#include "besom_reverse.h"
#include "core/hash.h"
#include "quotient/aqf/concurrent/aqf_sync.h"
#include "support/keys.h"

static const uint8_t seed[16] = "several regions";

/* ------------------------------------------------------------------ which regions */

static void an_operation_locks_its_own_regions_only(void **state) {
  (void)state;
  enum { REGIONS = 6 };
  besom_config config = {.kind = "aqf", .slots = REGIONS * REGION_SLOTS, .width = 8, .seed = seed};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t i = 0; i < REGIONS * REGION_SLOTS / 2; i++)
    assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
  const struct qtable *t = &const_quotient_filter(f)->table;
  static struct region regions[REGIONS + 2];
  assert_true(regions_of(t->slots) <= REGIONS + 2);
  for (uint64_t quotient = 0; quotient < t->slots; quotient += 7) {
    struct locked_regions locked;
    besom__lock_regions(&locked, regions, t, quotient, true);
    uint64_t home = quotient / REGION_SLOTS;
    assert_int_equal(locked.first, home); /* no offset of this table is saturated */
    /* At this load no run reaches further than a few slots. */
    if (quotient % REGION_SLOTS < REGION_SLOTS / 2) assert_int_equal(locked.end, home + 1);
    for (uint64_t i = 0; i < REGIONS + 2; i++)
      assert_int_equal(regions[i].version & REGION_LOCKED, locked.first <= i && i < locked.end);
    besom__unlock_regions(&locked);
  }
  besom_free(f);
}

/* ------------------------------------------------------------------ credits */

/* A region takes free slots in advance. When there are none left, an insert into another region
   takes them back, so that all can be used. */
static void an_insert_finds_the_free_slots_of_other_regions(void **state) {
  (void)state;
  enum { REGIONS = 4 };
  besom_config config = {.kind = "aqf",
                         .slots = REGIONS * REGION_SLOTS,
                         .width = 8,
                         .seed = seed,
                         .flags = BESOM_CONCURRENT};
  besom_filter *f = NULL;
  besom_statistics stats;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  assert_int_equal(besom_stats(f, &stats), BESOM_OK);
  for (uint64_t i = 0; i < stats.capacity - 500; i++)
    assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
  for (uint64_t i = stats.capacity - 500; i <= stats.capacity; i++) {
    assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)),
                     i < stats.capacity ? BESOM_OK : BESOM_FULL);
  }
  for (uint64_t i = 0; i < stats.capacity; i++)
    assert_true(besom_contains_u64(f, key_u64(MEMBERS, i)));
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  besom_free(f);
}

/* ------------------------------------------------------------------ queries within an insert */

#if defined(__linux__) && defined(__x86_64__)

enum { SHARED_BYTES = 1 << 20, SLOTS = 128, MEMBERS_AT_FIRST = 60, INSERTS = 8 };

/* Memory that the process of the writer and that of the reader share. Nothing is reused. */
typedef struct shared {
  size_t used;
  volatile bool inserting;
  volatile besom_status status;
  _Alignas(CACHE_LINE) uint8_t bytes[SHARED_BYTES];
} shared;

static void *shared_allocate(void *ctx, size_t size) {
  shared *memory = ctx;
  size_t used = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  if (used > SHARED_BYTES - memory->used) return NULL;
  memory->used += used;
  return memory->bytes + memory->used - used;
}

static void shared_release(void *ctx, void *block, size_t size) {
  (void)ctx, (void)block, (void)size;
}

/* Returns false if the process may not be traced. */
static bool stop_before_insert(shared *memory, besom_filter *f, uint64_t key, pid_t *writer) {
  *writer = fork();
  if (*writer == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(1);
    raise(SIGSTOP);
    memory->inserting = true;
    memory->status = besom_insert_u64(f, key);
    memory->inserting = false;
    _exit(0);
  }
  int how;
  return waitpid(*writer, &how, 0) == *writer && WIFSTOPPED(how);
}

/* A query would wait for the writer, which is stopped, if the region is being changed. */
static bool sees_all(const besom_filter *f, uint64_t n) {
  const struct aqf_sync *sync = const_aqf(current_filter(f->snapshot))->sync;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key = key_u64(MEMBERS, i);
    uint64_t quotient = address_of(besom_hash_u64(f, key), SLOTS).quotient;
    if (region_version(region_at(sync, quotient)) & REGION_CHANGING) continue;
    if (!besom_contains_u64(f, key)) return false;
  }
  return true;
}

/* Executes the insert one instruction at a time. Returns the number of instructions, or 0 if a
   member was missed. */
static uint64_t insert_in_steps(shared *memory, besom_filter *f, uint64_t n, pid_t writer) {
  uint64_t steps = 0;
  for (;;) {
    int how;
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, writer, NULL, NULL), 0);
    assert_int_equal(waitpid(writer, &how, 0), writer);
    if (!WIFSTOPPED(how)) return steps;
    bool inserting = memory->inserting, missed = inserting && !sees_all(f, n);
    steps += inserting;
    if (!missed && (inserting || !steps)) continue;
    if (missed) kill(writer, SIGKILL);
    ptrace(PTRACE_CONT, writer, NULL, NULL);
    waitpid(writer, &how, 0);
    return missed ? 0 : steps;
  }
}

static void a_query_at_any_instruction_of_an_insert_sees_all_members(void **state) {
  (void)state;
  shared *memory =
      mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  besom_allocator allocator = {shared_allocate, shared_release, memory};
  besom_config config = {.kind = "aqf",
                         .slots = SLOTS,
                         .width = 8,
                         .seed = seed,
                         .options = "isa=portable",
                         .flags = BESOM_CONCURRENT,
                         .allocator = &allocator};
  besom_filter *f = NULL;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t i = 0; i < MEMBERS_AT_FIRST; i++)
    assert_int_equal(besom_insert_u64(f, key_u64(MEMBERS, i)), BESOM_OK);
  for (uint64_t n = MEMBERS_AT_FIRST; n < MEMBERS_AT_FIRST + INSERTS; n++) {
    pid_t writer;
    if (!stop_before_insert(memory, f, key_u64(MEMBERS, n), &writer)) skip();
    assert_true(insert_in_steps(memory, f, n, writer) > 10);
    assert_int_equal(memory->status, BESOM_OK);
    assert_true(besom_contains_u64(f, key_u64(MEMBERS, n)));
  }
  assert_int_equal(besom_validate(f, NULL), BESOM_OK);
  besom_free(f);
  munmap(memory, sizeof *memory);
}

#else

static void a_query_at_any_instruction_of_an_insert_sees_all_members(void **state) {
  (void)state;
  skip();
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_operation_locks_its_own_regions_only),
      cmocka_unit_test(an_insert_finds_the_free_slots_of_other_regions),
      cmocka_unit_test(a_query_at_any_instruction_of_an_insert_sees_all_members),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

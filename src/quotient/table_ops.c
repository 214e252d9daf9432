/*
 * The fast operations of the quotient table, compiled once for each instruction set (BESOM_ISA) and, in
 * each, once for every common width: a template is an inline function whose width is a constant in the
 * caller. The templates are in table_query.h, table_change.h and table_merge.h.
 */
#include "quotient/table_change.h"
#include "quotient/table_merge.h"
#include "quotient/table_query.h"

#define NAME_OF(isa) besom__qtable_ops_##isa
#define NAME(isa) NAME_OF(isa)
const struct qtable_ops *NAME(BESOM_ISA)(unsigned width);

#define OPERATIONS(suffix, width)                                                                  \
  static enum answer contains_##suffix(const struct qtable *t, besom_digest d) {                   \
    return contains(t, d, false, width);                                                           \
  }                                                                                                \
  static void contains_many_##suffix(const struct qtable *t, const besom_digest *d, size_t n,      \
                                     uint64_t *bitmap) {                                           \
    contains_many(t, d, n, bitmap, false, width);                                                  \
  }                                                                                                \
  static void contains_many_shared_##suffix(const struct qtable *t, struct region *regions,        \
                                            const besom_digest *d, size_t n, uint64_t *bitmap,     \
                                            uint64_t *unsure) {                                    \
    contains_many_shared(t, regions, d, n, bitmap, unsure, width);                                 \
  }                                                                                                \
  static enum answer contains_in_block_##suffix(const struct qtable *t, besom_digest d) {          \
    return contains_in_block(t, place_of(t, d, width), behind_of(t, d, width), NULL, false,        \
                             width);                                                               \
  }                                                                                                \
  static enum answer contains_run_##suffix(const struct qtable *t, besom_digest d,                 \
                                           struct block_run *run) {                                \
    return contains_in_block(t, place_of(t, d, width), behind_of(t, d, width), run, false, width); \
  }                                                                                                \
  static enum answer contains_unmarked_##suffix(const struct qtable *t, besom_digest d) {          \
    return contains(t, d, true, width);                                                            \
  }                                                                                                \
  static void contains_unmarked_many_##suffix(const struct qtable *t, const besom_digest *d,       \
                                              size_t n, uint64_t *bitmap) {                        \
    contains_many(t, d, n, bitmap, true, width);                                                   \
  }                                                                                                \
  static enum answer contains_at_##suffix(const struct qtable *t, uint64_t quotient,               \
                                          uint64_t remainder) {                                    \
    return contains_place(t, (struct place){block_at(t, quotient / 64), quotient, remainder}, 0,   \
                          false, width);                                                           \
  }                                                                                                \
  static besom_status insert_##suffix(struct qtable *t, besom_digest d, bool *unless) {            \
    return insert(t, d, unless, width);                                                            \
  }                                                                                                \
  static besom_status insert_many_##suffix(struct qtable *t, const besom_digest *d, size_t n,      \
                                           bool *unless, size_t *done) {                           \
    return insert_many(t, d, n, unless, done, width);                                              \
  }                                                                                                \
  static besom_status append_##suffix(struct qtable_appender *a, const besom_digest *d,            \
                                      size_t n) {                                                  \
    const struct qtable *t = &a->table;                                                            \
    (void)t;                                                                                       \
    return append(a, d, n, width);                                                                 \
  }                                                                                                \
  static uint64_t find_##suffix(const struct qtable *t, uint64_t quotient, uint64_t remainder,     \
                                uint64_t *last) {                                                  \
    return find(t, quotient, remainder, last, width);                                              \
  }                                                                                                \
  static uint64_t next_equal_##suffix(const struct qtable *t, uint64_t from, uint64_t end,         \
                                      uint64_t remainder) {                                        \
    return next_equal(t, from, end, remainder, width);                                             \
  }                                                                                                \
  static besom_status open_##suffix(struct qtable *t, uint64_t quotient, uint64_t position,        \
                                    uint64_t bits) {                                               \
    return open_slot(t, quotient, position, bits, width);                                          \
  }                                                                                                \
  static void close_##suffix(struct qtable *t, uint64_t quotient, uint64_t position) {             \
    close_slot(t, quotient, position, width);                                                      \
  }                                                                                                \
  static besom_status merge_##suffix(const struct qtable *a, const struct qtable *b,               \
                                     struct qtable *t) {                                           \
    return merge(a, b, t, width);                                                                  \
  }

#define OPERATION_TABLE(suffix)                                                            \
  {                                                                                        \
    contains_##suffix, contains_many_##suffix, contains_many_shared_##suffix,              \
        contains_in_block_##suffix, contains_run_##suffix, contains_unmarked_##suffix,     \
        contains_unmarked_many_##suffix, contains_at_##suffix, insert_##suffix,            \
        insert_many_##suffix, append_##suffix, find_##suffix, run_of, next_equal_##suffix, \
        open_##suffix, close_##suffix, merge_##suffix                                      \
  }

/* Rates of 1 in 100, 1000 and 10,000 need 7, 10 and 14 bits; the others are round numbers or papers'. */
OPERATIONS(7, 7)
OPERATIONS(8, 8)
OPERATIONS(9, 9)
OPERATIONS(10, 10)
OPERATIONS(12, 12)
OPERATIONS(14, 14)
OPERATIONS(16, 16)
OPERATIONS(any, t->width)

const struct qtable_ops *NAME(BESOM_ISA)(unsigned width) {
  static const struct qtable_ops any = OPERATION_TABLE(any);
  static const struct qtable_ops common[17] = {
      [7] = OPERATION_TABLE(7),   [8] = OPERATION_TABLE(8),   [9] = OPERATION_TABLE(9),
      [10] = OPERATION_TABLE(10), [12] = OPERATION_TABLE(12), [14] = OPERATION_TABLE(14),
      [16] = OPERATION_TABLE(16),
  };
  return width <= 16 && common[width].contains ? &common[width] : &any;
}

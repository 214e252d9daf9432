/*
 * besom_abi.h - the inline functions of besom.h, which includes it.
 *
 * A call that takes a struct which may grow passes the size that the caller was compiled with. The
 * library reads and writes no more than that, so an old program runs with a new library. At the end
 * is what besom_inline.h shares with the library.
 */
#ifndef BESOM_ABI_H
#define BESOM_ABI_H

#ifndef BESOM_H
#error "include besom.h instead"
#endif

/*
 * Copies a struct of another version: `given` bytes of it into one of `size` bytes. Members that
 * the given one does not have are 0. For the library, and for stores that take options.
 */
static inline void besom_copy_struct(void *to, size_t size, const void *from, size_t given) {
  memset(to, 0, size);
  memcpy(to, from, given < size ? given : size);
}

BESOM_API besom_status besom_config_check_sized(const besom_config *config, size_t config_size,
                                                char *text, size_t size);
static inline besom_status besom_config_check(const besom_config *config, char *text, size_t size) {
  return besom_config_check_sized(config, sizeof *config, text, size);
}

BESOM_API besom_status besom_create_sized(const besom_config *config, size_t config_size,
                                          besom_filter **out);
static inline besom_status besom_create(const besom_config *config, besom_filter **out) {
  return besom_create_sized(config, sizeof *config, out);
}

BESOM_API besom_status besom_build_sized(const besom_config *config, size_t config_size,
                                         const besom_input *input, size_t input_size,
                                         besom_filter **out);
static inline besom_status besom_build(const besom_config *config, const besom_input *input,
                                       besom_filter **out) {
  return besom_build_sized(config, sizeof *config, input, sizeof *input, out);
}

BESOM_API besom_status besom_stats_sized(const besom_filter *f, besom_statistics *stats,
                                         size_t size);
static inline besom_status besom_stats(const besom_filter *f, besom_statistics *stats) {
  return besom_stats_sized(f, stats, sizeof *stats);
}

BESOM_API besom_status besom_open_sized(const char *path, const besom_open_options *options,
                                        size_t options_size, besom_filter **out);
static inline besom_status besom_open(const char *path, const besom_open_options *options,
                                      besom_filter **out) {
  return besom_open_sized(path, options, sizeof *options, out);
}

/* The 8 little-endian bytes of an integer key. */
typedef struct besom_u64_key {
  uint8_t bytes[8];
} besom_u64_key;
static inline besom_u64_key besom_u64(uint64_t key) {
  /* not a loop: compilers make one store of this, which a hash can read at once */
  besom_u64_key k = {{(uint8_t)key, (uint8_t)(key >> 8), (uint8_t)(key >> 16), (uint8_t)(key >> 24),
                      (uint8_t)(key >> 32), (uint8_t)(key >> 40), (uint8_t)(key >> 48),
                      (uint8_t)(key >> 56)}};
  return k;
}
static inline besom_status besom_remove_u64(besom_filter *f, uint64_t key) {
  besom_u64_key k = besom_u64(key);
  return besom_remove(f, k.bytes, 8);
}
static inline besom_status besom_adapt_u64(besom_filter *f, uint64_t key) {
  besom_u64_key k = besom_u64(key);
  return besom_adapt(f, k.bytes, 8);
}
static inline besom_status besom_count_u64(const besom_filter *f, uint64_t key, uint64_t *n) {
  besom_u64_key k = besom_u64(key);
  return besom_count(f, k.bytes, 8, n);
}

/* -------------------------------------------------------------- for besom_inline.h only */

/* The layouts of tables that its calls know. A number never gets another meaning. */
enum {
  BESOM_INLINE_BLOCKED_BLOOM = 1, /* lines of 64 bytes, one bit of each word */
  BESOM_INLINE_CF = 2,            /* buckets of four, of whole bytes */
  BESOM_INLINE_FUSE = 3,          /* cells of one byte or two */
  BESOM_INLINE_PQF = 4,           /* bins of 32 bytes */
  BESOM_INLINE_VACUUM = 5         /* as cf, with chunks */
};

/* What they copy of a filter. Frozen. */
typedef struct besom_inline_facts {
  const uint32_t *generation; /* of the filter */
  uint32_t of_queries;        /* the generation in which queries are inline */
  uint32_t of_inserts;        /* the same of inserts */
  uint64_t secret;            /* of the hash of integers */
  uint8_t *bits;              /* the table */
  uint64_t number[6];         /* by the layout */
  const uint64_t *chunks;     /* vacuum */
  uint64_t *items;            /* keys of the filter */
  uint64_t capacity;
} besom_inline_facts;

/* The facts of a filter for this layout. If it has none, no generation is equal to that of *out. */
BESOM_API void besom_inline_facts_of(const besom_filter *f, uint32_t layout,
                                     besom_inline_facts *out);

#endif

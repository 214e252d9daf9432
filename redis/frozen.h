/*
 * frozen.h - filters that RedisBloom made, as the oldest layers of a value.
 *
 * A frozen filter has the bits, or the fingerprints, and the hash function of RedisBloom
 * (MurmurHash 2 with a public seed). It answers exactly as RedisBloom would. Nothing is added to
 * it: new items go to the filter of this module, whose layers follow. A cuckoo filter can remove
 * items. A false positive that is reported becomes an exception, a digest under the secret seed of
 * that filter.
 *
 * The *raw form* of a frozen filter is its header and its data as RedisBloom's SCANDUMP commands
 * give them, without the division into chunks. Numbers are little-endian, without padding:
 *
 *   BF   u64 items, u32 layers, u32 options, u32 growth; for each layer u64 bytes, u64 bits,
 *        u64 items, f64 error, f64 bits per item, u32 hashes, u64 capacity, u8 log2 of the bits
 *   CF   u64 items, u64 buckets, u64 deletes, u64 layers, u16 bucket size, u16 max iterations,
 *        u16 expansion
 */
#ifndef BESOM_REDIS_FROZEN_H
#define BESOM_REDIS_FROZEN_H

#include <besom.h>

#include "exceptions/exceptions.h"

enum frozen_family { FROZEN_BLOOM = 1, FROZEN_CUCKOO = 2 };

#define FROZEN_NONSCALING 8 /* the option of RedisBloom */

struct frozen_layer {
  uint8_t *data;
  uint64_t bytes;
  /* Bloom */
  uint64_t bits, items, capacity;
  double error, bits_per_item;
  uint32_t hashes;
  uint8_t log2_bits; /* 0: `bits` is no power of two */
  /* cuckoo */
  uint64_t buckets;
};

struct frozen {
  enum frozen_family family;
  uint32_t layers;
  uint64_t items;
  uint32_t options, growth;                        /* Bloom */
  uint64_t buckets, deletes;                       /* cuckoo: buckets of the first layer */
  uint16_t bucket_size, max_iterations, expansion; /* cuckoo */
  uint32_t allocated;                              /* members of `layer` */
  struct exception_set exceptions;
  const besom_allocator *allocator;
  struct frozen_layer layer[];
};

/*
 * The length of the raw form that begins with this header. *header is the length of the header; len
 * must not be less. Checks all fields; nothing is allocated. Errors: CORRUPT.
 */
besom_status frozen_raw_len(enum frozen_family family, const char *data, size_t len, size_t *header,
                            uint64_t *total);

/* Makes a frozen filter from its raw form. Errors: CORRUPT, NO_MEMORY. */
besom_status frozen_load(enum frozen_family family, const char *data, size_t len,
                         const besom_allocator *allocator, struct frozen **out);
void frozen_free(struct frozen *f);

/* Writes the header of the raw form. The data of the layers follows in order. */
#define FROZEN_MAX_HEADER(LAYERS) (38 + 53 * (size_t)(LAYERS))
size_t frozen_write_header(const struct frozen *f, char *to);

/* Visits all memory. Returns where the filter is. */
struct frozen *frozen_visit_blocks(struct frozen *f, const struct block_visitor *v);
/* The data of all layers, in bytes. */
uint64_t frozen_data_bytes(const struct frozen *f);
/* Items that RedisBloom would store before it adds a layer. */
uint64_t frozen_capacity(const struct frozen *f);
/* Whether RedisBloom would add no layer. */
bool frozen_is_fixed(const struct frozen *f);

/* The answers of RedisBloom, without regard to exceptions. */
bool frozen_has(const struct frozen *f, besom_bytes item);
uint64_t frozen_count(const struct frozen *f, besom_bytes item); /* of a Bloom filter 0 or 1 */

/* Removes one copy from a cuckoo filter, as RedisBloom does. Returns whether there was one. */
bool frozen_remove(struct frozen *f, besom_bytes item);

/* Exceptions: digests that are answered no although frozen_has says yes. */
bool frozen_denies(const struct frozen *f, besom_digest digest);
/* Adds one; `listed`: it is never forgotten. Errors: RESERVE_FULL, NO_MEMORY; EVICTED (besom.h). */
besom_status frozen_deny(struct frozen *f, besom_digest digest, bool listed, bool forget);
/* Removes one that is listed. Returns whether there was one. */
bool frozen_undeny(struct frozen *f, besom_digest digest);

/* The exceptions as bytes. */
#define FROZEN_EXCEPTIONS_HEAD 48
void frozen_write_exceptions_head(const struct frozen *f, char *to);
besom_status frozen_load_exceptions(struct frozen *f, const char *data, size_t len);

#endif

/* An in-memory index of distinct keys. Each gets a number: 0, 1, 2, ..., in order of arrival. */
#ifndef CLI_KEY_INDEX_H
#define CLI_KEY_INDEX_H

#include "besom.h"

typedef struct key_index key_index;

key_index *key_index_create(void);
void key_index_free(key_index *x);

/* Returns the number of a key, and adds the key (a copy of its bytes) if it is new. */
uint32_t key_index_add(key_index *x, besom_bytes key);

uint32_t key_index_count(const key_index *x);
besom_bytes key_index_key(const key_index *x, uint32_t number);
bool key_index_contains(const key_index *x, besom_bytes key);

/* The memory of a hash set of these keys: bytes of keys, their ends, and the slots. */
uint64_t key_index_bytes(const key_index *x);

#endif

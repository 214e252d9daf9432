/* Pairs of a key and a value in memory, as digests: a maplet is built of them when their number is
 * known. 20 bytes per pair. */
#ifndef CLI_PAIR_LIST_H
#define CLI_PAIR_LIST_H

#include "besom_map.h"

typedef struct pair_list pair_list;

/* config: of the maplet, without capacity and value_bits. Its seed is drawn if it has none. */
pair_list *pair_list_create(const besom_config *config);
void pair_list_free(pair_list *list);

void pair_list_add(pair_list *list, besom_bytes key, uint32_t value);

/* Those that were added. */
uint64_t pair_list_count(const pair_list *list);

/* Makes the maplet, and empties the list. A pair that was added more than once is in it once.
 * capacity: the pairs that must fit, if they are more. */
besom_filter *pair_list_build(pair_list *list, uint32_t value_bits, uint64_t capacity);

#endif

/* key_list.h - the keys that an aggregate has collected. */
#ifndef BESOM_SQLITE_KEY_LIST_H
#define BESOM_SQLITE_KEY_LIST_H

#include "keys.h"

/* The type of the pointer value that besom_keys returns (sqlite3_result_pointer). */
#define BESOM_KEY_LIST_TYPE "besom_keys"

/* Keys with their lengths, in chunks of memory. */
struct key_list {
  struct key_chunk *first, *last;
  uint64_t count;
};

int besom__sql_key_list_add(struct key_list *list, const struct key *key);
void besom__sql_key_list_clear(struct key_list *list);

/* Walks over the keys. source.ctx points to the reader, so a struct key_reader is not copied. */
struct key_reader {
  const struct key_list *list;
  const struct key_chunk *chunk;
  size_t at;
  besom_source source;
};
void besom__sql_key_reader_init(struct key_reader *reader, const struct key_list *list);

#endif

#include "key_list.h"

struct key_chunk {
  struct key_chunk *next;
  size_t used, size;
  unsigned char bytes[];
};

enum { FIRST_CHUNK = 1024, LARGEST_CHUNK = 1 << 20 };

/* A chunk with room for `wanted` bytes: each is twice as large as the one before. */
static struct key_chunk *chunk_with_room(struct key_list *list, size_t wanted) {
  struct key_chunk *last = list->last;
  if (last && wanted <= last->size - last->used) return last;
  size_t size = last ? 2 * last->size : FIRST_CHUNK;
  if (size > LARGEST_CHUNK) size = LARGEST_CHUNK;
  if (size < wanted) size = wanted;
  struct key_chunk *chunk = sqlite3_malloc64(sizeof *chunk + size);
  if (!chunk) return NULL;
  chunk->next = NULL;
  chunk->used = 0;
  chunk->size = size;
  if (last)
    last->next = chunk;
  else
    list->first = chunk;
  return list->last = chunk;
}

/* A key is its length, as one byte below 255, or 255 and 8 bytes; then its bytes. */
int besom__sql_key_list_add(struct key_list *list, const struct key *key) {
  size_t head = key->len < 255 ? 1 : 9;
  struct key_chunk *chunk = chunk_with_room(list, head + key->len);
  if (!chunk) return SQLITE_NOMEM;
  unsigned char *to = chunk->bytes + chunk->used;
  to[0] = head == 1 ? (unsigned char)key->len : 255;
  if (head > 1) memcpy(to + 1, &key->len, sizeof key->len);
  if (key->len) memcpy(to + head, key->data, key->len);
  chunk->used += head + key->len;
  list->count++;
  return SQLITE_OK;
}

void besom__sql_key_list_clear(struct key_list *list) {
  while (list->first) {
    struct key_chunk *chunk = list->first;
    list->first = chunk->next;
    sqlite3_free(chunk);
  }
  *list = (struct key_list){0};
}

/* ------------------------------------------------------------------ reading */

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  struct key_reader *reader = ctx;
  while (reader->chunk && reader->at == reader->chunk->used) {
    reader->chunk = reader->chunk->next;
    reader->at = 0;
  }
  if (!reader->chunk) return BESOM_END;
  const unsigned char *from = reader->chunk->bytes + reader->at;
  size_t head = from[0] < 255 ? 1 : 9;
  key->len = from[0];
  if (head > 1) memcpy(&key->len, from + 1, sizeof key->len);
  key->data = from + head;
  reader->at += head + key->len;
  return BESOM_OK;
}

static besom_status rewind_keys(void *ctx) {
  struct key_reader *reader = ctx;
  reader->chunk = reader->list->first;
  reader->at = 0;
  return BESOM_OK;
}

void besom__sql_key_reader_init(struct key_reader *reader, const struct key_list *list) {
  *reader = (struct key_reader){.list = list, .chunk = list->first};
  reader->source = (besom_source){next_key, rewind_keys, list->count, reader};
}

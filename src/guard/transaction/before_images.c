/*
 * Before images: what readers of other threads see of a transaction that is not committed yet.
 *
 * A writer changes filter and store in memory and commits afterwards. Until then a reader must not
 * see the change. So the writer first keeps the committed state of the key: its value, or that it
 * is absent. A reader that finds an image for its key answers from it; for all other keys the state
 * in memory and the committed state are the same. This needs nothing from the store, and holds for
 * all kinds and layouts, and beside migration steps, which change no key.
 *
 * Images are added while the writer has the view lock. A commit only marks them as past, without
 * that lock; the next transaction frees them.
 */
#include "guard/transaction/before_images.h"

enum { FIRST_ROOM = 64 };

struct image {
  struct image *next;
  uint64_t hash;
  uint32_t key_len;
  bool no_list; /* of the no list; else of the records */
  bool present;
  size_t value_len;
  uint8_t bytes[]; /* the key, then the value */
};

static size_t before_image_size_of(const struct image *image) {
  return sizeof *image + image->key_len + image->value_len;
}

static besom_bytes before_image_key_of(const struct image *image) {
  return (besom_bytes){image->bytes, image->key_len};
}

/* Keyed, so that keys of an adversary do not meet in one chain. */
static uint64_t hash_of(const besom_guard *g, const besom_bytes *key) {
  return besom__siphash(g->ids.store, key->data, key->len).lo;
}

static struct image *before_image_find(const struct images *images, uint64_t hash, bool no_list,
                                       const besom_bytes *key) {
  struct image *image = images->room ? images->slots[hash & (images->room - 1)] : NULL;
  while (image && !(image->hash == hash && image->no_list == no_list &&
                    bytes_equal(before_image_key_of(image), *key)))
    image = image->next;
  return image;
}

/* ------------------------------------------------------------------ adding */

static void link_image(struct images *images, struct image *image) {
  struct image **slot = &images->slots[image->hash & (images->room - 1)];
  image->next = *slot;
  *slot = image;
}

/* If there is no memory, the chains get longer. Fails only if there are none yet. */
static bool before_image_make_room(besom_guard *g) {
  struct images *images = &g->images;
  if (images->n < images->room) return true;
  size_t room = images->room ? 4 * images->room : FIRST_ROOM;
  struct image **slots = besom__allocate(&g->allocator, room * sizeof *slots);
  if (!slots) return images->room;
  struct images larger = {.slots = slots, .room = room};
  for (size_t i = 0; i < images->room; i++)
    for (struct image *image = images->slots[i], *next; image; image = next) {
      next = image->next;
      link_image(&larger, image);
    }
  besom__release(&g->allocator, images->slots, images->room * sizeof *slots);
  images->slots = slots;
  images->room = room;
  return true;
}

static struct image *image_new(const besom_guard *g, const besom_bytes *key,
                               const besom_bytes *value) {
  struct image shape = {.key_len = (uint32_t)key->len, .value_len = value ? value->len : 0};
  struct image *image = besom__allocate(&g->allocator, before_image_size_of(&shape));
  if (!image) return NULL;
  *image = shape;
  image->present = value;
  if (key->len) memcpy(image->bytes, key->data, key->len);
  if (shape.value_len) memcpy(image->bytes + key->len, value->data, shape.value_len);
  return image;
}

/* The first image of a key is the committed state; later ones are states within the transaction. */
besom_status besom__image_add(besom_guard *g, bool no_list, const besom_bytes *key,
                              const besom_bytes *value) {
  struct images *images = &g->images;
  uint64_t hash = hash_of(g, key);
  if (before_image_find(images, hash, no_list, key)) return BESOM_OK;
  struct image *image = before_image_make_room(g) ? image_new(g, key, value) : NULL;
  if (!image) return BESOM_NO_MEMORY;
  image->hash = hash;
  image->no_list = no_list;
  link_image(images, image);
  images->n++;
  images->of_batch = g->tx == TX_BATCH;
  if (images->of_batch) besom__set_reader(g->locks);
  __atomic_store_n(&images->valid, true, __ATOMIC_RELEASE);
  return BESOM_OK;
}

/* ------------------------------------------------------------------ reading */

/* The thread that has the batch sees its own changes. */
static bool sees_all(const besom_guard *g) {
  return g->images.of_batch && besom__is_reader(g->locks);
}

bool besom__image_find(const besom_guard *g, bool no_list, const besom_bytes *key,
                       struct before_image *out) {
  if (sees_all(g)) return false;
  const struct image *image = before_image_find(&g->images, hash_of(g, key), no_list, key);
  if (!image) return false;
  *out = (struct before_image){image->present, {image->bytes + image->key_len, image->value_len}};
  return true;
}

/* ------------------------------------------------------------------ all of them, by key */

static int before_image_compare_keys(besom_bytes a, besom_bytes b) {
  size_t common = a.len < b.len ? a.len : b.len;
  int order = common ? memcmp(a.data, b.data, common) : 0;
  return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Moves an entry of a heap down to its place. */
static void sift(struct listed_image *heap, size_t at, size_t n) {
  struct listed_image moved = heap[at];
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && before_image_compare_keys(heap[child].key, heap[child + 1].key) < 0)
      child++;
    if (before_image_compare_keys(heap[child].key, moved.key) <= 0) break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
}

static void sort_by_key(struct listed_image *images, size_t n) {
  for (size_t i = n / 2; i--;) sift(images, i, n);
  for (size_t end = n; end-- > 1;) {
    struct listed_image last = images[end];
    images[end] = images[0];
    images[0] = last;
    sift(images, 0, end);
  }
}

static bool in_range(const struct image *image, besom_bytes from, besom_bytes to) {
  besom_bytes key = before_image_key_of(image);
  return !image->no_list && (!from.data || before_image_compare_keys(key, from) >= 0) &&
         (!to.data || before_image_compare_keys(key, to) < 0);
}

besom_status besom__images_list(const besom_guard *g, besom_bytes from, besom_bytes to,
                                struct image_list *out) {
  const struct images *images = &g->images;
  *out = (struct image_list){.n = 0};
  if (!has_images(g) || sees_all(g)) return BESOM_OK;
  out->room = images->n;
  out->items = besom__allocate(&g->allocator, out->room * sizeof *out->items);
  if (!out->items) return BESOM_NO_MEMORY;
  for (size_t i = 0; i < images->room; i++)
    for (const struct image *image = images->slots[i]; image; image = image->next)
      if (in_range(image, from, to))
        out->items[out->n++] =
            (struct listed_image){before_image_key_of(image),
                                  {image->bytes + image->key_len, image->value_len},
                                  image->present};
  sort_by_key(out->items, out->n);
  return BESOM_OK;
}

void besom__images_list_free(const besom_guard *g, struct image_list *list) {
  besom__release(&g->allocator, list->items, list->room * sizeof *list->items);
}

/* The number of images with keys less than this one. */
size_t besom__images_before(const struct image_list *list, besom_bytes key) {
  size_t low = 0, high = list->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (before_image_compare_keys(list->items[middle].key, key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* ------------------------------------------------------------------ the end of a transaction */

void besom__images_end(besom_guard *g) {
  __atomic_store_n(&g->images.valid, false, __ATOMIC_RELEASE);
}

struct images besom__images_take(besom_guard *g) {
  struct images taken = g->images;
  g->images = (struct images){.slots = NULL};
  return taken;
}

void besom__images_free(const besom_guard *g, struct images *images) {
  for (size_t i = 0; i < images->room; i++)
    for (struct image *image = images->slots[i], *next; image; image = next) {
      next = image->next;
      besom__release(&g->allocator, image, before_image_size_of(image));
    }
  besom__release(&g->allocator, images->slots, images->room * sizeof *images->slots);
}

/* Before images: what readers see of a transaction that is not committed. */
#ifndef BESOM_GUARD_BEFORE_IMAGES_H
#define BESOM_GUARD_BEFORE_IMAGES_H

#include "guard/guard.h"

/* Only if keeps_images: keeps the committed state of a key, before it changes. value NULL: it is
   absent. no_list: its state on the no list. The caller has the write lock. Errors: NO_MEMORY. */
besom_status besom__image_add(besom_guard *g, bool no_list, const besom_bytes *key,
                              const besom_bytes *value);

struct before_image {
  bool present;
  besom_bytes value; /* borrowed until the read lock is released */
};

/* With the read lock: false if the state in memory is what this thread may see. */
bool besom__image_find(const besom_guard *g, bool no_list, const besom_bytes *key,
                       struct before_image *out);

/* With the read lock: the images that this thread must see, of keys >= from and < to, in key order.
   Free the list before the lock is released. */
struct listed_image {
  besom_bytes key, value;
  bool present;
};
struct image_list {
  struct listed_image *items;
  size_t n, room;
};
besom_status besom__images_list(const besom_guard *g, besom_bytes from, besom_bytes to,
                                struct image_list *out);
void besom__images_list_free(const besom_guard *g, struct image_list *list);
size_t besom__images_before(const struct image_list *list, besom_bytes key); /* number of them */

/* At the end of a transaction. take and free: with and without the write lock. */
void besom__images_end(besom_guard *g);
struct images besom__images_take(besom_guard *g);
void besom__images_free(const besom_guard *g, struct images *images);

#endif

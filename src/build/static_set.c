/* What kinds share that are built once from the digests of a set: fuse and ribbon. */
#include "kind.h"

static const struct static_set_ops *static_set_ops_of(const besom_filter *f) {
  return ((const struct static_set *)f)->ops;
}

/* An empty filter has cells that match some keys: it has the general calls. */
const struct query_calls *besom__static_query_calls(const besom_filter *f) {
  return static_set_ops_of(f) && f->items && f->hasher.id == HASH_XXH3
             ? &static_set_ops_of(f)->queries
             : NULL;
}

bool besom__static_contains(const besom_filter *f, besom_digest d) {
  return f->items && static_set_ops_of(f)->queries.contains_digest(f, d);
}

void besom__static_contains_many(const besom_filter *f, const besom_digest *d, size_t n,
                                 uint64_t *bitmap) {
  if (f->items)
    static_set_ops_of(f)->contains_many(f, d, n, bitmap);
  else
    memset(bitmap, 0, (n + 63) / 64 * sizeof *bitmap);
}

besom_status besom__static_build(besom_filter *f, const besom_config *config,
                                 const besom_source *yes, const besom_progress *progress,
                                 uint64_t most) {
  struct digests d;
  uint64_t wanted =
      config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  besom_status status = besom__collect(f, yes, wanted < most ? wanted : most, progress, &d);
  if (status != BESOM_OK) return status;
  status = f->kind->build->build_digests(f, config, &d);
  besom__digests_free(f, &d);
  return status;
}

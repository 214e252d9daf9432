/* What the inline calls of besom_inline.h copy. */
#include "kind.h"

/*
 * A filter with its kind's own queries is neither concurrent nor a list of domains, and has no
 * reports. One that is mapped, a set or busy has no inserts of its kind.
 */
void besom_inline_facts_of(const besom_filter *f, uint32_t layout, besom_inline_facts *out) {
  static const uint32_t no_generation = 0;
  static const uint64_t no_items = 0; /* read before the generation is compared, never written */
  *out = (besom_inline_facts){.generation = &no_generation, .of_queries = 1, .of_inserts = 1};
  out->items = (uint64_t *)(uintptr_t)&no_items;
  if (!f || f->hasher.id != HASH_XXH3 || !f->kind->query.inline_facts) return;
  if (f->queries != f->kind->query.calls(f)) return;
  if (!f->kind->query.inline_facts(f, layout, out)) return;
  bool takes_inserts = KIND_HAS(f->kind, change, calls) && f->inserts == f->kind->change->calls(f);
  out->generation = &f->generation;
  out->of_queries = f->generation;
  out->of_inserts = f->generation - !takes_inserts;
  out->secret = f->hasher.secret_u64;
  out->items = (uint64_t *)(uintptr_t)&f->items;
  out->capacity = f->capacity;
}

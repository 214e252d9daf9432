#include "workloads/replay_adversary.h"

#include <stdbool.h>

void replay_adversary_collect(replay_adversary *r, size_t n, uint64_t *keys) {
  r->absent.generate(&r->absent, r->queried, n, keys);
  r->queried += n;
}

static bool adversary_is_next(replay_adversary *r) {
  return random_unit(random_at(derive_seed(r->absent.seed, SEED_TURNS), r->number++)) < r->share;
}

void replay_adversary_choose(replay_adversary *r, size_t n, uint64_t *keys) {
  for (size_t i = 0; i < n; i++) {
    if (adversary_is_next(r) && r->found.count)
      keys[i] = r->found.keys[r->replayed++ % r->found.count];
    else
      replay_adversary_collect(r, 1, &keys[i]);
  }
}

void replay_adversary_free(replay_adversary *r) {
  key_list_free(&r->found);
}

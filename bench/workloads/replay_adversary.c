#include "workloads/replay_adversary.h"

#include <stdbool.h>

void replay_collect(replay *r, size_t n, uint64_t *keys) {
  r->strangers.generate(&r->strangers, r->asked, n, keys);
  r->asked += n;
}

static bool is_his_turn(replay *r) {
  return random_unit(random_at(derive_seed(r->strangers.seed, TOSSING), r->number++)) < r->share;
}

void replay_choose(replay *r, size_t n, uint64_t *keys) {
  for (size_t i = 0; i < n; i++) {
    if (is_his_turn(r) && r->found.count)
      keys[i] = r->found.keys[r->replayed++ % r->found.count];
    else
      replay_collect(r, 1, &keys[i]);
  }
}

void replay_free(replay *r) {
  key_list_free(&r->found);
}

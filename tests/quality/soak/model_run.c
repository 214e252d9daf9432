#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

void model_fail(const model *m, const char *what, size_t key) {
  besom_statistics stats = {.slots = 0};
  if (m->f) (void)besom_stats(m->f, &stats);
  printf("%s: %s\n", m->form->label, what);
  if (key != SIZE_MAX) printf("key %zu of %zu, %u copies\n", key, m->universe, m->copies[key]);
  printf("episode %" PRIu64 ", step %" PRIu64 ", %s, order %d, slots %" PRIu64
         ", width %u, keys %" PRIu64 "\n",
         m->episode, m->step, m->bound ? "bound" : "unbound", (int)m->order, stats.slots,
         stats.width, stats.keys);
  if (m->repeat) printf("only this episode: %s --episode %" PRIu64 "\n", m->repeat, m->episode);
  exit(1);
}

/* Of single keys: mostly inserts while the load rises, mostly removes while it falls. */
static void change_one(model *m) {
  uint64_t dice = model_below(m, 100);
  size_t i = model_pick(m);
  if (dice < (m->can & BESOM_CAN_NO_LIST_AT ? 25u : 4u))
    model_change_no_list(m, i);
  else if (m->has_values && dice < 30)
    model_use_value(m, i);
  else if (dice < (m->rising ? 70u : 40u))
    m->is_static ? model_remove(m, i) : model_insert(m, i);
  else
    model_remove(m, i);
}

static void count_layers(model *m) {
  size_t n = 0;
  if (!(m->can & BESOM_CAN_SCALE)) return;
  while (besom_layer(m->f, n)) n++;
  if (m->layers && n > m->layers) m->counts->resizes += n - m->layers;
  m->layers = n;
}

/* Another size, seed or list: what the kind can do. */
static void renew(model *m) {
  bool can_rekey = m->can & BESOM_CAN_REKEY && m->has_keys && !m->bound;
  if (m->is_static)
    model_rebuild(m);
  else if (model_chance(m, 8))
    model_build_again(m);
  else if (can_rekey && (!(m->can & BESOM_CAN_RESIZE) || model_chance(m, 2)))
    model_rekey(m);
  else
    model_resize(m);
}

/* Without its store a filter answers as before. */
static void unbind(model *m) {
  if (!m->bound) return;
  model_demand(m, besom_bind(m->f, NULL) == BESOM_OK);
  for (int n = 0; n < 50; n++) {
    size_t i = (size_t)model_below(m, m->universe);
    model_answer(m, i, besom_contains_digest(m->f, m->digests[i]));
  }
  model_bind(m);
}

/* What changes no answer. */
static void look_around(model *m) {
  uint64_t choice = model_below(m, 4);
  if (choice == 0)
    unbind(m);
  else if (choice == 1)
    model_set_reserve(m);
  else
    model_iterate(m);
}

/* An operation on the whole filter, as often as its size allows. */
static void change_all(model *m) {
  switch (model_below(m, 9)) {
  case 0:
    model_check(m);
    break;
  case 8:
    look_around(m);
    break;
  case 1:
    model_merge(m);
    break;
  case 2:
  case 3:
  case 4:
    renew(m);
    break;
  default:
    model_save(m);
  }
  if (model_chance(m, 3)) m->rising = !m->rising;
  count_layers(m);
}

void model_run(model *m, uint64_t steps) {
  uint64_t pause = model_pause(m);
  uint64_t next = model_below(m, pause);
  bool can_empty = m->is_static || m->bound || m->can & (BESOM_CAN_REMOVE | BESOM_CAN_REKEY);
  for (m->step = 0; m->step < steps && (can_empty || m->full < 200); m->step++) {
    if (model_chance(m, 5))
      model_query(m);
    else
      change_one(m);
    if (m->step < next) continue;
    change_all(m);
    next += 1 + model_below(m, pause);
  }
  model_check(m);
  model_check_reports(m);
}

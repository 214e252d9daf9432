/*
 * soak_model --seed S --amount OPERATIONS --kind KIND: episodes of random operations on filters of
 * one kind, in all its forms. model.h describes an episode.
 */
#include "model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "contract/subjects.h"

static batch request;

void model_fail(const model *m, const char *what, size_t key) {
  besom_statistics stats = {.slots = 0};
  if (m->f) (void)besom_stats(m->f, &stats);
  printf("%s: %s\n", m->form->label, what);
  if (key != SIZE_MAX) printf("key %zu of %zu, %u copies\n", key, m->universe, m->copies[key]);
  printf("episode %" PRIu64 ", step %" PRIu64 ", %s, order %d, slots %" PRIu64
         ", width %u, keys %" PRIu64 "\n",
         m->episode, m->step, m->bound ? "bound" : "unbound", (int)m->order, stats.slots,
         stats.width, stats.keys);
  printf("only this episode: --seed %" PRIu64 " --amount %" PRIu64 " --kind %s --episode %" PRIu64
         "\n",
         request.seed, request.amount, request.row, m->episode);
  exit(1);
}

/* Of single keys: mostly inserts while the load rises, mostly removes while it falls. */
static void change_one(model *m) {
  uint64_t dice = model_below(m, 100);
  size_t i = model_pick(m);
  if (dice < 4)
    model_change_no_list(m, i);
  else if (dice < (m->rising ? 70u : 40u))
    m->is_static ? model_remove(m, i) : model_insert(m, i);
  else
    model_remove(m, i);
}

static void count_layers(model *m) {
  size_t n = 0;
  if (!(m->can & BESOM_CAN_SCALE)) return;
  while (besom_layer(m->f, n)) n++;
  if (m->layers && n > m->layers) m->counts->growths += n - m->layers;
  m->layers = n;
}

/* An operation on the whole filter, as often as its size allows. */
static void change_all(model *m) {
  switch (model_below(m, 8)) {
  case 0:
    model_check(m);
    break;
  case 1:
    model_merge(m);
    break;
  case 2:
  case 3:
    model_rekey(m);
    break;
  case 4:
    model_rebuild(m);
    break;
  case 5:
    model_resize(m);
    break;
  default:
    model_save(m);
  }
  if (model_chance(m, 3)) m->rising = !m->rising;
  count_layers(m);
}

static void run_episode(model *m) {
  uint64_t pause = m->universe < 500 ? 500 : m->universe;
  uint64_t steps = 24 * pause;
  uint64_t next = model_below(m, pause);
  bool can_empty = m->is_static || m->bound || m->can & BESOM_CAN_REMOVE;
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
}

/* The forms of the kind. */
static size_t find_forms(const subjects *all, const char *kind, const subject **forms) {
  size_t n = 0;
  for (size_t i = 0; i < all->n; i++)
    if (kind && !strcmp(all->list[i].kind->name, kind)) forms[n++] = &all->list[i];
  if (n) return n;
  fputs("--kind must be one of:", stderr);
  for (size_t i = 0; besom_kinds(i); i++) fprintf(stderr, " %s", besom_kinds(i)->name);
  fputs("\n", stderr);
  exit(2);
}

static void run_episodes(const subject **forms, size_t n_forms, model_counts *counts) {
  uint64_t tried = 0;
  for (uint64_t e = 1; counts->operations < request.amount && tried < 1000000; e++, tried++) {
    if (request.episode) e = request.episode;
    uint64_t seed = mix64(request.seed << 24) + e;
    model m = {.counts = counts, .episode = e};
    if (model_open(&m, forms[mix64(seed) % n_forms], seed)) {
      run_episode(&m);
      counts->episodes++;
      tried = 0;
    }
    model_close(&m);
    if (request.episode) return;
  }
}

int main(int argc, char **argv) {
  static subjects all;
  const subject *forms[MAX_SUBJECTS];
  model_counts c = {0};
  request = batch_of(argc, argv, "--kind");
  find_subjects(&all);
  run_episodes(forms, find_forms(&all, request.row, forms), &c);
  count counts[] = {{"operations", c.operations},
                    {"queries", c.queries},
                    {"inserts", c.inserts},
                    {"removes", c.removes},
                    {"adaptations", c.adaptations},
                    {"bound_adaptations", c.bound_adaptations},
                    {"growths_and_rekeys", c.growths + c.rekeys},
                    {"rebuilds", c.rebuilds},
                    {"merges", c.merges},
                    {"save_load_cycles", c.saves},
                    {"mapped", c.mapped},
                    {"patches", c.patches},
                    {"refused_calls", c.refused},
                    {"full_checks", c.checks},
                    {"filters", c.episodes}};
  print_counts(counts, sizeof counts / sizeof *counts);
  return 0;
}

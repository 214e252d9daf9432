/*
 * soak_maplets --seed S --amount OPERATIONS --form FORM: episodes of random operations on maplets
 * of one form. maplets.h describes an episode.
 */
#include "maplets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"

void maplet_fail(const maplet_model *m, const char *what, size_t key) {
  printf("%s: %s\n", maplet_form_names[m->form], what);
  if (key != SIZE_MAX)
    printf("key %zu of %zu: has %x, must have %x, may have %x, has %x\n", key, m->n_keys,
           m->keys[key].has, maplet_must(m, key), maplet_may(m, key), maplet_ask(m, m->f, key));
  printf("options %s, slots %" PRIu64 ", width %u, %u bits per value, %" PRIu64 " pairs\n",
         m->config.options, m->slots, m->width, m->config.value_bits, m->pairs);
  fflush(stdout);
  abort();
}

/* ------------------------------------------------------------------ an episode */

/* Mostly inserts while the load rises, mostly removes while it falls. */
static void change_pair(maplet_model *m) {
  uint64_t dice = maplet_below(m, 100);
  size_t i = maplet_some_key(m);
  unsigned v = maplet_some_value(m);
  if (dice < 4)
    maplet_replace_pair(m, i, v, maplet_some_value(m));
  else if (dice < 7)
    maplet_set_value(m, i, v);
  else if (dice < 15)
    maplet_adapt(m, i, v);
  else if (dice < 17)
    maplet_adapt_key(m, i);
  else if (dice < 20)
    maplet_remove_key(m, i);
  else if (dice < 22)
    maplet_insert_many(m);
  else if (dice < (m->rising ? 65u : 40u))
    maplet_insert(m, i, v);
  else
    maplet_remove(m, i, v);
}

static void run_steps(maplet_model *m) {
  uint64_t pause = m->n_keys < 500 ? 500 : m->n_keys, next = maplet_below(m, pause);
  for (uint64_t step = 0; step < 24 * pause; step++) {
    if (maplet_chance(m, 4))
      maplet_query(m);
    else
      change_pair(m);
    if (m->full_reserve) maplet_move(m);
    m->full_reserve = false;
    if (step < next) continue;
    maplet_change_whole(m);
    if (maplet_chance(m, 3)) m->rising = !m->rising;
    next += 1 + maplet_below(m, pause);
  }
  maplet_check(m);
}

typedef struct episodes {
  maplet_form form;
  maplet_counts counts;
} episodes;

static void run_episode(void *ctx, uint64_t seed) {
  episodes *e = ctx;
  maplet_model m = {.counts = &e->counts};
  maplet_open(&m, e->form, seed);
  run_steps(&m);
  for (size_t i = 0; besom_layer(m.f, i); i++) e->counts.layers++;
  maplet_close(&m);
  e->counts.episodes++;
}

/* ------------------------------------------------------------------ the program */

static maplet_form form_of(const char *name) {
  for (int form = 0; form < MAPLET_FORMS; form++)
    if (name && !strcmp(name, maplet_form_names[form])) return (maplet_form)form;
  fputs("--form must be one of:", stderr);
  for (int form = 0; form < MAPLET_FORMS; form++) fprintf(stderr, " %s", maplet_form_names[form]);
  fputs("\n", stderr);
  exit(2);
}

int main(int argc, char **argv) {
  batch request = batch_of(argc, argv, "--form");
  episodes e = {.form = form_of(request.row)};
  const maplet_counts *c = &e.counts;
  batch_run(request, &c->operations, run_episode, &e);
  count counts[] = {{"operations", c->operations},
                    {"queries", c->queries},
                    {"inserts", c->inserts},
                    {"removes", c->removes},
                    {"replaces", c->replaces},
                    {"adaptations", c->adaptations},
                    {"resizes_and_rekeys", c->resizes + c->rekeys},
                    {"builds", c->builds},
                    {"merges", c->merges},
                    {"iterations", c->iterations},
                    {"save_load_cycles", c->saves},
                    {"mapped", c->mapped},
                    {"patches", c->patches},
                    {"refused_calls", c->refused},
                    {"full_checks", c->checks},
                    {"shared_answers", c->shared},
                    {"layers", c->layers},
                    {"filters", c->episodes}};
  print_counts(counts, sizeof counts / sizeof *counts);
  return 0;
}

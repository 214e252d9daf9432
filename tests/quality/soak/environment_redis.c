/* A guard on a Redis server that is emptied, loses keys, stops, or is stopped for a while. */
#define _GNU_SOURCE 1
#include <string.h>

#include "besom_store.h"
#include "environment.h"
#include "redis_server.h"

enum { KEYS = 150, OPERATIONS = 800 };

typedef struct world {
  random_stream random;
  besom_layout layout;
  besom_guard *g;
  uint64_t values[KEYS];
} world;

static uint64_t below(world *w, uint64_t n) {
  return random_below(&w->random, n);
}

static besom_status open_guard(world *w) {
  besom_store *store;
  besom_config filter = {.kind = "aqf", .capacity = 40, .fpr = 0.05};
  besom_guard_config config = {.filter = &filter, .layout = w->layout, .step_items = 8};
  besom_redis_options options = {.timeout_ms = 2000};
  besom_status status = besom_store_redis(redis_server_address(), "soak:", &options, NULL, &store);
  if (status != BESOM_OK) return status;
  status = besom_guard_open(&config, store, &w->g);
  if (status != BESOM_OK) besom_store_close(store);
  return status;
}

/* vanished: a key that was there must not be denied; the call fails. */
static void check(world *w, bool vanished) {
  for (uint64_t k = 0; k < KEYS; k++) {
    besom_bytes value;
    uint64_t found = 0;
    besom_status status = besom_guard_get_u64(w->g, key_u64(MEMBERS, k), &value);
    if (status == BESOM_OK && value.len == 8) memcpy(&found, value.data, 8);
    besom_guard_release(w->g, &value);
    if (vanished && status != BESOM_OK && status != BESOM_NOT_FOUND) continue;
    demand(status == (w->values[k] ? BESOM_OK : BESOM_NOT_FOUND) && found == w->values[k]);
  }
}

static besom_status change(world *w) {
  uint64_t k = below(w, KEYS), value = 1 + below(w, 1 << 30);
  bool removes = below(w, 3) == 0 && w->values[k];
  besom_status status = removes ? besom_guard_delete_u64(w->g, key_u64(MEMBERS, k))
                                : besom_guard_put_u64(w->g, key_u64(MEMBERS, k), &value, 8, 0);
  if (status == BESOM_OK) w->values[k] = removes ? 0 : value;
  return status;
}

/* The data are gone: nothing is denied, nothing is acknowledged, and open does not take what is
   left for a store. */
static void vanish(world *w) {
  static const char *const ways[] = {"FLUSHALL", "DEL soak:values", "DEL soak:index",
                                     "DEL soak:commits"};
  redis_server_run(ways[below(w, 2) ? 0 : below(w, 4)]);
  check(w, true);
  uint64_t before[KEYS];
  memcpy(before, w->values, sizeof before);
  for (unsigned i = 0; i < 5; i++) demand(change(w) != BESOM_OK);
  demand(!memcmp(before, w->values, sizeof before));
  check(w, true);
  besom_guard_close(w->g);
  redis_server_run("FLUSHALL");
  memset(w->values, 0, sizeof w->values);
}

/* The server ends, and another one, without data, starts elsewhere. */
static void end_server(world *w) {
  redis_server_stop();
  check(w, true);
  demand(change(w) == BESOM_IO);
  besom_guard_close(w->g);
  memset(w->values, 0, sizeof w->values);
}

void redis_world(uint64_t seed, environment_counts *counts) {
  world w = {.random = {mix64(seed)}};
  w.layout = below(&w, 2) ? BESOM_LAYOUT_SPLIT : BESOM_LAYOUT_MERGED;
  redis_server_address();
  redis_server_run("FLUSHALL");
  demand(open_guard(&w) == BESOM_OK);
  for (unsigned i = 0; i < OPERATIONS; i++, counts->operations++) {
    demand(change(&w) == BESOM_OK);
    uint64_t event = below(&w, 200);
    if (event > 2 || i < 20) continue;
    check(&w, false);
    if (event == 0) {
      vanish(&w);
    } else if (event == 1) {
      end_server(&w);
    } else { /* connections break */
      redis_server_run("CLIENT KILL TYPE normal SKIPME yes");
      check(&w, false);
    }
    counts->vanished++;
    if (event < 2) demand(open_guard(&w) == BESOM_OK);
  }
  check(&w, false);
  demand(besom_guard_close(w.g) == BESOM_OK);
}

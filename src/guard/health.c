/* The judgement of a guard's statistics: docs/operations.md explains each sentence. */
#include "guard/guard.h"

enum { MANY_TIMES = 4 }; /* the expected rate: noise in a window of 4096 queries stays below */

static besom_health critical(const besom_guard *g, const besom_guard_statistics *s,
                             const char **sentence) {
  if (__atomic_load_n(&g->group_error, __ATOMIC_RELAXED) != BESOM_OK) {
    *sentence = "changes wait to be written: free disk space, then call besom_guard_sync";
    return BESOM_HEALTH_CRITICAL;
  }
  if (s->full_puts) {
    *sentence = "puts are refused: the filter is full and may not grow (max_filter_bytes, grow_at)";
    return BESOM_HEALTH_CRITICAL;
  }
  return BESOM_HEALTH_OK;
}

static const char *warning(const besom_guard *g, const besom_guard_statistics *s) {
  struct observed now = besom__guard_observe(g);
  if (s->exceptions_forgotten && !now.has_front)
    return "needs a writer, background or memory: false positives are forgotten and repeated";
  if (s->rekeys_refused || s->growths_refused)
    return "needs memory: max_filter_bytes does not let the filter be rekeyed or grow";
  if (s->failed_steps) return "steps of a migration have failed: does the store refuse writes?";
  if (s->migration_pending && !s->migrating)
    return "needs a writer or background: a rekey or a growth is due";
  if (s->bypassed > s->queries / 2 && s->bypassed)
    return "the filter is out of date and not asked: call besom_guard_refresh";
  if (s->window_fpr > MANY_TIMES * now.expected_fpr)
    return "many more false positives than expected: replayed or hostile queries";
  return NULL;
}

besom_status besom_guard_health(const besom_guard *g, besom_health *health, const char **sentence) {
  const char *unused;
  besom_guard_statistics stats;
  if (!health) return BESOM_INVALID;
  if (!sentence) sentence = &unused;
  besom_status status = besom_guard_stats(g, &stats);
  if (status != BESOM_OK) return status;
  *health = critical(g, &stats, sentence);
  if (*health != BESOM_HEALTH_OK) return BESOM_OK;
  const char *found = warning(g, &stats);
  *health = found ? BESOM_HEALTH_WARNING : BESOM_HEALTH_OK;
  *sentence = found ? found : "all is well";
  return BESOM_OK;
}

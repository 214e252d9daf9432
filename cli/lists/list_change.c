#include "lists/list_change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "fail.h"
#include "files.h"
#include "lists/conflicts.h"
#include "number_text.h"

#define DEFAULT_LIMIT 0.2

enum { CHANGES_SHOWN = 5, SHOWN_BYTES = 200 };

/* Distinct keys. */
typedef struct change_counts {
  uint64_t old_keys, new_keys, added, removed;
} change_counts;

double list_change_limit(const char *text) {
  if (!text) return DEFAULT_LIMIT;
  if (strcmp(text, "any") == 0) return -1;
  char *end;
  double share = strtod(text, &end);
  bool percent = end != text && *end == '%';
  if (percent) share /= 100, end++;
  if (end == text || *end || !(share >= 0 && share <= 1e6))
    usage_error("--max-change: '%s' is neither a share, such as 20%%, nor any", text);
  if (!percent && share > 1)
    usage_error("--max-change: %s is more than the whole list: is %s%% meant, or any?", text, text);
  return share;
}

/* ------------------------------------------------------------------ counting */

typedef struct digest_list {
  besom_digest *at;
  size_t n, room;
} digest_list;

static int change_compare_digests(const void *a, const void *b) {
  const besom_digest *x = a, *y = b;
  if (x->hi != y->hi) return x->hi < y->hi ? -1 : 1;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void digest_list_add(digest_list *list, besom_digest digest) {
  if (list->n == list->room) {
    list->room = list->room ? 2 * list->room : 1024;
    list->at = reallocate(list->at, list->room, sizeof *list->at);
  }
  list->at[list->n++] = digest;
}

/* The number of distinct digests. Frees the list. */
static uint64_t digest_list_count(digest_list *list) {
  uint64_t n = 0;
  if (list->n) qsort(list->at, list->n, sizeof *list->at, change_compare_digests);
  for (size_t i = 0; i < list->n; i++)
    n += !i || change_compare_digests(&list->at[i - 1], &list->at[i]) != 0;
  free(list->at);
  return n;
}

static change_counts change_count(const changed_list *list) {
  digest_list kept = {0}, added = {0};
  besom_bytes batch[KEYS_PER_BATCH];
  uint64_t bitmap[KEYS_PER_BATCH / 64];
  bool domains = besom_domain_labels(list->old, NULL);
  bar_begin("comparing with the old list", "bytes");
  for (size_t n; (n = keys_batch(list->yes, batch)); keys_tick(list->yes)) {
    check(besom_contains_many(list->old, batch, n, bitmap), "comparing with the old list");
    for (size_t i = 0; i < n; i++) {
      besom_digest digest = besom_hash(list->old, batch[i].data, batch[i].len);
      bool yes = bitmap[i / 64] >> (i % 64) & 1;
      if (yes && domains) yes = besom_contains_digest(list->old, digest); /* not a parent */
      digest_list_add(yes ? &kept : &added, digest);
    }
  }
  keys_rewind(list->yes);
  bar_end();
  change_counts c = {.old_keys = filter_stats(list->old).keys, .added = digest_list_count(&added)};
  uint64_t stayed = digest_list_count(&kept);
  c.new_keys = stayed + c.added;
  c.removed = c.old_keys > stayed ? c.old_keys - stayed : 0;
  return c;
}

/* ------------------------------------------------------------------ showing */

static void change_show_key(char sign, besom_bytes key) {
  fprintf(stderr, "  %c %.*s\n", sign, (int)(key.len < SHOWN_BYTES ? key.len : SHOWN_BYTES),
          (const char *)key.data);
}

static void change_show_added(const changed_list *list) {
  besom_bytes key;
  for (unsigned shown = 0; shown < CHANGES_SHOWN && keys_next(list->yes, &key);) {
    if (besom_contains(list->old, key.data, key.len)) continue;
    change_show_key('+', key);
    shown++;
  }
  keys_rewind(list->yes);
}

static void change_show_removed(const changed_list *list) {
  if (!list->was.n) return;
  key_reader *was = keys_open(list->was, list->form);
  keys_keep(was);
  conflicts *common = conflicts_find(list->yes, was);
  besom_bytes key;
  for (unsigned shown = 0; shown < CHANGES_SHOWN && keys_next(was, &key);) {
    if (conflicts_has(common, key) || !besom_contains(list->old, key.data, key.len)) continue;
    change_show_key('-', key);
    shown++;
  }
  conflicts_free(common);
  keys_close(was);
}

void list_change_check(const changed_list *list, const char *limit) {
  double share = list_change_limit(limit);
  if (share < 0 || !filter_stats(list->old).keys) return;
  change_counts c = change_count(list);
  uint64_t more = c.added > c.removed ? c.added : c.removed;
  double changed = (double)more / (double)c.old_keys;
  if (changed <= share * (1 + LIST_CHANGE_ROUNDING)) return;
  fprintf(stderr, "%s has %s keys, the new list %s: %s added, %s removed\n", list->old_path,
          grouped(c.old_keys).text, grouped(c.new_keys).text, grouped(c.added).text,
          grouped(c.removed).text);
  change_show_added(list);
  change_show_removed(list);
  if (!c.new_keys)
    fail("refused: the new list has no keys: was it downloaded completely, and is its format "
         "right? If no keys are meant: --allow-empty --max-change any");
  fail(
      "refused: %.0f %% of the list changed, and %.0f %% are allowed. Is the new list complete? If "
      "it is: --max-change %.0f%%, or --max-change any",
      100 * changed, 100 * share, ceil(100 * changed * (1 - LIST_CHANGE_ROUNDING)));
}

#include "lists/domain_lists.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "lists/conflicts.h"
#include "lists/domains.h"

#define SYSTEM_SUFFIXES "/usr/share/publicsuffix/public_suffix_list.dat"

enum { MOST_LABELS = 127 };

/* Keys that live until the program ends. */
typedef struct key_list {
  besom_bytes *at;
  size_t n, room;
} key_list;

static void key_list_add(key_list *list, const char *prefix, besom_bytes key) {
  if (list->n == list->room) {
    list->room = list->room ? 2 * list->room : 1024;
    list->at = reallocate(list->at, list->room, sizeof *list->at);
  }
  size_t before = strlen(prefix);
  char *copy = allocate(1, before + key.len + 1);
  memcpy(copy, prefix, before);
  memcpy(copy + before, key.data, key.len);
  list->at[list->n++] = (besom_bytes){copy, before + key.len};
}

/* ------------------------------------------------------------------ exceptions */

static bool parent_of(besom_bytes name, besom_bytes *parent) {
  const char *at = name.data, *dot = name.len ? memchr(at, '.', name.len) : NULL;
  if (!dot) return false;
  *parent = (besom_bytes){dot + 1, name.len - (size_t)(dot + 1 - at)};
  return true;
}

static bool has_listed_parent(const conflicts *listed, besom_bytes name) {
  while (parent_of(name, &name))
    if (conflicts_has(listed, name)) return true;
  return false;
}

static unsigned find_exceptions(const conflicts *listed, key_reader *no, bool yes_wins,
                                key_list *out) {
  besom_bytes key;
  unsigned most = 0;
  while (keys_next(no, &key)) {
    if (!has_listed_parent(listed, key) || (yes_wins && conflicts_has(listed, key))) continue;
    unsigned labels = domain_count_labels(key);
    if (labels > most) most = labels;
    key_list_add(out, "!", key);
  }
  keys_rewind(no);
  return most;
}

/* ------------------------------------------------------------------ public suffixes */

/* Of the rule *.ck, ck is a suffix, and so is every name below it: these cannot be listed. A rule
 * that begins with ! takes a name out of those. */
static void find_suffixes(const conflicts *listed, const char *path, key_list *out) {
  key_form form = {.domains = true, .comments = "//", .is_quiet = true};
  key_reader *rules = keys_open((words){&path, 1}, &form);
  besom_bytes rule;
  while (keys_next(rules, &rule))
    if (*(const char *)rule.data != '!' && !conflicts_has(listed, rule))
      key_list_add(out, "", rule);
  keys_close(rules);
}

static void add_suffixes(const conflicts *listed, const char *path, key_list *out) {
  if (!path && access(SYSTEM_SUFFIXES, R_OK) != 0) {
    fprintf(stderr,
            "%s: " SYSTEM_SUFFIXES " is missing, so a false positive could block all names below a "
            "public suffix. Install the package publicsuffix, or give --suffixes FILE\n",
            program_name);
    return;
  }
  find_suffixes(listed, path ? path : SYSTEM_SUFFIXES, out);
}

domain_plan domain_lists_prepare(key_reader *yes, key_reader *no, const char *suffixes,
                                 bool yes_wins) {
  static key_list exceptions, of_all; /* both lists refer to them */
  conflicts *listed = conflicts_set(yes);
  unsigned labels = keys_most_labels(yes);
  unsigned excepted = find_exceptions(listed, no, yes_wins, &exceptions);
  add_suffixes(listed, suffixes, &of_all);
  conflicts_free(listed);
  keys_append(yes, exceptions.at, exceptions.n);
  keys_append(no, of_all.at, of_all.n);
  if (excepted > labels) labels = excepted;
  if (!labels) labels = 1;
  return (domain_plan){labels < MOST_LABELS ? labels : MOST_LABELS, exceptions.n, of_all.n};
}

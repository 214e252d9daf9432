#include "lists/domain_lists.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "lists/domains.h"
#include "lists/key_index.h"

#define SYSTEM_SUFFIXES "/usr/share/publicsuffix/public_suffix_list.dat"

enum { MOST_LABELS = 127 };

/* What is added to the lists. It lives until the program ends: the lists refer to the keys. */
typedef struct added_keys {
  key_index *exceptions, *suffixes, *parents;
  besom_bytes *to_yes, *to_no;
  unsigned labels; /* the most of an exception */
} added_keys;

/* ------------------------------------------------------------------ the no list */

bool domain_is_below(const conflicts *listed, besom_bytes name) {
  while (domain_parent(name, &name))
    if (conflicts_has(listed, name)) return true;
  return false;
}

static void add_exception(added_keys *to, besom_bytes name) {
  char mark[1 + DOMAIN_BYTES] = "!";
  unsigned labels = domain_count_labels(name);
  if (labels > to->labels) to->labels = labels;
  memcpy(mark + 1, name.data, name.len); /* in its spelling: at most 253 bytes */
  key_index_add(to->exceptions, (besom_bytes){mark, 1 + name.len});
}

/* A false positive for a parent would be one for the name. */
static void add_parents(added_keys *to, besom_bytes name) {
  while (domain_parent(name, &name))
    if (!key_index_contains(to->suffixes, name)) key_index_add(to->parents, name);
}

static void read_no_list(const conflicts *listed, key_reader *no, bool yes_wins, added_keys *to) {
  besom_bytes key;
  while (keys_next(no, &key)) {
    if (!domain_is_below(listed, key))
      add_parents(to, key);
    else if (!yes_wins || !conflicts_has(listed, key))
      add_exception(to, key);
  }
  keys_rewind(no);
}

/* ------------------------------------------------------------------ public suffixes */

/* Of the rule *.ck, ck is a suffix, and so is every name below it: these cannot be listed. A rule
 * that begins with "!" takes a name out of those. It is skipped, because it is no name. */
static void read_suffixes(const conflicts *listed, const char *path, key_index *to) {
  key_form form = {.domains = true, .comments = "//", .is_quiet = true};
  key_reader *rules = keys_open((words){&path, 1}, &form);
  besom_bytes rule;
  while (keys_next(rules, &rule))
    if (!conflicts_has(listed, rule)) key_index_add(to, rule);
  if (!keys_count(rules)) fail("%s: no public suffixes: is this a file of publicsuffix.org?", path);
  keys_close(rules);
}

static void find_suffixes(const conflicts *listed, const char *path, key_index *to) {
  if (!path && access(SYSTEM_SUFFIXES, R_OK) != 0) {
    fprintf(stderr,
            "%s: " SYSTEM_SUFFIXES " is missing, so a false positive could block all names below a "
            "public suffix. Install the package publicsuffix, or give --suffixes FILE\n",
            program_name);
    return;
  }
  read_suffixes(listed, path ? path : SYSTEM_SUFFIXES, to);
}

/* ------------------------------------------------------------------ both lists */

static size_t copy_keys(const key_index *keys, besom_bytes *to) {
  uint32_t n = key_index_count(keys);
  for (uint32_t i = 0; i < n; i++) to[i] = key_index_key(keys, i);
  return n;
}

/* Those that are asked and that the no list does not have itself. */
static size_t copy_parents(key_index *parents, unsigned labels, key_reader *no, besom_bytes *to) {
  bool *is_known = allocate(key_index_count(parents), sizeof *is_known);
  size_t n = 0;
  besom_bytes key;
  while (key_index_count(parents) && keys_next(no, &key))
    if (key_index_contains(parents, key)) is_known[key_index_add(parents, key)] = true;
  keys_rewind(no);
  for (uint32_t i = 0; i < key_index_count(parents); i++) {
    key = key_index_key(parents, i);
    if (!is_known[i] && domain_count_labels(key) <= labels) to[n++] = key;
  }
  free(is_known);
  return n;
}

domain_plan domain_lists_prepare(key_reader *yes, key_reader *no, const char *suffixes,
                                 bool yes_wins, unsigned least_labels) {
  static added_keys added; /* a leak checker finds it */
  added = (added_keys){key_index_create(), key_index_create(), key_index_create(), NULL, NULL, 0};
  conflicts *listed = conflicts_set(yes);
  find_suffixes(listed, suffixes, added.suffixes);
  read_no_list(listed, no, yes_wins, &added);
  conflicts_free(listed);
  unsigned labels = keys_most_labels(yes);
  if (added.labels > labels) labels = added.labels;
  if (least_labels > labels) labels = least_labels;
  if (labels > MOST_LABELS) labels = MOST_LABELS;
  size_t exceptions = key_index_count(added.exceptions), n = key_index_count(added.suffixes);
  added.to_yes = allocate(exceptions, sizeof *added.to_yes);
  added.to_no = allocate(n + key_index_count(added.parents), sizeof *added.to_no);
  keys_append(yes, added.to_yes, copy_keys(added.exceptions, added.to_yes));
  n = copy_keys(added.suffixes, added.to_no);
  keys_append(no, added.to_no, n + copy_parents(added.parents, labels, no, added.to_no + n));
  return (domain_plan){labels ? labels : 1, exceptions, n};
}

/* besom add, remove, fix: change a filter key by key. The file is written at the end: all keys take
 * effect, or none. */
#include <stdio.h>

#include "bar.h"
#include "fail.h"
#include "files.h"
#include "keys.h"
#include "verb.h"

static struct {
  bool no;
  key_form form;
} given;

static const argument fix_arguments[] = {KEY_FORM_ARGUMENTS(given.form)};
static const argument list_arguments[] = {
    {"--no", NULL, "change the no list: keys that must be answered no", .flag = &given.no},
    KEY_FORM_ARGUMENTS(given.form),
};

static const command add_command = {
    .usage = "add FILTER [FILE] [options]",
    .about = "Adds the keys of FILE, or of standard input, to a filter.\n\n" KEY_FORM_HELP,
    .arguments = list_arguments,
    .argument_count = COUNT_OF(list_arguments),
    .least_words = 1,
    .most_words = 2,
};

static const command remove_command = {
    .usage = "remove FILTER [FILE] [options]",
    .about = "Removes the keys of FILE, or of standard input, from a filter. Remove only keys that "
             "were added: removing a false positive removes the fingerprint of a "
             "member.\n\n" KEY_FORM_HELP,
    .arguments = list_arguments,
    .argument_count = COUNT_OF(list_arguments),
    .least_words = 1,
    .most_words = 2,
};

static const command fix_command = {
    .usage = "fix FILTER [FILE] [options]",
    .about =
        "Reports the keys of FILE, or of standard input, as false positives. The filter adapts: "
        "it answers no to them from now on.\n\n" KEY_FORM_HELP,
    .arguments = fix_arguments,
    .argument_count = COUNT_OF(fix_arguments),
    .least_words = 1,
    .most_words = 2,
    .examples = "  echo good.example | besom fix blocked.besom",
};

/* The number of keys that changed the filter, and of keys that did not. */
typedef struct outcome {
  uint64_t changed, unchanged;
} outcome;

typedef besom_status change(besom_filter *f, besom_bytes key, outcome *o);

static besom_status add_key(besom_filter *f, besom_bytes key, outcome *o) {
  o->changed++;
  return given.no ? besom_no_add(f, key.data, key.len) : besom_insert(f, key.data, key.len);
}

static besom_status remove_key(besom_filter *f, besom_bytes key, outcome *o) {
  besom_status status =
      given.no ? besom_no_remove(f, key.data, key.len) : besom_remove(f, key.data, key.len);
  if (status == BESOM_NOT_FOUND)
    o->unchanged++;
  else
    o->changed++;
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

static besom_status fix_key(besom_filter *f, besom_bytes key, outcome *o) {
  if (!besom_contains(f, key.data, key.len)) {
    o->unchanged++;
    return BESOM_OK;
  }
  o->changed++;
  return besom_adapt(f, key.data, key.len);
}

/* Growing does not enlarge the reserve, so it only helps when keys are added to the set. */
static _Noreturn void explain_full(const besom_filter *f, const char *path, const char *position,
                                   change *change_key) {
  if (change_key == fix_key)
    fail("%s: the reserve for adaptation is full at %s. Build the filter again, with these keys as "
         "its no list: besom build --no",
         path, position);
  if (given.no)
    fail("%s: the no list is full at %s. Build the filter again, with the whole no list: "
         "besom build --dynamic --no",
         path, position);
  if (filter_kind(f)->abilities & BESOM_CAN_RESIZE)
    fail("%s: the filter is full at %s. To double its capacity: besom grow %s", path, position,
         path);
  fail("%s: the filter is full at %s, and filters of kind %s cannot grow. Build a larger one: "
       "besom build --capacity",
       path, position, filter_stats(f).kind);
}

static _Noreturn void explain(besom_status status, const besom_filter *f, const char *path,
                              const char *position, change *change_key) {
  const char *kind = filter_stats(f).kind;
  if (status == BESOM_UNSUPPORTED && filter_kind(f)->abilities & BESOM_CAN_BUILD_NO)
    fail("%s: a filter of kind %s is static: it does not store the no list that a new key must be "
         "compared with. For a filter that can change: besom build --dynamic",
         path, kind);
  if (status == BESOM_UNSUPPORTED)
    fail("%s: filters of kind %s do not support this; besom kinds lists what each kind supports",
         path, kind);
  if (status == BESOM_NEEDS_STORE)
    fail("%s: filters of kind %s adapt only with the stored keys. For a database with such a "
         "filter: besom db",
         path, kind);
  if (status == BESOM_IS_MEMBER)
    fail("%s: the key at %s is on the other list: remove it there first", path, position);
  if (status == BESOM_FULL) explain_full(f, path, position, change_key);
  check(status, "%s: %s", path, position);
  fail("%s: %s", path, position);
}

static int change_all(words words, change *change_key, const char *changed, const char *unchanged) {
  const char *path = words.at[0];
  besom_filter *f = filter_load(path);
  key_reader *keys = keys_open((struct words){words.at + 1, words.n - 1}, &given.form);
  outcome o = {0, 0};
  besom_bytes key;
  bar_begin("reading keys", "bytes");
  while (keys_next(keys, &key)) {
    besom_status status = change_key(f, key, &o);
    if (status != BESOM_OK) explain(status, f, path, keys_position(keys), change_key);
    if (keys_count(keys) % 1024 == 0) keys_tick(keys);
  }
  bar_end();
  filter_save(f, path);
  fprintf(stderr, "%s: %llu %s", path, (unsigned long long)o.changed, changed);
  if (o.unchanged) fprintf(stderr, ", %llu %s", (unsigned long long)o.unchanged, unchanged);
  fputs("\n", stderr);
  keys_close(keys);
  besom_free(f);
  return o.changed || !o.unchanged ? EXIT_YES : EXIT_NO;
}

static int add(words words) {
  return change_all(words, add_key, "added", "");
}

static int remove_keys(words words) {
  return change_all(words, remove_key, "removed", "not found");
}

static int fix(words words) {
  return change_all(words, fix_key, "fixed", "answered no already");
}

const verb add_verb = {"add", "add keys to a filter", &add_command, add};
const verb remove_verb = {"remove", "remove keys from a filter", &remove_command, remove_keys};
const verb fix_verb = {"fix", "report false positives, so that they are answered no", &fix_command,
                       fix};

/* besom add, remove, fix: changes of a filter, key by key. All of them or none: the file is written at the end. */
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
    {"--no", NULL, "on the no list: these keys are to be answered no", .flag = &given.no},
    KEY_FORM_ARGUMENTS(given.form),
};

static const command add_command = {
    .usage = "add FILTER [FILE] [options]",
    .about = "Adds the keys of the file, or standard input, to the filter.\n\n" KEY_FORM_HELP,
    .arguments = list_arguments,
    .argument_count = COUNT_OF(list_arguments),
    .least_words = 1,
    .most_words = 2,
};

static const command remove_command = {
    .usage = "remove FILTER [FILE] [options]",
    .about = "Takes the keys of the file, or standard input, out of the filter. Remove only keys "
             "that were added: any\n"
             "other that the filter wrongly answers yes to would take a member with "
             "it.\n\n" KEY_FORM_HELP,
    .arguments = list_arguments,
    .argument_count = COUNT_OF(list_arguments),
    .least_words = 1,
    .most_words = 2,
};

static const command fix_command = {
    .usage = "fix FILTER [FILE] [options]",
    .about = "Tells the filter that these keys, from the file or standard input, were false "
             "positives: they are not\n"
             "answered yes again.\n\n" KEY_FORM_HELP,
    .arguments = fix_arguments,
    .argument_count = COUNT_OF(fix_arguments),
    .least_words = 1,
    .most_words = 2,
    .more = "  echo good.example | besom fix blocked.besom",
};

/* How many keys were changed, and how many needed no change. */
typedef struct outcome {
  uint64_t done, idle;
} outcome;

typedef besom_status change(besom_filter *f, besom_bytes key, outcome *o);

static besom_status add_key(besom_filter *f, besom_bytes key, outcome *o) {
  o->done++;
  return given.no ? besom_no_add(f, key.data, key.len) : besom_insert(f, key.data, key.len);
}

static besom_status remove_key(besom_filter *f, besom_bytes key, outcome *o) {
  besom_status status =
      given.no ? besom_no_remove(f, key.data, key.len) : besom_remove(f, key.data, key.len);
  if (status == BESOM_NOT_FOUND)
    o->idle++;
  else
    o->done++;
  return status == BESOM_NOT_FOUND ? BESOM_OK : status;
}

static besom_status fix_key(besom_filter *f, besom_bytes key, outcome *o) {
  if (!besom_contains(f, key.data, key.len)) {
    o->idle++;
    return BESOM_OK;
  }
  o->done++;
  return besom_adapt(f, key.data, key.len);
}

static _Noreturn void explain(besom_status status, const besom_filter *f, const char *path,
                              const key_reader *keys) {
  const char *kind = filter_stats(f).kind;
  if (status == BESOM_UNSUPPORTED && filter_kind(f)->abilities & BESOM_CAN_BUILD_NO)
    fail("%s: a filter of the kind %s is static: it keeps no trace of its no list that a new key "
         "could be held "
         "against. besom build --dynamic makes one that can be changed",
         path, kind);
  if (status == BESOM_UNSUPPORTED) fail("%s: a filter of the kind %s cannot do that", path, kind);
  if (status == BESOM_FULL)
    fail("%s: no room for %s: besom grow makes some", path, keys_place(keys));
  check(status, "%s: %s", path, keys_place(keys));
  fail("%s", path);
}

static int change_all(words words, change *apply, const char *what, const char *idle) {
  const char *path = words.at[0];
  besom_filter *f = filter_load(path);
  key_reader *keys = keys_open((struct words){words.at + 1, words.n - 1}, &given.form);
  outcome o = {0, 0};
  besom_bytes key;
  bar_begin("changing", "bytes");
  while (keys_next(keys, &key)) {
    besom_status status = apply(f, key, &o);
    if (status != BESOM_OK) explain(status, f, path, keys);
    if (keys_count(keys) % 1024 == 0) keys_tick(keys);
  }
  bar_end();
  filter_save(f, path);
  fprintf(stderr, "%s: %llu %s", path, (unsigned long long)o.done, what);
  if (o.idle) fprintf(stderr, ", %llu %s", (unsigned long long)o.idle, idle);
  fputs("\n", stderr);
  keys_close(keys);
  besom_free(f);
  return o.done || !o.idle ? EXIT_YES : EXIT_NO;
}

static int add(words words) {
  return change_all(words, add_key, "added", "");
}

static int take_out(words words) {
  return change_all(words, remove_key, "removed", "not found");
}

static int fix(words words) {
  return change_all(words, fix_key, "fixed", "answered no already");
}

const verb add_verb = {"add", "add keys to a filter", &add_command, add};
const verb remove_verb = {"remove", "take keys out of a filter", &remove_command, take_out};
const verb fix_verb = {"fix", "these were false positives: never again", &fix_command, fix};

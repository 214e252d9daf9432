/* besom add, remove, fix: change a filter by keys. The file is written at the end: all keys take
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
} given = {.form = {.is_list = true}};

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

/* Changes the filter by keys in their order, up to the first one that fails. *done is the number of
 * keys that did not fail. */
typedef besom_status change(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                            outcome *o);

static besom_status add_keys(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                             outcome *o) {
  *done = 0;
  besom_status status = besom_insert_many(f, keys, n, done);
  o->changed += *done;
  return status;
}

static besom_status add_no_keys(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                                outcome *o) {
  for (*done = 0; *done < n; ++*done) {
    besom_status status = besom_no_add(f, keys[*done].data, keys[*done].len);
    if (status != BESOM_OK) return status;
    o->changed++;
  }
  return BESOM_OK;
}

static besom_status remove_keys(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                                outcome *o) {
  for (*done = 0; *done < n; ++*done) {
    besom_bytes key = keys[*done];
    besom_status status =
        given.no ? besom_no_remove(f, key.data, key.len) : besom_remove(f, key.data, key.len);
    if (status != BESOM_OK && status != BESOM_NOT_FOUND) return status;
    o->changed += status == BESOM_OK;
    o->unchanged += status == BESOM_NOT_FOUND;
  }
  return BESOM_OK;
}

static besom_status fix_keys(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                             outcome *o) {
  for (*done = 0; *done < n; ++*done) {
    besom_bytes key = keys[*done];
    bool positive = besom_contains(f, key.data, key.len);
    besom_status status = positive ? besom_adapt(f, key.data, key.len) : BESOM_OK;
    if (status != BESOM_OK && status != BESOM_EVICTED) return status;
    o->changed += positive;
    o->unchanged += !positive;
  }
  return BESOM_OK;
}

static bool can_grow(const besom_filter *f) {
  return besom_abilities(f) & BESOM_CAN_RESIZE;
}

static _Noreturn void explain_full(const besom_filter *f, const char *path, const char *position) {
  if (can_grow(f))
    fail("%s: the filter is full at %s. To double its capacity: besom grow %s", path, position,
         path);
  fail("%s: the filter is full at %s, and filters of kind %s cannot grow. Build a larger one: "
       "besom build --capacity",
       path, position, filter_stats(f).kind);
}

/* The reserve grows with the capacity; small filters have a minimum. */
static _Noreturn void explain_reserve_full(const besom_filter *f, const char *path,
                                           const char *position) {
  fail(
      "%s: the reserve for %s is full at %s. For a larger one: besom build --reserve%s. %sOr build "
      "the filter again with %s",
      path, given.no ? "the no list" : "adaptation", position, can_grow(f) ? ", or besom grow" : "",
      given.no ? "" : "To forget old keys instead: besom build --options forget=yes. ",
      given.no ? "the whole no list: besom build --dynamic --no"
               : "these keys as its no list: besom build --no");
}

static _Noreturn void explain(besom_status status, const besom_filter *f, const char *path,
                              const char *position) {
  const char *kind = filter_stats(f).kind;
  if (status == BESOM_UNSUPPORTED && besom_abilities(f) & BESOM_CAN_BUILD_NO)
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
  if (status == BESOM_FULL) explain_full(f, path, position);
  if (status == BESOM_RESERVE_FULL) explain_reserve_full(f, path, position);
  check(status, "%s: %s", path, position);
  fail("%s: %s", path, position);
}

static int change_all(words args, change *change_keys, const char *changed, const char *unchanged) {
  const char *path = args.at[0];
  besom_filter *f = filter_load(path);
  key_reader *keys = keys_open((words){args.at + 1, args.n - 1}, &given.form);
  outcome o = {0, 0};
  besom_bytes batch[KEYS_PER_BATCH];
  bar_begin("reading keys", "bytes");
  for (size_t n, done; (n = keys_batch(keys, batch)); keys_tick(keys)) {
    besom_status status = change_keys(f, batch, n, &done, &o);
    if (status != BESOM_OK) explain(status, f, path, keys_batch_position(keys, done));
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

static int add(words args) {
  return change_all(args, given.no ? add_no_keys : add_keys, "added", "");
}

static int remove_all(words args) {
  return change_all(args, remove_keys, "removed", "not found");
}

static int fix(words args) {
  return change_all(args, fix_keys, "fixed", "answered no already");
}

const verb add_verb = {"add", "add keys to a filter", &add_command, add};
const verb remove_verb = {"remove", "remove keys from a filter", &remove_command, remove_all};
const verb fix_verb = {"fix", "report false positives, so that they are answered no", &fix_command,
                       fix};

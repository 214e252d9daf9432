/* besom add, remove, fix: change a filter by keys. The file is written at the end: an interrupted
 * run changes nothing. */
#include <stdio.h>
#include <string.h>

#include "bar.h"
#include "conflicts.h"
#include "counters.h"
#include "fail.h"
#include "files.h"
#include "json.h"
#include "keys.h"
#include "number_text.h"
#include "verb.h"

static struct {
  bool no, json, grow, forget;
  words set;
  key_form form;
} given = {.form = {.is_list = true}};

static const argument fix_arguments[] = {
    {"--set", "FILE", "the members; keys that are among them are refused; may be repeated",
     .list = &given.set},
    {"--grow", NULL, "if the reserve is full: enlarge it, and forget no fixes (aqf and yesno)",
     .flag = &given.grow},
    {"--forget", NULL, "if the reserve is full: forget older fixes, now and later (aqf and yesno)",
     .flag = &given.forget},
    KEY_FORM_ARGUMENTS(given.form),
    JSON_ARGUMENT(given.json),
};
static const argument list_arguments[] = {
    {"--no", NULL, "change the no list: keys that must be answered no", .flag = &given.no},
    KEY_FORM_ARGUMENTS(given.form),
    JSON_ARGUMENT(given.json),
};

static const command add_command = {
    .usage = "add FILTER [FILE] [options]",
    .about = "Adds the keys of FILE, or of standard input, to a filter: all or none.\n\n"
             "With --no, add only keys that are absent: a member that is added to the no list is "
             "answered no from then on.\n\n" KEY_FORM_HELP,
    .arguments = list_arguments,
    .argument_count = COUNT_OF(list_arguments),
    .least_words = 1,
    .most_words = 2,
    .examples = "  echo new.example | besom add blocked.besom",
};

static const command remove_command = {
    .usage = "remove FILTER [FILE] [options]",
    .about = "Removes the keys of FILE, or of standard input, from a filter. Remove only keys that "
             "were added: removing a false positive removes the fingerprint of a "
             "member. The exit code is 1 if no key was found.\n\n" KEY_FORM_HELP,
    .arguments = list_arguments,
    .argument_count = COUNT_OF(list_arguments),
    .least_words = 1,
    .most_words = 2,
    .examples = "  echo old.example | besom remove blocked.besom",
};

static const command fix_command = {
    .usage = "fix FILTER [FILE] [options]",
    .about =
        "Reports the keys of FILE, or of standard input, as false positives. The filter adapts: "
        "it answers no to them from now on.\n\n"
        "Report only keys that are absent. The filter cannot tell a member from a false positive: "
        "a member that is reported is answered no from then on, which is a false negative. --set "
        "refuses such keys.\n\n"
        "A filter has room for a number of fixes: see besom info, and besom build --reserve. If "
        "keys do not fit, the others are fixed, the message says how many were not, and the exit "
        "code is 4. --grow and --forget avoid that.\n\n" KEY_FORM_HELP,
    .arguments = fix_arguments,
    .argument_count = COUNT_OF(fix_arguments),
    .least_words = 1,
    .most_words = 2,
    .exit_status = "0: fixed, or there was nothing to do. 1: all keys were answered no already. 2: "
                   "wrong command line. 3: failure: the file is unchanged. 4: some keys were not "
                   "fixed: they are members (--set), or the reserve is full; the others are fixed. "
                   "130: interrupted (SIGINT), 143: terminated (SIGTERM): the file is unchanged.",
    .examples = "  echo good.example | besom fix blocked.besom --set phishing.txt",
};

/* The number of keys that changed the filter, of keys that did not, and of keys that did not fit.
 * members: keys that --set refused. */
typedef struct outcome {
  uint64_t changed, unchanged, unfit, members, forgotten;
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

/* The reserve is full: makes room if an option says so. Returns false if that is not possible. */
static bool make_reserve(besom_filter *f) {
  uint64_t limit = counter_of(f, "exception_limit");
  if (!given.grow && !given.forget) return false;
  return besom_set_reserve(f, given.grow ? 2 * limit : limit, given.forget) == BESOM_OK;
}

/* A filter that forgets is never full, so --grow would have no effect. */
static void stop_forgetting(besom_filter *f) {
  if (given.grow && besom_abilities(f) & BESOM_FORGETS)
    besom_set_reserve(f, counter_of(f, "exception_limit"), false);
}

/* A key that does not fit does not keep the others from being fixed. */
static besom_status fix_keys(besom_filter *f, const besom_bytes *keys, size_t n, size_t *done,
                             outcome *o) {
  stop_forgetting(f);
  for (*done = 0; *done < n; ++*done) {
    besom_bytes key = keys[*done];
    bool positive = besom_contains(f, key.data, key.len);
    besom_status status = positive ? besom_adapt(f, key.data, key.len) : BESOM_OK;
    if (status == BESOM_RESERVE_FULL && make_reserve(f)) status = besom_adapt(f, key.data, key.len);
    if (status != BESOM_OK && status != BESOM_EVICTED && status != BESOM_RESERVE_FULL)
      return status;
    o->unfit += status == BESOM_RESERVE_FULL;
    o->changed += positive && status != BESOM_RESERVE_FULL;
    o->forgotten += status == BESOM_EVICTED;
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

/* How to get room for more fixes or no-list keys. */
static const char *reserve_advice(const besom_filter *f) {
  bool can_set = counter_of(f, "exception_limit");
  if (given.no) return "Build the filter again with the whole no list: besom build --dynamic --no";
  if (given.grow || given.forget)
    return can_set ? "There is no memory for more"
                   : "Filters of this kind have a fixed reserve: build one of kind aqf";
  if (can_set)
    return "For more room: besom fix --grow. To forget older fixes instead: besom fix --forget";
  return can_grow(f) ? "For more room: besom grow, or a filter of kind aqf"
                     : "Filters of this kind have a fixed reserve: build one of kind aqf";
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
  if (status == BESOM_RESERVE_FULL)
    fail("%s: the reserve is full at %s. %s", path, position, reserve_advice(f));
  check(status, "%s: %s", path, position);
  fail("%s: %s", path, position);
}

/* The words for what an outcome counts. */
typedef struct labels {
  const char *changed, *unchanged, *unchanged_member;
} labels;

static void print_outcome(const char *path, const besom_filter *f, const outcome *o,
                          const labels *text) {
  fprintf(stderr, "%s: %llu %s", path, (unsigned long long)o->changed, text->changed);
  if (o->unchanged) fprintf(stderr, ", %llu %s", (unsigned long long)o->unchanged, text->unchanged);
  if (o->forgotten)
    fprintf(stderr, ", %llu older ones forgotten", (unsigned long long)o->forgotten);
  if (o->members)
    fprintf(stderr, ", %llu refused: they are members", (unsigned long long)o->members);
  if (o->unfit)
    fprintf(stderr, ", %llu not fixed: the reserve is full. %s", (unsigned long long)o->unfit,
            reserve_advice(f));
  fputs("\n", stderr);
}

static void print_outcome_json(const char *path, const outcome *o, const labels *text) {
  json j = {0};
  json_open(&j, NULL, '{');
  json_text(&j, "file", path);
  json_count(&j, text->changed, o->changed);
  if (text->unchanged_member) json_count(&j, text->unchanged_member, o->unchanged);
  if (strcmp(text->changed, "fixed") == 0) {
    json_count(&j, "refused_members", o->members);
    json_count(&j, "not_fixed", o->unfit);
    json_count(&j, "forgotten", o->forgotten);
  }
  json_close(&j);
}

/* Leaves out the keys that --set names, and lists some. */
static conflicts *refuse_members(key_reader *keys, outcome *o) {
  enum { SHOWN = 20 };
  if (!given.set.n) return NULL;
  key_reader *members = keys_open(given.set, &given.form);
  keys_keep(members);
  keys_keep(keys);
  conflicts *c = conflicts_find(members, keys);
  o->members = conflicts_count(c);
  conflicts_list(c, keys, &given.form, "is a member", SHOWN, NULL);
  conflicts_exclude(c, keys);
  keys_close(members);
  return c;
}

static int exit_code(const outcome *o) {
  if (o->members || o->unfit) return EXIT_PARTLY;
  return o->changed || !o->unchanged ? EXIT_YES : EXIT_NO;
}

static int change_all(words args, change *change_keys, const labels *text) {
  const char *path = args.at[0];
  if (given.json && strcmp(path, "-") == 0)
    usage_error("--json and the file - exclude each other: both are standard output");
  besom_filter *f = filter_load(path);
  key_reader *keys = keys_open((words){args.at + 1, args.n - 1}, &given.form);
  outcome o = {0};
  conflicts *members = refuse_members(keys, &o);
  besom_bytes batch[KEYS_PER_BATCH];
  bar_begin("reading keys", "bytes");
  for (size_t n, done; (n = keys_batch(keys, batch)); keys_tick(keys)) {
    besom_status status = change_keys(f, batch, n, &done, &o);
    if (status != BESOM_OK) explain(status, f, path, keys_batch_position(keys, done));
  }
  bar_end();
  filter_save(f, path);
  if (given.json)
    print_outcome_json(path, &o, text);
  else
    print_outcome(path, f, &o, text);
  keys_close(keys);
  conflicts_free(members);
  besom_free(f);
  return exit_code(&o);
}

static int add(words args) {
  return change_all(args, given.no ? add_no_keys : add_keys, &(labels){"added", "", NULL});
}

static int remove_all(words args) {
  return change_all(args, remove_keys, &(labels){"removed", "not found", "not_found"});
}

static int fix(words args) {
  if (given.grow && given.forget)
    usage_error("--grow and --forget exclude each other: give one of them");
  return change_all(args, fix_keys, &(labels){"fixed", "answered no already", "already_no"});
}

const verb add_verb = {"add", "add keys to a filter", &add_command, add};
const verb remove_verb = {"remove", "remove keys from a filter", &remove_command, remove_all};
const verb fix_verb = {"fix", "report false positives, so that they are answered no", &fix_command,
                       fix};

/* besom build: makes a filter from lists of keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "build_result.h"
#include "config_text.h"
#include "counters.h"
#include "fail.h"
#include "files.h"
#include "fix_reserve.h"
#include "lists/conflicts.h"
#include "lists/domain_lists.h"
#include "lists/group_by.h"
#include "lists/keys.h"
#include "lists/list_change.h"
#include "number_text.h"
#include "seed.h"
#include "verb.h"
#include "verbs/build_options.h"

/* ------------------------------------------------------------------ keys in both lists */

static conflicts *common; /* NULL: not looked for */

/* Fails and lists them, or leaves them out of one list. */
static void resolve_conflicts(key_reader *yes, key_reader *no) {
  enum { SHOWN = 20 };
  bool is_error = given_conflict_is_error();
  common = conflicts_find(yes, no);
  bar_begin("building", "keys"); /* again, after that of conflicts_find */
  uint64_t n = conflicts_count(common);
  if (!n) return;
  conflicts_list(common, no, &given.form, "is also in the yes list", is_error ? SHOWN : 0,
                 given.conflicts);
  if (!is_error) {
    conflicts_exclude(common, given.on_conflict[0] == 'y' ? no : yes);
    return;
  }
  if (n > SHOWN && !given.conflicts)
    fprintf(stderr, "and %s more: --conflicts FILE writes all\n", grouped(n - SHOWN).text);
  fail("%s %s in both lists: remove %s from one, or decide with --on-conflict yes or no",
       grouped(n).text, n == 1 ? "key is" : "keys are", n == 1 ? "it" : "them");
}

/* ------------------------------------------------------------------ building */

/* The options of the kind, with that for a number of fixes. */
static const char *given_options(uint64_t fixes) {
  static char options[512];
  if (!fixes) return given.options;
  int len = snprintf(options, sizeof options, "max_exceptions=%llu%s%s", (unsigned long long)fixes,
                     given.options ? "," : "", given.options ? given.options : "");
  if (len < 0 || (size_t)len >= sizeof options) usage_error("--options: at most 480 bytes");
  return options;
}

static besom_config given_config(const uint8_t *seed) {
  fix_reserve room = fix_reserve_read(given.reserve);
  return (besom_config){.kind = given.kind,
                        .options = given_options(room.fixes),
                        .hash = given.hash,
                        .seed = seed,
                        .capacity = given.capacity,
                        .max_capacity = given.max_capacity,
                        .fpr = given.fpr,
                        .bits_per_key = given.bits,
                        .value_bits = (uint32_t)given.value_bits,
                        .reserve = room.share,
                        .build_memory = given.memory,
                        .flags = BESOM_DISTINCT};
}

/* Fails if the configuration is right but for the option that --reserve stands for. */
static void refuse_number_of_fixes(besom_config config) {
  config.options = given.options;
  if (besom_config_check(&config, NULL, 0) == BESOM_OK)
    usage_error("--reserve: filters of kind %s have no room that is counted in fixes; use --kind "
                "aqf",
                given.kind);
}

/* Fails if the configuration is wrong, and names the option. */
static void check_config(const besom_config *config) {
  const option_name names[] = {
      {"option", "--options:"}, /* option "a=b" of kind ... */
      {"options", "--options"},
      {"hash", "--hash"},
      {"capacity", given.capacity ? "--capacity" : "the number of keys"},
      {"max_capacity", "--max-capacity"},
      {"fpr", "--fpr"},
      {"bits_per_key", "--bits"},
      {"reserve", "--reserve"},
      {"value_bits", "--value-bits"},
      {"build_memory", "--memory"},
  };
  char text[CONFIG_TEXT_SIZE];
  besom_status status = config_text(config, names, COUNT_OF(names), text);
  if (status == BESOM_BAD_OPTION && config->options && config->options != given.options)
    refuse_number_of_fixes(*config);
  if (status == BESOM_UNKNOWN_KIND)
    usage_error("--kind: unknown kind '%s'; besom kinds lists them", given.kind);
  if (status != BESOM_OK) usage_error("%s", text);
}

static uint64_t count_keys(key_reader *keys) {
  besom_bytes key;
  while (keys_next(keys, &key)) continue;
  uint64_t n = keys_count(keys);
  keys_rewind(keys);
  return n;
}

/* Explains why besom_build refused a configuration. Without --capacity a size may be wrong for the
 * number of keys. */
static void explain_config(besom_config config, besom_status status, key_reader *yes) {
  if (!config.capacity && status == BESOM_INVALID) config.capacity = count_keys(yes);
  if (!config.capacity) config.capacity = 1;
  check_config(&config);
}

static _Noreturn void refuse_domains_of_kind(const char *kind) {
  usage_error("--domains: filters of kind %s cannot be exact on the public suffixes; use --kind "
              "yesno or cascade, or omit --kind",
              kind);
}

static _Noreturn void explain(besom_status status) {
  if (status == BESOM_UNSUPPORTED && given.form.domains) refuse_domains_of_kind(given.kind);
  if (status == BESOM_UNSUPPORTED && given.no.n)
    usage_error("--no: filters of kind %s cannot be exact on a no list; use --kind aqf or cascade",
                given.kind);
  if (status == BESOM_NEEDS_STORE)
    usage_error("--kind: filters of kind %s need the stored keys. For a database with such a "
                "filter: besom db",
                given.kind);
  if (status == BESOM_INVALID)
    usage_error("kind %s does not support this combination of options and keys", given.kind);
  if (status == BESOM_FULL && given.like)
    fail("%s: the keys do not fit into a filter of this size", given.like);
  if (status == BESOM_FULL)
    fail("the filter is full before all keys are in: %s --capacity",
         given.capacity ? "increase or omit" : "set a larger");
  check(status, "building a filter of kind %s", given.kind);
  fail("building a filter of kind %s", given.kind);
}

/* The capacity for a no list that is added key by key: 1.5 times its keys. */
static uint64_t capacity_for(key_reader *yes, key_reader *no) {
  uint64_t n = count_keys(no);
  warn_if_no_list_is_large(count_keys(yes), n, given.fpr);
  return n + n / 2;
}

static besom_filter *build_new(key_reader *yes, key_reader *no, uint64_t no_capacity) {
  uint8_t seed[SEED_BYTES];
  besom_config config = given_config(seed_read(given.seed, seed));
  config.no_capacity = no_capacity;
  if (config.capacity) check_config(&config); /* before it reads the keys */
  besom_source yes_source = keys_source(yes), no_source = no ? keys_source(no) : (besom_source){0};
  besom_input input = {.yes = &yes_source, .no = no ? &no_source : NULL, .progress = &bar_progress};
  besom_filter *f = NULL;
  besom_status status = besom_build(&config, &input, &f);
  if (status == BESOM_IS_MEMBER) {
    resolve_conflicts(yes, no);
    status = besom_build(&config, &input, &f);
  }
  if (status != BESOM_OK && status != BESOM_FULL) explain_config(config, status, yes);
  if (status != BESOM_OK) explain(status);
  return f;
}

/* A static filter takes both lists at once; *no is then set to NULL. Otherwise the caller adds the
 * no list. */
static besom_filter *build_like(const char *model_path, key_reader *yes, key_reader **no) {
  besom_filter *model = filter_open(model_path), *f = NULL;
  list_change_check(&(changed_list){model, model_path, yes, {NULL, 0}, &given.form},
                    given.max_change);
  bar_begin("building", "keys"); /* again, after that of list_change_check */
  bool is_static = !(besom_abilities(model) & BESOM_CAN_INSERT);
  besom_source yes_source = keys_source(yes),
               no_source = *no ? keys_source(*no) : (besom_source){0};
  besom_input input = {.yes = &yes_source,
                       .no = is_static && *no ? &no_source : NULL,
                       .like = model,
                       .progress = &bar_progress};
  besom_status status = besom_build(NULL, &input, &f);
  if (status == BESOM_IS_MEMBER) {
    resolve_conflicts(yes, *no);
    status = besom_build(NULL, &input, &f);
  }
  if (status == BESOM_UNSUPPORTED)
    fail("%s: --like does not support filters of kind %s", model_path, filter_stats(model).kind);
  if (status != BESOM_OK) explain(status);
  if (is_static) *no = NULL;
  besom_free(model);
  return f;
}

/* ------------------------------------------------------------------ updates */

static domain_plan domains;  /* all zero: the keys are not names of domains */
static unsigned like_labels; /* those of the list of --like or --update */

/* More labels are asked of a host than the rate of that list was divided by. */
static bool has_deeper_names(void) {
  return like_labels && !given.closed && domains.labels > like_labels;
}

static _Noreturn void explain_update(besom_status status, const besom_filter *old) {
  if (status == BESOM_UNSUPPORTED)
    fail(
        "%s: filters of kind %s have no updates. besom diff makes small patches for kinds that can "
        "be built with --like",
        given.update, filter_stats(old).kind);
  if (status == BESOM_FULL)
    fail("%s: it has as many updates as it can have. Build the filter anew, or merge updates: "
         "--merge 8, or --merge auto",
         given.update);
  if (status == BESOM_INVALID && given_updates_to_merge())
    fail("%s: it has fewer updates than --merge says", given.update);
  explain(status);
}

/* The whole new lists as an update of a filter. */
static besom_status build_update_of(besom_filter *old, key_reader *yes, key_reader *no,
                                    besom_filter **out) {
  key_reader *was = keys_open(given.was, &given.form);
  besom_source yes_source = keys_source(yes), was_source = keys_source(was),
               no_source = no ? keys_source(no) : (besom_source){0};
  besom_input input = {.yes = &yes_source,
                       .no = no ? &no_source : NULL,
                       .update = old,
                       .was = &was_source,
                       .merge_updates = given_updates_to_merge(),
                       .progress = &bar_progress};
  besom_config config = {.options = given.closed ? "universe=closed" : NULL};
  keys_keep(was);
  besom_status status = besom_build(&config, &input, out);
  if (status == BESOM_IS_MEMBER) {
    resolve_conflicts(yes, no);
    keys_rewind(was);
    status = besom_build(&config, &input, out);
  }
  keys_close(was);
  return status;
}

/* The first list of a filter with updates, or the filter. */
static const besom_filter *base_of(const besom_filter *f) {
  return strcmp(filter_stats(f).kind, "updated") == 0 ? besom_layer(f, 0) : f;
}

/* Updates add to the first list: they pay as long as the sum is little more than a list that is
 * built anew. Its size is that of the first one, in proportion to the keys. */
static bool is_update_too_large(const besom_filter *old, const besom_filter *f) {
  enum { ALLOWED_BYTES = 16384 };
  const besom_filter *base = base_of(old);
  double keys = (double)filter_stats(base).keys;
  uint64_t bytes = filter_saved_bytes(f);
  double fresh = keys ? (double)filter_saved_bytes(base) * (double)filter_stats(f).keys / keys : 0;
  if ((double)bytes <= 1.25 * fresh + ALLOWED_BYTES) return false;
  if (!given_merge_is_auto())
    fprintf(stderr,
            "%s: with this update the list takes %s bytes; built anew it takes about %s: omit "
            "--update, or use --merge auto\n",
            program_name, grouped(bytes).text, grouped((uint64_t)fresh).text);
  return given_merge_is_auto();
}

/* The options of a list like the first one of a filter with updates, or like the filter. */
static void choose_kind_of(const besom_filter *old) {
  static char options[64];
  const besom_filter *base = base_of(old), *level = besom_layer(base, 0);
  besom_statistics stats = filter_stats(base);
  given.kind = strcmp(stats.kind, "fuse") == 0 ? "fuse" : "ribbon";
  given.hash = stats.hash;
  if (!given.closed && !(given.fpr > 0) && stats.expected_fpr < 1)
    given.fpr = stats.expected_fpr * (like_labels ? (double)like_labels / domains.labels : 1);
  if (!given.no.n) return;
  snprintf(options, sizeof options, "base=%s%s", level ? filter_stats(level).kind : given.kind,
           given.closed ? ",universe=closed" : "");
  given.kind = "cascade";
  given.options = options;
}

/* An update does not know which exceptions of the old list were withdrawn. They would stay. */
static bool has_exceptions(const besom_filter *old) {
  unsigned flags = 0;
  return besom_domain_labels(old, &flags) && flags & BESOM_DOMAINS_EXCEPT;
}

/* NULL: the list is to be built anew; but for exceptions, only with --merge auto. */
static besom_filter *build_update_that_pays(besom_filter *old, key_reader *yes, key_reader *no) {
  besom_filter *f = NULL;
  if (has_deeper_names() || has_exceptions(old)) return NULL;
  besom_status status = build_update_of(old, yes, no, &f);
  bool is_full = status == BESOM_FULL && given_merge_is_auto();
  if (status != BESOM_OK && !is_full) explain_update(status, old);
  if (!is_full && !is_update_too_large(old, f)) return f;
  besom_free(f);
  return NULL;
}

static besom_filter *build_update(key_reader *yes, key_reader *no) {
  besom_filter *old = filter_open(given.update);
  list_change_check(&(changed_list){old, given.update, yes, given.was, &given.form},
                    given.max_change);
  bar_begin("building", "keys"); /* again, after that of list_change_check */
  if (has_exceptions(old) && !given_merge_is_auto())
    fail("%s: it has exceptions, which an update cannot withdraw: build the list anew, or use "
         "--merge auto",
         given.update);
  besom_filter *f = build_update_that_pays(old, yes, no);
  if (!f) {
    keys_rewind(yes);
    if (no) keys_rewind(no);
    choose_kind_of(old);
    f = build_new(yes, no, 0);
  }
  besom_free(old);
  return f;
}

/* Adds the no list key by key, for a filter whose lists can change. */
static void add_no_list(besom_filter *f, key_reader *no) {
  besom_bytes key;
  while (keys_next(no, &key)) {
    besom_status status = besom_no_add(f, key.data, key.len);
    if (status == BESOM_UNSUPPORTED)
      usage_error("filters of kind %s cannot have a no list that changes; use --kind aqf",
                  filter_stats(f).kind);
    if (status == BESOM_RESERVE_FULL)
      fail("%s: the no list does not fit into a filter of this size%s", keys_position(no),
           given.like ? ": omit --like" : "");
    check(status, "%s", keys_position(no));
  }
}

/* ------------------------------------------------------------------ domains */

#define DOMAIN_FPR 1e-6

/* Before the lists are opened. */
static void choose_domains(void) {
  static const char *nothing = "/dev/null";
  if (given.like || given.update) {
    besom_filter *old = filter_open(given.like ? given.like : given.update);
    like_labels = besom_domain_labels(old, NULL);
    if (given.form.domains && !like_labels)
      usage_error("--domains: %s is no list of domains: build the list anew",
                  given.like ? given.like : given.update);
    given.form.domains = like_labels;
    besom_free(old);
  }
  if (given.suffixes && !given.form.domains) usage_error("--suffixes needs --domains");
  if (!given.form.domains) return;
  if (given.group_by) usage_error("--domains and --group-by exclude each other");
  if (!given.no.n) given.no = (words){&nothing, 1}; /* the public suffixes are a no list */
}

/* The rate is promised per host, of which the parents are asked, too. */
static void prepare_domains(key_reader *yes, key_reader *no) {
  if (!given.form.domains) return;
  domains = domain_lists_prepare(yes, no, given.suffixes,
                                 given.on_conflict && given.on_conflict[0] == 'y', like_labels);
  if (has_deeper_names() && !given_merge_is_auto())
    fail(
        "%s is for names of at most %u labels, and the lists now have one of %u: of a host so many "
        "would be asked, so its false-positive rate would be %.2f times the promised one. Build "
        "the "
        "list anew: omit %s",
        given.update ? given.update : given.like, like_labels, domains.labels,
        (double)domains.labels / like_labels,
        given.update ? "--update, or use --merge auto" : "--like");
  if (given.closed || given.bits) return;
  if (!given.fpr && !given.like && !given.update) given.fpr = DOMAIN_FPR;
  given.fpr /= domains.labels;
}

static void finish_domains(besom_filter *f) {
  if (!given.form.domains) return;
  if (besom_abilities(f) & BESOM_TAKES_SAMPLE) refuse_domains_of_kind(filter_stats(f).kind);
  besom_status status =
      besom_set_domains(f, domains.labels, domains.exceptions ? BESOM_DOMAINS_EXCEPT : 0);
  if (status == BESOM_UNSUPPORTED)
    usage_error("--domains: filters of kind %s cannot be lists of domains", filter_stats(f).kind);
  check(status, "--domains");
}

/* An empty download must not replace a list. */
static void refuse_empty_list(key_reader *yes) {
  if (keys_count(yes) || given.allow_empty) return;
  keys_tell_skipped(yes);
  fail("the yes list has no keys, so no file was written: was it downloaded completely, and is its "
       "format right? To write a filter without keys: --allow-empty");
}

/* A no list in another format would protect nothing. */
static void refuse_unread_no_list(const key_reader *no) {
  if (!no || !keys_all_skipped(no)) return;
  keys_tell_skipped(no);
  fail("the no list has no keys, so no file was written: is its format right? If it is another one "
       "than that of the yes list: --no-format, for instance --no-format lines");
}

static int run(words args) {
  if (given.fpr && given.bits) usage_error("--fpr and --bits exclude each other: give one of them");
  if (given.json && strcmp(args.at[0], "-") == 0)
    usage_error("--json and the file - exclude each other: both are standard output");
  given_conflict_is_error();
  choose_domains();
  given_choose_kind();
  key_reader *yes = keys_open(given.yes, &given.form),
             *no = given.no.n ? keys_open_as(given.no, &given.form, given.no_format) : NULL;
  keys_keep(yes); /* the library counts keys first; resolve_conflicts reads them again */
  if (no) keys_keep(no);
  prepare_domains(yes, no);
  bar_begin("building", "keys");
  /* The no list, if its keys are added one by one: nothing else would find keys in both lists. */
  key_reader *entries = given.dynamic || given.like ? no : NULL;
  if (entries) resolve_conflicts(yes, no);
  besom_filter *f = given.update ? build_update(yes, no)
                    : given.like ? build_like(given.like, yes, &entries)
                    : entries    ? build_new(yes, NULL, capacity_for(yes, no))
                                 : build_new(yes, no, 0);
  if (entries) add_no_list(f, entries);
  bar_end();
  refuse_empty_list(yes);
  refuse_unread_no_list(no);
  finish_domains(f);
  if (given.group_by && counter_of(f, "groups") == 1)
    fprintf(stderr,
            "%s: all keys are in one group: --group-by matches none of them, or the same "
            "part of all\n",
            program_name);
  if (given.conflicts && !(common && conflicts_count(common)))
    file_write(given.conflicts, &(file_bytes){NULL, 0}); /* not the list of an earlier build */
  build_result r = {.path = args.at[0],
                    .stats = filter_stats(f),
                    .counts_keys = filter_counts_keys(f),
                    .is_sample = besom_abilities(f) & BESOM_TAKES_SAMPLE,
                    .has_no_list = no,
                    .yes = keys_count(yes),
                    .no = no ? keys_count(no) : 0,
                    .conflicts = common ? conflicts_count(common) : 0,
                    .on_conflict = given.on_conflict,
                    .domains = domains,
                    .skipped = keys_skipped_so_far(yes)};
  r.least_bits = r.is_sample      ? 0
                 : given.group_by ? least_bits_of_groups(f)
                                  : least_bits(&r.stats, r.no, given.closed);
  filter_save(f, args.at[0]);
  build_result_print(&r, given.json);
  keys_close(yes);
  keys_close(no);
  conflicts_free(common);
  besom_free(f);
  return 0;
}

const verb build_verb = {"build", "build a filter from lists of keys", &build_command, run};

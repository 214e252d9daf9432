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

static struct {
  words yes, no, was;
  const char *kind, *options, *seed, *like, *hash, *group_by, *update;
  double fpr, bits;
  const char *reserve;
  uint64_t capacity, max_capacity, value_bits, memory;
  const char *on_conflict, *conflicts, *merge, *max_change, *suffixes, *no_format;
  bool dynamic, smallest, closed, json, allow_empty;
  key_form form;
} given = {.form = {.is_list = true}};

#define DEFAULT_KIND "aqf"

static const argument arguments[] = {
    {"--yes", "FILE", "keys of the set; may be repeated; default: standard input",
     .list = &given.yes},
    {"--no", "FILE", "keys that must be answered no; may be repeated", .list = &given.no},
    {"--kind", "KIND", "kind of filter (see besom kinds); default aqf", .text = &given.kind},
    {"--fpr", "RATE", "target false-positive rate; default 1/256", .rate = &given.fpr,
     .least = 1e-18, .most = 1},
    {"--bits", "BITS", "instead of --fpr: size in bits per key", .real = &given.bits, .least = 0.1,
     .most = 1000},
    {"--capacity", "N", "keys that the filter can hold; default: the keys given",
     .count = &given.capacity, .most = 1e14},
    {"--max-capacity", "N", "keys up to which it can grow at the target rate (besom grow)",
     .count = &given.max_capacity, .most = 1e14},
    {"--on-conflict", "POLICY",
     "keys in both lists: an error that lists them (default), or they count as yes, or as no",
     .text = &given.on_conflict},
    {"--conflicts", "FILE", "write all keys that are in both lists to this file",
     .text = &given.conflicts},
    {"--reserve", "ROOM",
     "room for fixes (besom fix): their number, such as 5000, or a share of the slots up to 0.5; "
     "default 0.05, which is a fix per 32 keys",
     .text = &given.reserve},
    {"--value-bits", "BITS", "size of a value stored with every key; default 0",
     .count = &given.value_bits, .most = 32},
    {"--seed", "HEX", "seed of the hash, 32 hex digits; the same lists then give the same file",
     .text = &given.seed},
    {"--hash", "NAME", "xxh3 (default), or sip if adversaries choose the keys",
     .text = &given.hash},
    {"--like", "FILE", "kind, hash, seed and size of this filter, for merge and diff",
     .text = &given.like},
    {"--update", "FILE",
     "make an update of this filter of kind ribbon, fuse, cascade or updated, with a small diff; "
     "needs --was",
     .text = &given.update},
    {"--was", "FILE", "with --update: keys that were in the set; may be repeated",
     .list = &given.was},
    {"--merge", "N",
     "with --update: replace the last N updates; --was must have the keys since then. auto: build "
     "the list anew (at the rate --fpr) if there are too many updates, or if they are large",
     .text = &given.merge},
    {"--max-change", "SHARE",
     "with --like and --update: fail if a larger share of the keys was added or removed; default "
     "20%; any: no limit",
     .text = &given.max_change},
    {"--allow-empty", NULL, "write a filter without keys; default: an error",
     .flag = &given.allow_empty},
    {"--dynamic", NULL, "with --no: both lists can be changed later (besom add); larger",
     .flag = &given.dynamic},
    {"--smallest", NULL,
     "the smallest filter that is exact on both lists; it cannot be changed (kind cascade, or "
     "ribbon without --no)",
     .flag = &given.smallest},
    {"--domains", NULL,
     "keys are names of domains, and stand for all names below them; --fpr is the rate per host, "
     "default 1e-6. Readers of the file ask parents, too",
     .flag = &given.form.domains},
    {"--suffixes", "FILE",
     "with --domains: public suffixes, on which no false positive may be; default: those of the "
     "package publicsuffix",
     .text = &given.suffixes},
    {"--closed", NULL,
     "with --smallest and --update: only keys of the two lists are ever asked; smaller still",
     .flag = &given.closed},
    {"--group-by", "REGEX",
     "with --smallest: the part of a key in parentheses names its group, as in '^([^:]*):'; each "
     "group is planned at its own proportion of yes keys",
     .text = &given.group_by},
    {"--options", "K=V,...", "see besom kinds --options", .text = &given.options},
    {"--memory", "BYTES",
     "memory limit besides the filter, such as 500M; duplicate keys then count each time",
     .count = &given.memory, .least = 1, .most = 1e18},
    KEY_FORM_ARGUMENTS(given.form),
    NO_FORMAT_ARGUMENT(given.no_format),
    JSON_ARGUMENT(given.json),
};

static const command build_command = {
    .usage = "build OUT [--yes FILE]... [--no FILE]... [options]",
    .about =
        "Builds a filter from lists of keys and writes it to the file OUT. With --no, the "
        "filter is exact on both lists: it answers yes to every key of the yes list and no to "
        "every key of the no list. Keys in both lists are an error, unless --on-conflict "
        "decides. Duplicate keys count once.\n\n"
        "With --domains, a name is listed in one spelling: lower case, without dots at its "
        "ends and without \"*.\", in other scripts as punycode; other lines are skipped. A name of "
        "the no list below a listed one is an exception. The mode is kept in the file, which "
        "besom 0.2 refuses.\n\n"
        "The kinds learned and stacked use the no list as a sample of future queries: they "
        "guarantee nothing for a single key of it.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 1,
    .most_words = 1,
    .examples = "  besom build revoked.besom --yes revoked.txt --no valid.txt --smallest --closed\n"
                "  besom build blocked.besom --yes phishing.txt --no popular.txt --fpr 0.001\n"
                "  besom build ads.besom --yes hosts.gz --format hosts --domains --smallest\n"
                "  sort -u words | besom build words.besom --bits 12",
};

/* ------------------------------------------------------------------ keys in both lists */

static conflicts *common; /* NULL: not looked for */

static bool is_conflict_error(void) {
  const char *policy = given.on_conflict;
  if (!policy || strcmp(policy, "error") == 0) return true;
  if (strcmp(policy, "yes") == 0 || strcmp(policy, "no") == 0) return false;
  usage_error("--on-conflict: '%s' is not error, yes or no", policy);
}

/* Fails and lists them, or leaves them out of one list. */
static void resolve_conflicts(key_reader *yes, key_reader *no) {
  enum { SHOWN = 20 };
  bool is_error = is_conflict_error();
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

static bool is_merge_auto(void) {
  return given.merge && strcmp(given.merge, "auto") == 0;
}

static uint64_t updates_to_merge(void) {
  if (!given.merge || is_merge_auto()) return 0;
  char *end;
  unsigned long n = strtoul(given.merge, &end, 10);
  if (!*given.merge || given.merge[strspn(given.merge, "0123456789")] || n > 64)
    usage_error("--merge: '%s' is neither a number up to 64 nor auto", given.merge);
  return n;
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
  if (status == BESOM_INVALID && updates_to_merge())
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
                       .merge_updates = updates_to_merge(),
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
  if (!is_merge_auto())
    fprintf(stderr,
            "%s: with this update the list takes %s bytes; built anew it takes about %s: omit "
            "--update, or use --merge auto\n",
            program_name, grouped(bytes).text, grouped((uint64_t)fresh).text);
  return is_merge_auto();
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
  bool is_full = status == BESOM_FULL && is_merge_auto();
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
  if (has_exceptions(old) && !is_merge_auto())
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

/* --like and --update take these from their filter. */
static void refuse_ignored_options(void) {
  const char *option = given.update ? "--update" : "--like";
  if (!given.update && !given.like) return;
  bool fpr = given.fpr && !(given.update && is_merge_auto());
  if (fpr || given.bits || given.capacity || given.max_capacity || given.value_bits)
    usage_error("%s excludes --fpr, --bits, --capacity, --max-capacity and --value-bits: they are "
                "those of the file",
                option);
  if (given.kind || given.options) usage_error("%s excludes --kind and --options", option);
  if (given.seed || given.hash || given.reserve)
    usage_error("%s excludes --seed, --hash and --reserve: they are those of the file", option);
}

/* What --smallest, --closed and --group-by mean, in terms of kinds and options. */
static void choose_kind(void) {
  if (given.group_by && (!given.smallest || !given.no.n))
    usage_error("--group-by needs --smallest and --no");
  if (given.closed && (!(given.smallest || given.update) || !given.no.n))
    usage_error("--closed needs --no, and --smallest or --update");
  if (given.closed && (given.fpr || given.bits))
    usage_error("--closed: no other keys are asked, so --fpr and --bits have no meaning");
  if (given.smallest && (given.kind || given.options || given.like || given.dynamic))
    usage_error("--smallest excludes --kind, --options, --like and --dynamic");
  if (given.group_by) {
    given.kind = "grouped";
    given.options = group_by_options(given.group_by, given.closed);
  } else if (given.smallest && given.no.n) {
    given.kind = "cascade";
    given.options = given.closed ? "base=ribbon,universe=closed" : "base=ribbon";
  } else if (given.smallest) {
    given.kind = "ribbon";
  }
  if (given.update &&
      (given.smallest || given.kind || given.options || given.like || given.dynamic))
    usage_error("--update excludes --smallest, --kind, --options, --like and --dynamic");
  refuse_ignored_options();
  if (given.update && !given.was.n)
    usage_error(
        "--update needs --was: the keys that were in the set. Those that are in no list now "
        "must be answered no");
  if (!given.update && (given.was.n || given.merge)) usage_error("--was and --merge need --update");
  if (given.max_change && !given.update && !given.like)
    usage_error("--max-change needs --like or --update: the list to compare with");
  updates_to_merge(); /* before the lists are read */
  if (!given.kind) given.kind = DEFAULT_KIND;
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
  if (has_deeper_names() && !is_merge_auto())
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
  is_conflict_error();
  choose_domains();
  choose_kind();
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

#include "verbs/build_options.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "lists/group_by.h"
#include "verb.h"

build_options given = {.form = {.is_list = true}};

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

const command build_command = {
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

/* ------------------------------------------------------------------ what they mean */

bool given_conflict_is_error(void) {
  const char *policy = given.on_conflict;
  if (!policy || strcmp(policy, "error") == 0) return true;
  if (strcmp(policy, "yes") == 0 || strcmp(policy, "no") == 0) return false;
  usage_error("--on-conflict: '%s' is not error, yes or no", policy);
}

bool given_merge_is_auto(void) {
  return given.merge && strcmp(given.merge, "auto") == 0;
}

uint64_t given_updates_to_merge(void) {
  if (!given.merge || given_merge_is_auto()) return 0;
  char *end;
  unsigned long n = strtoul(given.merge, &end, 10);
  if (!*given.merge || given.merge[strspn(given.merge, "0123456789")] || n > 64)
    usage_error("--merge: '%s' is neither a number up to 64 nor auto", given.merge);
  return n;
}

/* --like and --update take these from their filter. */
static void refuse_ignored_options(void) {
  const char *option = given.update ? "--update" : "--like";
  if (!given.update && !given.like) return;
  bool fpr = given.fpr && !(given.update && given_merge_is_auto());
  if (fpr || given.bits || given.capacity || given.max_capacity || given.value_bits)
    usage_error("%s excludes --fpr, --bits, --capacity, --max-capacity and --value-bits: they are "
                "those of the file",
                option);
  if (given.kind || given.options) usage_error("%s excludes --kind and --options", option);
  if (given.seed || given.hash || given.reserve)
    usage_error("%s excludes --seed, --hash and --reserve: they are those of the file", option);
}

void given_choose_kind(void) {
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
  given_updates_to_merge(); /* before the lists are read */
  if (!given.kind) given.kind = DEFAULT_KIND;
}

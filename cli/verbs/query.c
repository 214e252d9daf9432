/* besom query: queries the keys of a file or stream, in batches. */
#include <stdio.h>
#include <string.h>

#include "answers.h"
#include "bar.h"
#include "fail.h"
#include "files.h"
#include "lists/domains.h"
#include "lists/keys.h"
#include "publish/asked.h"
#include "signed/trust.h"
#include "verb.h"

static struct {
  answer_form answers;
  bool domains;
  const char *fixes;
  key_form form;
} given;

static const argument arguments[] = {
    ANSWER_FORM_ARGUMENTS(given.answers),
    {"--domains", NULL,
     "also ask parent domains: a.b.com, b.com, com; lists of besom build --domains need no option",
     .flag = &given.domains},
    FIXES_ARGUMENT(given.fixes),
    KEY_FORM_ARGUMENTS(given.form),
    TRUST_ARGUMENTS,
};

static const command query_command = {
    .usage = "query FILTER [FILE] [options]",
    .about =
        "Reads keys from FILE, or from standard input, and prints those that may be in the set, "
        "in input order. The exit code is 0 if there is such a key, else 1. Of a list of domains "
        "(besom build --domains), a name and its parents are asked; --json names the entry that "
        "answers it. With --fixes, keys that you reported are answered no. FILTER may be a "
        "directory: the copy of a published set (besom sync).\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 1,
    .most_words = 2,
    .examples = "  besom query blocked.besom log.txt --domains",
};

/* Asks the parents of the keys, too. The entries point into the keys, or into `names`. */
static void query_domains(const besom_filter *f, const besom_bytes *keys, size_t n,
                          uint64_t *bitmap, besom_bytes *entries) {
  static char names[KEYS_PER_BATCH][DOMAIN_BYTES];
  memset(bitmap, 0, KEYS_PER_BATCH / 8);
  for (size_t i = 0; i < n; i++)
    bitmap[i / 64] |= (uint64_t)domain_query(f, keys[i], names[i], &entries[i]) << (i % 64);
}

/* Makes a no of each yes that the caller has fixed. */
static void apply_fixes(asked_target f, const besom_bytes *keys, size_t n, uint64_t *bitmap,
                        uint64_t *fixed, besom_bytes *entries) {
  memset(fixed, 0, KEYS_PER_BATCH / 8);
  for (size_t i = 0; i < n && f.fixes; i++) {
    uint64_t bit = UINT64_C(1) << (i % 64);
    besom_bytes key = keys[i], *entry = entries ? &entries[i] : &key;
    if (!(bitmap[i / 64] & bit) || !asked_is_fixed(f, entry, entries)) continue;
    bitmap[i / 64] ^= bit;
    fixed[i / 64] |= bit;
  }
}

static int run(words args) {
  asked_target f = asked_open(args.at[0], given.fixes);
  if (f.set && given.domains) usage_error("--domains is for filters, not for published sets");
  key_reader *keys = keys_open((words){args.at + 1, args.n - 1}, &given.form);
  besom_bytes batch[KEYS_PER_BATCH], entries[KEYS_PER_BATCH];
  bool domains = given.domains || asked_is_domains(f);
  uint64_t bitmap[KEYS_PER_BATCH / 64], fixed[KEYS_PER_BATCH / 64], selected = 0;
  bar_begin("querying", "bytes");
  for (size_t n; (n = keys_batch(keys, batch));) {
    if (domains)
      query_domains(f.filter, batch, n, bitmap, entries);
    else
      asked_contains_many(f, batch, n, bitmap);
    apply_fixes(f, batch, n, bitmap, fixed, domains ? entries : NULL);
    answer_batch answers = {batch, n, bitmap, domains ? entries : NULL, fixed};
    selected += answers_print(&given.answers, &given.form, &answers);
    keys_tick(keys);
  }
  answers_finish(&given.answers, selected, keys_count(keys));
  bar_end();
  keys_close(keys);
  asked_close(f);
  return selected ? EXIT_YES : EXIT_NO;
}

const verb query_verb = {"query", "query the keys of a file or stream", &query_command, run};

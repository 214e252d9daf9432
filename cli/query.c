/* besom query: queries the keys of a file or stream, in batches. */
#include <stdio.h>
#include <string.h>

#include "answers.h"
#include "bar.h"
#include "fail.h"
#include "files.h"
#include "keys.h"
#include "trust.h"
#include "verb.h"

static struct {
  answer_form answers;
  bool domains;
  key_form form;
} given;

static const argument arguments[] = {
    ANSWER_FORM_ARGUMENTS(given.answers),
    {"--domains", NULL, "also try parent domains: a.b.com, then b.com, then com",
     .flag = &given.domains},
    KEY_FORM_ARGUMENTS(given.form),
    TRUST_ARGUMENTS,
};

static const command query_command = {
    .usage = "query FILTER [FILE] [options]",
    .about =
        "Reads keys from FILE, or from standard input, and prints those that may be in the set, "
        "in input order. The exit code is 0 if there is such a key, else 1.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 1,
    .most_words = 2,
    .examples = "  besom query blocked.besom log.txt --domains",
};

/* Queries the parent domains of the keys that are answered no. */
static void query_parents(const besom_filter *f, const besom_bytes *keys, size_t n,
                          uint64_t *bitmap) {
  for (size_t i = 0; i < n; i++) {
    const char *name = keys[i].data, *end = name + keys[i].len;
    while (!(bitmap[i / 64] >> (i % 64) & 1) && (name = memchr(name, '.', (size_t)(end - name)))) {
      name++;
      if (name < end && besom_contains(f, name, (size_t)(end - name)))
        bitmap[i / 64] |= UINT64_C(1) << (i % 64);
    }
  }
}

static int run(words args) {
  besom_filter *f = filter_open(args.at[0]);
  key_reader *keys = keys_open((words){args.at + 1, args.n - 1}, &given.form);
  besom_bytes batch[KEYS_PER_BATCH];
  uint64_t bitmap[KEYS_PER_BATCH / 64], selected = 0;
  bar_begin("querying", "bytes");
  for (size_t n; (n = keys_batch(keys, batch));) {
    check(besom_contains_many(f, batch, n, bitmap), "querying");
    if (given.domains) query_parents(f, batch, n, bitmap);
    selected += answers_print(&given.answers, &given.form, batch, n, bitmap);
    keys_tick(keys);
  }
  answers_finish(&given.answers, selected, keys_count(keys));
  bar_end();
  keys_close(keys);
  besom_free(f);
  return selected ? EXIT_YES : EXIT_NO;
}

const verb query_verb = {"query", "query the keys of a file or stream", &query_command, run};

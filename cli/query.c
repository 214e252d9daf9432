/* besom query: queries the keys of a file or stream, in batches. */
#include <stdio.h>
#include <string.h>

#include "bar.h"
#include "fail.h"
#include "files.h"
#include "keys.h"
#include "verb.h"

static struct {
  bool invert, count, tag, domains;
  key_form form;
} given;

static const argument arguments[] = {
    {"--invert", NULL, "print the keys that are certainly not in the set", .flag = &given.invert},
    {"--count", NULL, "print the number of keys, not the keys", .flag = &given.count},
    {"--tag", NULL, "print every key, after yes or no and a tab", .flag = &given.tag},
    {"--domains", NULL, "also try parent domains: a.b.com, then b.com, then com",
     .flag = &given.domains},
    KEY_FORM_ARGUMENTS(given.form),
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

/* An output buffer: one stdio call per key would cost as much as the query. */
static struct {
  char bytes[1 << 16];
  size_t len;
} output;

static void flush(void) {
  if (fwrite(output.bytes, 1, output.len, stdout) != output.len)
    fail("cannot write to standard output");
  output.len = 0;
}

static void print(const void *data, size_t len) {
  for (const char *at = data; len;) {
    if (output.len == sizeof output.bytes) flush();
    size_t room = sizeof output.bytes - output.len, piece = len < room ? len : room;
    memcpy(output.bytes + output.len, at, piece);
    output.len += piece;
    at += piece;
    len -= piece;
  }
}

static void print_key(besom_bytes key) {
  uint8_t len[4] = {(uint8_t)key.len, (uint8_t)(key.len >> 8), (uint8_t)(key.len >> 16),
                    (uint8_t)(key.len >> 24)};
  if (given.form.length_prefixed) print(len, sizeof len);
  print(key.data, key.len);
  if (!given.form.length_prefixed) print(given.form.null ? "\0" : "\n", 1);
}

/* Prints the selected keys; returns their number. */
static uint64_t show(const besom_bytes *keys, size_t n, const uint64_t *bitmap) {
  uint64_t selected = 0;
  for (size_t i = 0; i < n; i++) {
    bool yes = bitmap[i / 64] >> (i % 64) & 1, is_selected = yes != given.invert;
    selected += is_selected;
    if (given.count || (!given.tag && !is_selected)) continue;
    if (given.tag) print(yes ? "yes\t" : "no\t", yes ? 4 : 3);
    print_key(keys[i]);
  }
  return selected;
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
    selected += show(batch, n, bitmap);
    keys_tick(keys);
  }
  flush();
  bar_end();
  if (given.count) printf("%llu\n", (unsigned long long)selected);
  keys_close(keys);
  besom_free(f);
  return selected ? EXIT_YES : EXIT_NO;
}

const verb query_verb = {"query", "query the keys of a file or stream", &query_command, run};

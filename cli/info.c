/* besom info, verify: the properties of a filter, and whether it is valid. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "besom_reverse.h"
#include "counters.h"
#include "fail.h"
#include "files.h"
#include "keys.h"
#include "random.h"
#include "verb.h"

static bool json;
static uint64_t samples = 1000000;

static const argument info_arguments[] = {
    {"--json", NULL, "print one JSON object", .flag = &json},
    {"--samples", "N", "random keys for the observed false-positive rate; default 1M",
     .count = &samples, .most = 1e12},
};

static const command info_command = {
    .usage = "info FILTER [options]",
    .about = "Prints the properties of a filter: kind, keys, bits per key, false-positive rates, "
             "load factor, the counters and layers of its kind, and the lengths of the extensions. "
             "The observed "
             "false-positive rate is measured with random keys.",
    .arguments = info_arguments,
    .argument_count = COUNT_OF(info_arguments),
    .least_words = 1,
    .most_words = 1,
};

static double observed_fpr(const besom_filter *f) {
  enum { BATCH = 1024, SAMPLE_SEED = 0x5a3b1e };
  uint64_t keys[BATCH], bitmap[BATCH / 64], yes = 0;
  for (uint64_t done = 0; done < samples; done += BATCH) {
    for (unsigned i = 0; i < BATCH; i++) keys[i] = random_at(SAMPLE_SEED, done + i);
    check(besom_contains_many_u64(f, keys, BATCH, bitmap), "querying");
    for (unsigned i = 0; i < BATCH; i++) yes += bitmap[i / 64] >> (i % 64) & 1;
  }
  return (double)yes / (double)((samples + BATCH - 1) / BATCH * BATCH);
}

enum { MAX_EXTENSION = 24 };

/* Counts fingerprints by the length of their extension in bits; the last entry counts that length
 * and more. Returns false if the kind cannot iterate. */
static bool count_extensions(const besom_filter *f, uint64_t histogram[MAX_EXTENSION + 1]) {
  besom_iter iter = {.filter = f};
  besom_entry entry;
  besom_status status;
  while ((status = besom_iter_next(&iter, &entry)) == BESOM_OK)
    histogram[entry.extension_bits < MAX_EXTENSION ? entry.extension_bits : MAX_EXTENSION]++;
  return status == BESOM_END;
}

static void print_extensions(const uint64_t *histogram) {
  for (unsigned i = 0; i <= MAX_EXTENSION; i++)
    if (histogram[i])
      printf("  %2u%s bits         %llu\n", i, i == MAX_EXTENSION ? "+" : " ",
             (unsigned long long)histogram[i]);
}

/* The name of a counter is printed with spaces: "longest chain". */
static void print_counters(const besom_filter *f) {
  besom_counter counters[MAX_COUNTERS];
  size_t n = counters_all(f, counters);
  for (size_t i = 0; i < n; i++) {
    int column = 0;
    for (const char *c = counters[i].name; *c; c++, column++) putchar(*c == '_' ? ' ' : *c);
    printf("%*s %llu\n", column < 16 ? 16 - column : 0, "", (unsigned long long)counters[i].value);
  }
}

static void print_counters_json(const besom_filter *f) {
  besom_counter counters[MAX_COUNTERS];
  size_t n = counters_all(f, counters);
  printf("\"counters\":{");
  for (size_t i = 0; i < n; i++)
    printf("%s\"%s\":%llu", i ? "," : "", counters[i].name, (unsigned long long)counters[i].value);
  printf("},");
}

static void print_layers(const besom_filter *f) {
  const besom_filter *layer;
  for (size_t i = 0; (layer = besom_layer(f, i)); i++) {
    besom_statistics s = filter_stats(layer);
    printf("layer %-10zu %s, %llu keys, %llu bytes, expected FPR %.3g\n", i + 1, s.kind,
           (unsigned long long)s.keys, (unsigned long long)s.bytes, s.expected_fpr);
  }
}

static void print_layers_json(const besom_filter *f) {
  const besom_filter *layer;
  printf("\"layers\":[");
  for (size_t i = 0; (layer = besom_layer(f, i)); i++) {
    besom_statistics s = filter_stats(layer);
    printf("%s{\"kind\":\"%s\",\"keys\":%llu,\"bytes\":%llu,\"expected_fpr\":%.6g}", i ? "," : "",
           s.kind, (unsigned long long)s.keys, (unsigned long long)s.bytes, s.expected_fpr);
  }
  printf("],");
}

static void print_table(const char *path, const besom_filter *f, const besom_statistics *s) {
  uint64_t histogram[MAX_EXTENSION + 1] = {0};
  printf("file             %s\n", path);
  printf("kind             %s\n", s->kind);
  printf("hash             %s\n", s->hash);
  printf("keys             %llu\n", (unsigned long long)s->keys);
  printf("capacity         %llu\n", (unsigned long long)s->capacity);
  printf("bytes            %llu\n", (unsigned long long)s->bytes);
  printf("bits per key     %.2f", s->bits_per_key);
  if (s->expected_fpr > 0 && s->expected_fpr < 0.5)
    printf(" (least possible for the expected FPR: %.2f)", -log2(s->expected_fpr));
  putchar('\n');
  printf("slots            %llu of %u bits, load factor %.3f\n", (unsigned long long)s->slots,
         s->width, s->load_factor);
  printf("expected FPR     %.3g (%.3g when full)\n", s->expected_fpr, s->fpr_at_capacity);
  printf("observed FPR     %.3g (%llu random keys)\n", observed_fpr(f),
         (unsigned long long)samples);
  printf("reserve used     %.1f %%\n", 100 * s->reserve_used);
  print_counters(f);
  print_layers(f);
  if (counter_of(f, "extended") && count_extensions(f, histogram))
    printf("fingerprints by extension\n"), print_extensions(histogram);
}

static void print_json(const besom_filter *f, const besom_statistics *s) {
  uint64_t histogram[MAX_EXTENSION + 1] = {0};
  printf("{\"kind\":\"%s\",\"hash\":\"%s\",\"keys\":%llu,\"capacity\":%llu,\"bytes\":%llu,\"bits_"
         "per_key\":%.4f,"
         "\"slots\":%llu,\"width\":%u,\"load_factor\":%.6f,\"expected_fpr\":%.6g,\"fpr_at_"
         "capacity\":%.6g,"
         "\"observed_fpr\":%.6g,\"reserve_used\":%.6f,",
         s->kind, s->hash, (unsigned long long)s->keys, (unsigned long long)s->capacity,
         (unsigned long long)s->bytes, s->bits_per_key, (unsigned long long)s->slots, s->width,
         s->load_factor, s->expected_fpr, s->fpr_at_capacity, observed_fpr(f), s->reserve_used);
  print_counters_json(f);
  print_layers_json(f);
  printf("\"extensions\":[");
  if (count_extensions(f, histogram))
    for (unsigned i = 0; i <= MAX_EXTENSION; i++)
      printf("%s%llu", i ? "," : "", (unsigned long long)histogram[i]);
  printf("]}\n");
}

static int info(words args) {
  besom_filter *f = filter_open(args.at[0]);
  besom_statistics stats = filter_stats(f);
  if (json)
    print_json(f, &stats);
  else
    print_table(args.at[0], f, &stats);
  besom_free(f);
  return 0;
}

static struct {
  words yes, no;
  key_form form;
} lists = {.form = {.is_list = true}};

static const argument verify_arguments[] = {
    {"--yes", "FILE", "keys that must be answered yes; may be repeated", .list = &lists.yes},
    {"--no", "FILE", "keys that must be answered no; may be repeated", .list = &lists.no},
    KEY_FORM_ARGUMENTS(lists.form),
};

static const command verify_command = {
    .usage = "verify FILTER [--yes FILE]... [--no FILE]...",
    .about =
        "Verifies the checksums and every invariant of a saved filter. If one fails, prints what "
        "is wrong and at which byte, and the exit code is 3. With --yes and --no, also asks every "
        "key of the lists. If an answer is wrong, prints the first keys, and the exit code is "
        "3.\n\n" KEY_FORM_HELP,
    .arguments = verify_arguments,
    .argument_count = COUNT_OF(verify_arguments),
    .examples = "  besom verify blocked.besom --yes phishing.txt --no popular.txt",
    .least_words = 1,
    .most_words = 1,
};

/* Asks all keys of a list. Returns how many were answered wrongly, and shows some of them. */
static uint64_t count_wrong(const besom_filter *f, words files, bool expected) {
  enum { SHOWN = 10, MOST_BYTES = 200 };
  uint64_t wrong = 0;
  besom_bytes key;
  if (!files.n) return 0;
  key_reader *keys = keys_open(files, &lists.form);
  while (keys_next(keys, &key)) {
    if (besom_contains(f, key.data, key.len) == expected) continue;
    if (wrong++ < SHOWN)
      fprintf(stderr, "%s: '%.*s' is answered %s\n", keys_position(keys),
              (int)(key.len < MOST_BYTES ? key.len : MOST_BYTES), (const char *)key.data,
              expected ? "no" : "yes");
  }
  printf("%llu of %llu keys of the %s list are answered wrongly\n", (unsigned long long)wrong,
         (unsigned long long)keys_count(keys), expected ? "yes" : "no");
  keys_close(keys);
  return wrong;
}

static int verify(words args) {
  besom_fault fault = {0};
  besom_open_options options = {.flags = BESOM_OPEN_MMAP, .fault = &fault};
  besom_filter *f = NULL;
  besom_status status = besom_open(args.at[0], &options, &f);
  if (status == BESOM_IO) fail("%s: %s", args.at[0], strerror(errno));
  if (status == BESOM_CORRUPT && fault.what)
    fail("%s: %s (at byte %llu)", args.at[0], fault.what, (unsigned long long)fault.offset);
  check(status, "%s", args.at[0]);
  printf("%s: valid\n", args.at[0]);
  uint64_t wrong = count_wrong(f, lists.yes, true) + count_wrong(f, lists.no, false);
  besom_free(f);
  return wrong ? 3 : 0;
}

const verb info_verb = {"info", "print the properties of a filter", &info_command, info};
const verb verify_verb = {"verify", "verify that a saved filter is valid", &verify_command, verify};

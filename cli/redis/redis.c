/* besom redis: a filter in the shards of a Redis server or cluster; filters of single keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "bar.h"
#include "fail.h"
#include "interrupt.h"
#include "json.h"
#include "lists/keys.h"
#include "redis/shards.h"
#include "redis_files.h"
#include "verb.h"

static struct {
  const char *server, *user, *from;
  uint64_t shards, capacity;
  double fpr;
  bool nx;
  answer_form answers;
  key_form form;
} given = {.server = "127.0.0.1:6379", .capacity = 1000000, .fpr = 0.01};

static const argument arguments[] = {
    {"--shards", "K", "number of shards, 1 to 65536; fixed when the filter is made",
     .count = &given.shards, .least = 1, .most = MAX_SHARDS},
    {"--server", "HOST:PORT", "a server, or any node of a cluster; default 127.0.0.1:6379",
     .text = &given.server},
    {"--user", "NAME", "user for ACL; the password is taken from the variable REDISCLI_AUTH",
     .text = &given.user},
    {"--from", "HOST:PORT", "import: the server with RedisBloom", .text = &given.from},
    {"--fpr", "RATE", "load, new filter: target false-positive rate; default 0.01",
     .rate = &given.fpr, .least = 1e-18, .most = 0.99},
    {"--capacity", "N", "load, new filter: keys of all shards; it grows as needed; default 1M",
     .count = &given.capacity, .least = 1, .most = 1e13},
    {"--nx", NULL, "load: skip keys that are answered yes, such as those of an earlier run",
     .flag = &given.nx},
    ANSWER_FORM_ARGUMENTS(given.answers),
    KEY_FORM_ARGUMENTS(given.form),
};

static const command redis_command = {
    .usage = "redis load|has|report|shard NAME [FILE] --shards K [options]\n"
             "       besom redis save KEY FILE | load FILE KEY | import KEY... --from HOST:PORT",
    .about =
        "One filter over many keys of a Redis or Valkey server or cluster with the module "
        "besom-redis.so. The filter NAME has the shards NAME:0 to NAME:K-1. The hash of a key "
        "determines its shard (docs/scale.md), so K cannot be changed later.\n\n"
        "  load NAME [FILE]     add keys; creates the shards if they do not exist\n"
        "  has NAME [FILE]      print the keys that may be in the set, in input order\n"
        "  report NAME [FILE]   report false positives: keys that are certainly not in\n"
        "                       the set are answered no from then on\n"
        "  shard NAME KEY...    print shard, hash and key; needs no server\n\n"
        "Without --shards, whole filters of single keys:\n\n"
        "  save KEY FILE        save the filter of a Redis key as a file of besom\n"
        "  load FILE KEY        make a Redis key from a file; the key must not exist\n"
        "  import KEY...        copy filters of RedisBloom from the server --from, which\n"
        "                       goes on serving, to the same keys of a server with compat yes\n\n"
        "The keys are read from FILE or standard input, and sent in batches to all nodes at once. "
        "Slots may migrate and nodes may fail over meanwhile. If a connection breaks, its batch is "
        "sent again; then load may store some keys twice, unless --nx is given.\n\n"
        "The exit code of has is 0 if there is such a key, else 1. That of report is 1 if a report "
        "was refused.\n\n" KEY_FORM_HELP,
    .arguments = arguments,
    .argument_count = COUNT_OF(arguments),
    .least_words = 2,
    .most_words = SIZE_MAX,
    .examples = "  besom redis load users names.txt --shards 64 --capacity 1G\n"
                "  besom redis has users log.txt --shards 64 --server node1:6379\n"
                "  besom redis save pages pages.besom\n"
                "  besom redis import users --from old:6379 --server new:6379",
};

/* ------------------------------------------------------------------ batches */

enum { LEAST_BATCH = 1 << 16, KEYS_PER_SHARD = 32, BYTES_PER_KEY = 256 };

/* Keys that are sent together; they are copied, because the reader reuses its buffer. */
static struct {
  besom_bytes *keys;
  enum outcome *outcomes;
  uint64_t *bitmap;
  size_t n, size; /* keys: present, at most */
  size_t bytes;
  char *text;
} current;

/* With many shards a batch is larger, so that commands do not become short. */
static void allocate_batch(uint32_t shards) {
  size_t wanted = (size_t)shards * KEYS_PER_SHARD;
  current.size = wanted < LEAST_BATCH ? LEAST_BATCH : wanted;
  current.keys = allocate(current.size, sizeof *current.keys);
  current.outcomes = allocate(current.size, sizeof *current.outcomes);
  current.bitmap = allocate(current.size / 64 + 1, sizeof *current.bitmap);
}

static void free_batch(void) {
  free(current.keys);
  free(current.outcomes);
  free(current.bitmap);
  free(current.text);
}

static void reserve_text(size_t bytes) {
  static size_t size;
  if (bytes <= size) return;
  size = 2 * bytes;
  current.text = reallocate(current.text, size, 1);
}

static void copy_keys(const besom_bytes *keys, size_t n) {
  for (size_t i = 0; i < n; i++) {
    reserve_text(current.bytes + keys[i].len);
    if (keys[i].len) memcpy(current.text + current.bytes, keys[i].data, keys[i].len);
    current.keys[current.n++].len = keys[i].len;
    current.bytes += keys[i].len;
  }
}

/* Reads keys until the batch is full; false at the end of the input. */
static bool read_batch(key_reader *reader) {
  besom_bytes keys[KEYS_PER_BATCH];
  current.n = current.bytes = 0;
  reserve_text(1);
  for (size_t n; current.n + KEYS_PER_BATCH <= current.size &&
                 current.bytes < current.size * BYTES_PER_KEY && (n = keys_batch(reader, keys));)
    copy_keys(keys, n);
  const char *at = current.text; /* now that the copy does not move any more */
  for (size_t i = 0; i < current.n; at += current.keys[i++].len) current.keys[i].data = at;
  return current.n;
}

static uint64_t count_outcomes(enum outcome wanted) {
  uint64_t n = 0;
  for (size_t i = 0; i < current.n; i++) n += current.outcomes[i] == wanted;
  return n;
}

/* ------------------------------------------------------------------ actions */

static int load(const sharded_filter *f, key_reader *keys) {
  static const char *const all[MAX_OPTIONS], *const missing[MAX_OPTIONS] = {"NX", "ITEMS"};
  uint64_t new = 0;
  interrupt_leaves("the keys of complete batches are in the filter");
  bar_begin("loading", "bytes");
  while (read_batch(keys)) {
    const char *error = shards_run(f, given.nx ? "AF.INSERT" : "AF.MADD", given.nx ? missing : all,
                                   current.keys, current.n, current.outcomes);
    if (error)
      fail("%s: %s (%llu keys of this batch were not added)", f->name, error,
           (unsigned long long)count_outcomes(OUTCOME_ERROR));
    new += count_outcomes(OUTCOME_YES);
    keys_tick(keys);
  }
  bar_end();
  if (given.answers.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_text(&j, "filter", f->name);
    json_count(&j, "keys_read", keys_count(keys));
    json_count(&j, "added", new);
    json_count(&j, "shards", f->shards);
    json_close(&j);
  } else {
    printf("%s: %llu keys, %llu new, %u shards\n", f->name, (unsigned long long)keys_count(keys),
           (unsigned long long)new, f->shards);
  }
  if (cluster_repeated(f->cluster) && !given.nx)
    fprintf(stderr, "%s: a connection broke: some keys may be stored twice\n", program_name);
  return 0;
}

static void set_bitmap(void) {
  memset(current.bitmap, 0, (current.n / 64 + 1) * sizeof *current.bitmap);
  for (size_t i = 0; i < current.n; i++)
    current.bitmap[i / 64] |= (uint64_t)(current.outcomes[i] == OUTCOME_YES) << i % 64;
}

static int has(const sharded_filter *f, key_reader *keys) {
  static const char *const none[MAX_OPTIONS];
  uint64_t selected = 0;
  bar_begin("querying", "bytes");
  while (read_batch(keys)) {
    const char *error =
        shards_run(f, "AF.MEXISTS", none, current.keys, current.n, current.outcomes);
    if (error) fail("%s: %s", f->name, error);
    set_bitmap();
    answer_batch batch = {current.keys, current.n, current.bitmap, NULL, NULL};
    selected += answers_print(&given.answers, &given.form, &batch);
    keys_tick(keys);
  }
  answers_finish(&given.answers, selected, keys_count(keys));
  bar_end();
  return selected ? EXIT_YES : EXIT_NO;
}

static int report_keys(const sharded_filter *f, key_reader *keys) {
  static const char *const none[MAX_OPTIONS];
  uint64_t fixed = 0, refused = 0;
  char cause[1024] = "";
  interrupt_leaves("the keys of complete batches are reported");
  bar_begin("reporting", "bytes");
  while (read_batch(keys)) {
    const char *error = shards_run(f, "AF.REPORT", none, current.keys, current.n, current.outcomes);
    if (error) snprintf(cause, sizeof cause, "%s", error);
    fixed += count_outcomes(OUTCOME_YES);
    refused += count_outcomes(OUTCOME_ERROR);
    keys_tick(keys);
  }
  bar_end();
  uint64_t n = keys_count(keys);
  if (given.answers.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_text(&j, "filter", f->name);
    json_count(&j, "keys_read", n);
    json_count(&j, "fixed", fixed);
    json_count(&j, "already_no", n - fixed - refused);
    json_count(&j, "not_fixed", refused);
    json_close(&j);
  } else {
    printf("%s: %llu keys: %llu fixed, %llu answered no already, %llu refused\n", f->name,
           (unsigned long long)n, (unsigned long long)fixed,
           (unsigned long long)(n - fixed - refused), (unsigned long long)refused);
  }
  if (refused) fprintf(stderr, "%s: %s\n", program_name, cause);
  return refused ? EXIT_NO : EXIT_YES;
}

static void print_shards(const sharded_filter *f, words keys) {
  for (size_t i = 0; i < keys.n; i++) {
    uint64_t hash = shard_hash((besom_bytes){keys.at[i], strlen(keys.at[i])});
    const char *shard = f->keys[shard_of(hash, f->shards)];
    if (!given.answers.json) {
      printf("%s\t%016llx\t%s\n", shard, (unsigned long long)hash, keys.at[i]);
      continue;
    }
    char digits[17];
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hash);
    json j = {0};
    json_open(&j, NULL, '{');
    json_bytes(&j, "key", keys.at[i], strlen(keys.at[i]));
    json_text(&j, "shard", shard);
    json_text(&j, "hash", digits);
    json_close(&j);
  }
}

typedef int (*action)(const sharded_filter *f, key_reader *keys);

static action find_action(const char *name) {
  if (strcmp(name, "load") == 0) return load;
  if (strcmp(name, "has") == 0) return has;
  if (strcmp(name, "report") == 0) return report_keys;
  usage_error("redis: unknown action '%s': load, has, report, shard, save or import", name);
}

/* ------------------------------------------------------------------ whole filters */

static int print_moved(const char *from, const char *to, size_t bytes) {
  if (given.answers.json) {
    json j = {0};
    json_open(&j, NULL, '{');
    json_text(&j, "from", from);
    json_text(&j, "to", to);
    json_count(&j, "bytes", bytes);
    json_close(&j);
  } else {
    printf("%s -> %s: %llu bytes\n", from, to, (unsigned long long)bytes);
  }
  return 0;
}

static int save_or_load(words all, bool save) {
  if (all.n != 3)
    usage_error(save ? "redis save takes a key and a file" : "redis load takes a file and a key");
  cluster *c = cluster_open(given.server, given.user);
  size_t bytes =
      save ? redis_save_file(c, all.at[1], all.at[2]) : redis_load_file(c, all.at[1], all.at[2]);
  cluster_close(c);
  return print_moved(all.at[1], all.at[2], bytes);
}

static int import_filters(words all) {
  if (!given.from) usage_error("redis import needs --from, the server with RedisBloom");
  cluster *from = cluster_open(given.from, given.user),
          *to = cluster_open(given.server, given.user);
  for (size_t i = 1; i < all.n; i++)
    print_moved(all.at[i], all.at[i], redis_import_filter(from, to, all.at[i]));
  cluster_close(from);
  cluster_close(to);
  return 0;
}

static int run(words all) {
  bool is_load = strcmp(all.at[0], "load") == 0;
  if (strcmp(all.at[0], "import") == 0) return import_filters(all);
  if (strcmp(all.at[0], "save") == 0) return save_or_load(all, true);
  if (is_load && !given.shards && all.n == 3) return save_or_load(all, false);
  sharded_filter f = shards_init(all.at[1], given.shards);
  words rest = {all.at + 2, all.n - 2};
  if (strcmp(all.at[0], "shard") == 0) {
    print_shards(&f, rest);
    shards_free(&f);
    return 0;
  }
  action act = find_action(all.at[0]);
  if (rest.n > 1) usage_error("unexpected argument '%s'", rest.at[1]);
  f.cluster = cluster_open(given.server, given.user);
  bool exist = shards_exist(&f);
  if (!exist && act != load) fail("%s: no such filter: besom redis load creates it", f.keys[0]);
  key_reader *keys = keys_open(rest, &given.form);
  if (!exist) shards_create(&f, given.fpr, given.capacity);
  allocate_batch(f.shards);
  int code = act(&f, keys);
  keys_close(keys);
  free_batch();
  shards_free(&f);
  return code;
}

const verb redis_verb = {"redis", "a filter in the shards of a Redis server or cluster",
                         &redis_command, run};

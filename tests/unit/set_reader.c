/*
 * Published sets (besom_set.h): every shard is asked for its keys, reports, damaged and hostile
 * directories, and a set that is replaced while it is opened.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "besom_fixes.h"
#include "besom_set.h"
#include "support/keys.h"
#include "support/temp_files.h"

enum { KEYS = 5000, ABSENT = 20000, SHARDS = 8, TEXT = 4096 };

/* The texts of a set, which tests change before they are written. */
typedef struct set_texts {
  char pointer[TEXT], manifest[TEXT];
} set_texts;

static temp_dir dir;
static const uint8_t one_seed[16] = "seed of the set";
static const uint8_t *seed = one_seed; /* of all shards; NULL: each has its own */

static void write_shard(const char *kind, uint32_t shard, uint32_t shards, uint64_t sequence,
                        set_texts *texts) {
  besom_config config = {
      .kind = kind, .capacity = KEYS / shards + 200, .fpr = 1.0 / 16, .seed = seed};
  besom_filter *f = NULL;
  char name[64], line[256];
  size_t len;
  assert_int_equal(besom_create(&config, &f), BESOM_OK);
  for (uint64_t i = 0; i < KEYS; i++) {
    besom_u64_key key = besom_u64(key_u64(MEMBERS, i));
    if (besom_set_shard(key.bytes, 8, shards) != shard) continue;
    assert_int_equal(besom_insert(f, key.bytes, 8), BESOM_OK);
  }
  snprintf(name, sizeof name, "shard-%u-%" PRIu64, shard, sequence);
  temp_path path = temp_dir_file(&dir, name);
  assert_int_equal(besom_save_file(f, path.text), BESOM_OK);
  free(read_whole_file(path.text, &len));
  snprintf(line, sizeof line, "shard %u %s %zu %064d\n", shard, name, len, 0);
  strcat(texts->manifest, line);
  besom_free(f);
}

static void write_texts(const set_texts *texts, uint64_t sequence) {
  char name[64];
  snprintf(name, sizeof name, "manifest-%" PRIu64, sequence);
  assert_true(
      write_whole_file(temp_dir_file(&dir, name).text, texts->manifest, strlen(texts->manifest)));
  assert_true(write_whole_file(temp_dir_file(&dir, "set.minisig").text, texts->pointer,
                               strlen(texts->pointer)));
}

static void write_pointer(set_texts *texts, uint64_t sequence) {
  snprintf(texts->pointer, TEXT,
           "untrusted comment: x\nRWQ\ntrusted comment: besom-set-1 name=demo sequence=%" PRIu64
           " expires=2026-01-02T03:04:05Z bytes=%zu result=%064d\nG\n",
           sequence, strlen(texts->manifest), 0);
}

/* Writes a set with KEYS members. */
static set_texts write_set(const char *kind, uint32_t shards, uint64_t sequence) {
  set_texts texts;
  snprintf(texts.manifest, TEXT,
           "besom-set-manifest-1\nname demo\nsequence %" PRIu64
           "\nkind %s\nfpr 0.0625\nshards %u\nkeys %d\n",
           sequence, kind, shards, KEYS);
  for (uint32_t i = 0; i < shards; i++) write_shard(kind, i, shards, sequence, &texts);
  write_pointer(&texts, sequence);
  write_texts(&texts, sequence);
  return texts;
}

static besom_set *open_set(unsigned flags) {
  besom_set *set = NULL;
  assert_int_equal(besom_set_open(dir.path, flags, &set), BESOM_OK);
  return set;
}

static bool has(const besom_set *set, uint64_t stream, uint64_t i) {
  besom_u64_key key = besom_u64(key_u64(stream, i));
  return besom_set_contains(set, key.bytes, 8);
}

static void assert_batches_agree(const besom_set *set) {
  static besom_u64_key keys[KEYS];
  static besom_bytes bytes[KEYS];
  static uint64_t bitmap[KEYS / 64 + 1];
  for (uint64_t i = 0; i < KEYS; i++) {
    keys[i] = besom_u64(key_u64(i % 3 ? MEMBERS : NEGATIVES, i));
    bytes[i] = (besom_bytes){keys[i].bytes, 8};
  }
  for (size_t n = 0; n <= KEYS; n = n * 5 + 1) {
    assert_int_equal(besom_set_contains_many(set, bytes, n, bitmap), BESOM_OK);
    for (size_t i = 0; i < n; i++)
      assert_int_equal(bitmap[i / 64] >> (i % 64) & 1, has(set, i % 3 ? MEMBERS : NEGATIVES, i));
  }
}

static void every_member_is_answered_yes(void **state) {
  (void)state;
  for (uint32_t shards = 1; shards <= SHARDS; shards *= 2) {
    write_set("aqf", shards, 7);
    besom_set *set = open_set(shards == 2 ? BESOM_OPEN_TRUSTED : 0);
    uint64_t yes = 0;
    for (uint64_t i = 0; i < KEYS; i++) assert_true(has(set, MEMBERS, i));
    for (uint64_t i = 0; i < ABSENT; i++) yes += has(set, NEGATIVES, i);
    assert_in_range(yes, 1, ABSENT / 10);
    assert_batches_agree(set);
    besom_set_information info;
    assert_int_equal(besom_set_info(set, &info), BESOM_OK);
    assert_string_equal(info.name, "demo");
    assert_string_equal(info.kind, "aqf");
    assert_int_equal(info.sequence, 7);
    assert_int_equal(info.shards, shards);
    assert_int_equal(info.keys, KEYS);
    assert_int_equal(info.expires, 1767323045);
    besom_set_close(set);
  }
}

/* aqf takes reports in its table, which is mapped; bloom beside it. */
static void reported_keys_are_answered_no(void **state) {
  (void)state;
  static const char *const kinds[] = {"aqf", "bloom"};
  for (size_t k = 0; k < 2; k++) {
    write_set(kinds[k], SHARDS, 1);
    besom_set *set = open_set(0);
    uint64_t reported = 0;
    for (uint64_t i = 0; i < ABSENT && reported < 60; i++) {
      besom_u64_key key = besom_u64(key_u64(NEGATIVES, i));
      if (!has(set, NEGATIVES, i)) continue;
      assert_int_equal(besom_set_report(set, key.bytes, 8), BESOM_OK);
      assert_false(has(set, NEGATIVES, i));
      reported++;
    }
    assert_int_equal(reported, 60);
    for (uint64_t i = 0; i < KEYS; i++) assert_true(has(set, MEMBERS, i));
    assert_batches_agree(set);
    besom_set_close(set);
  }
}

/* `besom publish` writes no such set. */
static void shards_with_seeds_of_their_own_are_asked_with_these(void **state) {
  seed = NULL;
  every_member_is_answered_yes(state);
  reported_keys_are_answered_no(state);
  seed = one_seed;
}

static void assert_refused(const set_texts *texts, besom_status expected) {
  besom_set *set = NULL;
  write_texts(texts, 1);
  assert_int_equal(besom_set_open(dir.path, 0, &set), expected);
  assert_null(set);
}

/* Replaces the first `from` in the manifest, and makes the pointer fit again. */
static void assert_manifest_refused(const set_texts *good, const char *from, const char *to,
                                    besom_status expected) {
  set_texts bad = *good;
  char *at = strstr(bad.manifest, from);
  assert_non_null(at);
  memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
  memcpy(at, to, strlen(to));
  write_pointer(&bad, 1);
  assert_refused(&bad, expected);
}

static void damaged_texts_are_refused(void **state) {
  (void)state;
  set_texts good = write_set("aqf", 2, 1), bad = good;
  static const struct {
    const char *from, *to;
    besom_status status;
  } changes[] = {{"manifest-1", "manifest-2", BESOM_NEWER_VERSION},
                 {"besom-set", "bosom-set", BESOM_CORRUPT},
                 {"shards 2", "shards 3", BESOM_CORRUPT},
                 {"shards 2", "shards 0", BESOM_CORRUPT},
                 {"shards 2", "shards 9999", BESOM_CORRUPT},
                 {"sequence 1", "sequence 2", BESOM_CORRUPT},
                 {"name demo", "name other", BESOM_CORRUPT},
                 {"shard 1 ", "shard 0 ", BESOM_CORRUPT},
                 {"shard-1-1", "../shard-1-1", BESOM_CORRUPT},
                 {"shard-1-1", "shard-/etc/passwd", BESOM_CORRUPT},
                 {"shard-1-1", "shard-1-2", BESOM_IO}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
    assert_manifest_refused(&good, changes[i].from, changes[i].to, changes[i].status);
  strcpy(bad.pointer, "");
  assert_refused(&bad, BESOM_CORRUPT);
  bad = good;
  strcat(bad.manifest, "x"); /* the pointer says how long it is */
  assert_refused(&bad, BESOM_CORRUPT);
  for (size_t len = 0; len < strlen(good.manifest); len += 7) {
    bad = good;
    bad.manifest[len] = 0;
    write_pointer(&bad, 1);
    besom_set *set = NULL;
    write_texts(&bad, 1);
    assert_int_not_equal(besom_set_open(dir.path, 0, &set), BESOM_OK);
  }
}

static void damaged_shards_are_refused(void **state) {
  (void)state;
  write_set("aqf", 2, 1);
  temp_path path = temp_dir_file(&dir, "shard-1-1");
  size_t len;
  uint8_t *bytes = read_whole_file(path.text, &len);
  bytes[len / 2] ^= 1;
  assert_true(write_whole_file(path.text, bytes, len));
  besom_set *set = NULL;
  assert_int_equal(besom_set_open(dir.path, 0, &set), BESOM_CORRUPT);
  assert_int_equal(besom_set_open(dir.path, BESOM_OPEN_CHECKSUMS, &set), BESOM_CORRUPT);
  free(bytes);
}

static void missing_things_are_statuses(void **state) {
  (void)state;
  besom_set *set = NULL;
  besom_bytes hollow = {NULL, 3};
  uint64_t bitmap = 0;
  assert_int_equal(besom_set_open(NULL, 0, &set), BESOM_INVALID);
  assert_int_equal(besom_set_open(dir.path, 0, NULL), BESOM_INVALID);
  assert_int_equal(besom_set_open(dir.path, 64, &set), BESOM_INVALID);
  assert_int_equal(besom_set_open("/nonexistent", 0, &set), BESOM_IO);
  assert_int_equal(errno, ENOENT);
  write_set("aqf", 1, 1);
  set = open_set(0);
  assert_true(besom_set_contains(NULL, "x", 1));
  assert_true(besom_set_contains(set, NULL, 1));
  assert_int_equal(besom_set_contains_many(set, &hollow, 1, &bitmap), BESOM_INVALID);
  assert_int_equal(bitmap, 1);
  assert_int_equal(besom_set_contains_many(set, NULL, 0, &bitmap), BESOM_OK);
  assert_int_equal(besom_set_report(NULL, "x", 1), BESOM_INVALID);
  assert_int_equal(besom_set_info(NULL, &(besom_set_information){0}), BESOM_INVALID);
  besom_set_close(set);
  besom_set_close(NULL);
}

/* Fixes are for one version of one set: another set can have the same sequence number. */
static void fixes_are_for_a_version_of_the_set(void **state) {
  static const char text[] = "besom-fixes-1 sequence=1 name=demo\n2026-01-02\tkey\n";
  static const char other[] = "besom-fixes-1 sequence=1 name=other\n2026-01-02\tkey\n";
  char version[BESOM_FIXES_VERSION_BYTES];
  besom_fixes *fixes = NULL;
  (void)state;
  write_set("aqf", 2, 1);
  temp_path path = temp_dir_file(&dir, "my.fixes");
  assert_true(write_whole_file(path.text, text, strlen(text)));
  assert_int_equal(chmod(path.text, 0600), 0);
  assert_int_equal(besom_fixes_version(dir.path, version), BESOM_OK);
  assert_string_equal(version, "sequence=1");
  assert_int_equal(besom_fixes_open(path.text, dir.path, &fixes), BESOM_OK);
  assert_true(besom_fixes_has(fixes, "key", 3));
  besom_fixes_close(fixes);
  assert_true(write_whole_file(path.text, other, strlen(other)));
  assert_int_equal(besom_fixes_open(path.text, dir.path, &fixes), BESOM_INCOMPATIBLE);
  assert_true(write_whole_file(path.text, text, strlen(text)));
  write_set("aqf", 2, 2);
  assert_int_equal(besom_fixes_open(path.text, dir.path, &fixes), BESOM_INCOMPATIBLE);
  assert_int_equal(unlink(path.text), 0);
}

/* The pointer moves on to version 2, whose files are removed, too; an open set stays what it is. */
static void an_open_set_stays_when_its_files_are_removed(void **state) {
  (void)state;
  write_set("aqf", 2, 1);
  besom_set *set = open_set(0);
  write_set("aqf", 2, 2);
  for (int i = 0; i < 2; i++) {
    char name[32];
    snprintf(name, sizeof name, "shard-%d-1", i);
    assert_int_equal(unlink(temp_dir_file(&dir, name).text), 0);
  }
  for (uint64_t i = 0; i < KEYS; i++) assert_true(has(set, MEMBERS, i));
  besom_set_close(set);
  set = open_set(0);
  besom_set_information info;
  assert_int_equal(besom_set_info(set, &info), BESOM_OK);
  assert_int_equal(info.sequence, 2);
  besom_set_close(set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_member_is_answered_yes),
      cmocka_unit_test(reported_keys_are_answered_no),
      cmocka_unit_test(shards_with_seeds_of_their_own_are_asked_with_these),
      cmocka_unit_test(damaged_texts_are_refused),
      cmocka_unit_test(damaged_shards_are_refused),
      cmocka_unit_test(missing_things_are_statuses),
      cmocka_unit_test(fixes_are_for_a_version_of_the_set),
      cmocka_unit_test(an_open_set_stays_when_its_files_are_removed),
  };
  temp_dir_make(&dir);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  temp_dir_remove(&dir);
  return failed;
}

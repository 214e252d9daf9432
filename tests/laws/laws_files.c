/* A saved filter is restored unchanged: from memory, from a file, and memory-mapped. */
#include <stdlib.h>
#include <string.h>

#include "filters.h"
#include "support/temp_files.h"

enum { N = 3000, QUERIES = 20000 };

/* All but the instruction set and, for a mapped filter, its memory. */
static void assert_same_statistics(const besom_filter *a, const besom_filter *b, bool memory_too) {
  besom_statistics x = stats_of(a), y = stats_of(b);
  assert_string_equal(x.kind, y.kind);
  assert_string_equal(x.hash, y.hash);
  assert_int_equal(x.keys, y.keys);
  assert_int_equal(x.capacity, y.capacity);
  assert_int_equal(x.slots, y.slots);
  assert_int_equal(x.width, y.width);
  if (memory_too) assert_int_equal(x.bytes, y.bytes);
  assert_true(x.load_factor == y.load_factor);
  assert_true(x.expected_fpr == y.expected_fpr);
  assert_true(x.fpr_at_capacity == y.fpr_at_capacity);
}

/* Answers, and copies if the kind counts: every third member is inserted twice. */
static besom_filter *make_sample(const subject *s) {
  besom_config config = config_of(s, 2 * N, 1.0 / 128);
  uint64_t *keys = keys_u64(MEMBERS, N);
  besom_filter *f = make_of_u64(s, &config, keys, N);
  for (size_t i = 0; can(s, BESOM_CAN_COUNT) && i < N; i += 3)
    assert_status(BESOM_OK, besom_insert_u64(f, keys[i]));
  free(keys);
  return f;
}

static void assert_is_copy(const subject *s, const besom_filter *copy, const besom_filter *f,
                           bool memory_too) {
  assert_valid(copy);
  /* A loaded filter is not concurrent: it has no locks. */
  assert_same_statistics(copy, f, memory_too && !s->flags);
  assert_same_answers(s, copy, f, QUERIES);
  assert_same_bytes(copy, f);
}

static void a_saved_filter_loads_as_it_was(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_sample(s), *copy = NULL;
  memory_sink saved;
  save_to(&saved, f);
  assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &copy));
  memset(saved.data, 0xff, saved.len); /* the library must not keep a pointer to it */
  assert_is_copy(s, copy, f, true);
  if (can(s, BESOM_CAN_INSERT)) {
    assert_status(BESOM_OK, besom_insert_u64(copy, key_u64(MORE_MEMBERS, 0)));
    assert_true(besom_contains_u64(copy, key_u64(MORE_MEMBERS, 0)));
  }
  memory_sink_close(&saved);
  besom_free(copy);
  besom_free(f);
}

static void an_empty_filter_loads_as_it_was(void **state) {
  const subject *s = subject_of(state);
  for (size_t capacity = 1; capacity < 100; capacity += 31) {
    besom_config config = config_of(s, capacity, 0);
    besom_filter *f = make_empty(&config), *copy = NULL;
    memory_sink saved;
    save_to(&saved, f);
    assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &copy));
    assert_valid(copy);
    assert_same_bytes(copy, f);
    assert_int_equal(count_false_positives(copy, 1000), 0);
    memory_sink_close(&saved);
    besom_free(copy);
    besom_free(f);
  }
}

/* The buffer of the caller need not be aligned. */
static void a_filter_loads_from_any_address(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 200, 0);
  memory_sink saved;
  save_to(&saved, f);
  for (size_t offset = 1; offset < 16; offset += 2) {
    uint8_t *odd = malloc(saved.len + offset);
    besom_filter *copy = NULL;
    assert_non_null(odd);
    memcpy(odd + offset, saved.data, saved.len);
    assert_status(BESOM_OK, besom_load(odd + offset, saved.len, NULL, &copy));
    free(odd);
    assert_same_bytes(copy, f);
    besom_free(copy);
  }
  memory_sink_close(&saved);
  besom_free(f);
}

/* Two filters loaded from one buffer share no memory. */
static void copies_are_independent(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_sample(s), *a = NULL, *b = NULL;
  memory_sink saved;
  save_to(&saved, f);
  assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &a));
  assert_status(BESOM_OK, besom_load(saved.data, saved.len, NULL, &b));
  memory_sink_close(&saved);
  for (size_t i = 0; can(s, BESOM_CAN_INSERT) && i < 100; i++)
    assert_status(BESOM_OK, besom_insert_u64(a, key_u64(MORE_MEMBERS, i)));
  besom_free(a);
  assert_is_copy(s, b, f, true);
  besom_free(f);
  assert_valid(b);
  besom_free(b);
}

/* Same seed and keys: same bytes, with every instruction set. Compared with the default options. */
static void equal_filters_give_equal_bytes(void **state) {
  const subject *s = subject_of(state);
  besom_filter *a = make_sample(s), *b = make_sample(s);
  assert_same_bytes(a, b);
  besom_free(b);
  subject as_it_comes = *s;
  if (s->same_format) as_it_comes.options = NULL;
  b = make_sample(&as_it_comes);
  assert_same_bytes(a, b);
  besom_free(a);
  besom_free(b);
}

/* The saved bytes depend on the members, not on the history: removed keys leave no trace. */
static void removing_leaves_no_trace(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_sample(s), *same = make_sample(s);
  for (size_t i = 0; i < N / 2; i++)
    assert_status(BESOM_OK, besom_insert_u64(f, key_u64(MORE_MEMBERS, i)));
  for (size_t i = 0; i < N / 2; i++)
    assert_status(BESOM_OK, besom_remove_u64(f, key_u64(MORE_MEMBERS, i)));
  assert_valid(f);
  assert_same_statistics(f, same, true);
  assert_same_answers(s, f, same, 10000);
  besom_free(f);
  besom_free(same);
}

static void assert_read_only(const subject *s, besom_filter *f) {
  uint64_t key = key_u64(MEMBERS, 0), slots = stats_of(f).slots;
  size_t done = 1;
  const unsigned changes = BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_RESIZE |
                           BESOM_CAN_REKEY | BESOM_CAN_NO_LIST_AT;
  assert_int_equal(besom_abilities(f) & changes, 0);
  if (can(s, BESOM_CAN_INSERT)) {
    assert_status(BESOM_READ_ONLY, besom_insert_u64(f, key));
    assert_status(BESOM_READ_ONLY, besom_insert(f, "key", 3));
    assert_status(BESOM_READ_ONLY, besom_insert_digest(f, (besom_digest){1, 2}));
    assert_status(BESOM_READ_ONLY, besom_insert_many_u64(f, &key, 1, &done));
    assert_int_equal(done, 0);
  }
  if (can(s, BESOM_CAN_REMOVE)) assert_status(BESOM_READ_ONLY, besom_remove_u64(f, key));
  if (can(s, BESOM_CAN_RESIZE)) assert_status(BESOM_READ_ONLY, besom_resize(f, 2 * slots, NULL));
  if (can(s, BESOM_CAN_RESIZE) && slots % 2 == 0)
    assert_status(BESOM_READ_ONLY, besom_resize(f, slots / 2, NULL));
  if (can(s, BESOM_CAN_ADAPT) && !can(s, BESOM_STORES_EXCEPTIONS))
    assert_status(is_published_form(s) && besom_adapt_u64(f, key) == BESOM_NEEDS_STORE
                      ? BESOM_NEEDS_STORE
                      : BESOM_READ_ONLY,
                  besom_adapt_u64(f, key));
  if (can(s, BESOM_CAN_NO_LIST_AT)) {
    besom_match match = {0, 0};
    assert_status(BESOM_READ_ONLY, besom_no_add_at(f, (besom_digest){1, 2}, &match));
    assert_status(BESOM_READ_ONLY, besom_no_remove_at(f, &match));
  }
  besom_task *task = NULL;
  array_source source;
  source_of_u64(&source, &key, 1);
  if (can(s, BESOM_CAN_RESIZE)) assert_status(BESOM_READ_ONLY, besom_resize(f, 2 * slots, &task));
  if (can(s, BESOM_CAN_REKEY))
    assert_status(BESOM_READ_ONLY, besom_rekey(f, &source.api, NULL, NULL, &task));
  if (can(s, BESOM_CAN_REKEY))
    assert_status(BESOM_READ_ONLY, besom_rekey(f, &source.api, NULL, NULL, NULL));
  assert_null(task);
}

/* A filter that is made from a mapped one is an ordinary filter. */
static void assert_offspring_is_writable(const subject *s, const besom_filter *f) {
  if (!can(s, BESOM_CAN_INSERT)) return;
  besom_filter *like = NULL, *merged = NULL;
  assert_status(BESOM_OK, besom_create_like(f, &like));
  assert_status(BESOM_OK, besom_insert_u64(like, key_u64(MORE_MEMBERS, 0)));
  if (can(s, BESOM_CAN_MERGE)) {
    assert_status(BESOM_OK, besom_merge(f, like, &merged));
    assert_status(BESOM_OK, besom_insert_u64(merged, key_u64(MORE_MEMBERS, 1)));
  }
  besom_free(like);
  besom_free(merged);
}

static void a_file_loads_and_opens_as_it_was(void **state) {
  const subject *s = subject_of(state);
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "filter.besom");
  besom_filter *f = make_sample(s), *copy = NULL;
  assert_status(BESOM_OK, besom_save_file(f, path.text));
  assert_int_equal(temp_dir_count(&dir), 1);
  assert_status(BESOM_OK, besom_open(path.text, NULL, &copy));
  assert_is_copy(s, copy, f, true);
  besom_free(copy);
  static const unsigned flags[] = {0, BESOM_OPEN_TRUSTED, BESOM_OPEN_CHECKSUMS};
  for (int i = 0; i < 3; i++) {
    assert_status(BESOM_OK, open_file(path.text, flags[i], &copy));
    assert_is_copy(s, copy, f, true);
    besom_free(copy);
    assert_status(BESOM_OK, open_file(path.text, BESOM_OPEN_MMAP | flags[i], &copy));
    assert_is_copy(s, copy, f, false);
    assert_read_only(s, copy);
    assert_offspring_is_writable(s, copy);
    assert_is_copy(s, copy, f, false);
    besom_free(copy);
  }
  besom_free(f);
  temp_dir_remove(&dir);
}

/* The file holds the bytes that besom_save writes. */
static void a_file_is_the_saved_bytes(void **state) {
  const subject *s = subject_of(state);
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "filter.besom");
  besom_filter *f = make_of_members(s, 500, 0);
  memory_sink saved;
  save_to(&saved, f);
  assert_true(write_whole_file(path.text, "old", 3)); /* an existing file is replaced */
  assert_status(BESOM_OK, besom_save_file(f, path.text));
  size_t len = 0;
  uint8_t *data = read_whole_file(path.text, &len);
  assert_int_equal(len, saved.len);
  assert_memory_equal(data, saved.data, len);
  free(data);
  memory_sink_close(&saved);
  besom_free(f);
  temp_dir_remove(&dir);
}

/* A mapped filter keeps working when besom_save_file replaces its file. */
static void replacing_a_file_leaves_the_open_one(void **state) {
  const subject *s = subject_of(state);
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path path = temp_dir_file(&dir, "filter.besom");
  besom_filter *f = make_sample(s), *other = make_of_members(s, 7, 0), *open = NULL;
  assert_status(BESOM_OK, besom_save_file(f, path.text));
  assert_status(BESOM_OK, open_file(path.text, BESOM_OPEN_MMAP, &open));
  assert_status(BESOM_OK, besom_save_file(other, path.text));
  assert_is_copy(s, open, f, false);
  assert_int_equal(temp_dir_count(&dir), 1);
  besom_free(open);
  besom_free(other);
  besom_free(f);
  temp_dir_remove(&dir);
}

/* Whichever byte the sink fails at, save returns the status of the sink. */
static void a_failing_sink_ends_the_save(void **state) {
  const subject *s = subject_of(state);
  besom_filter *f = make_of_members(s, 500, 0);
  memory_sink saved;
  save_to(&saved, f);
  for (size_t limit = 0; limit < saved.len; limit += 1 + limit / 4) {
    memory_sink narrow;
    memory_sink_init(&narrow);
    narrow.limit = limit;
    narrow.status = BESOM_CANCELLED;
    assert_status(BESOM_CANCELLED, besom_save(f, &narrow.api));
    memory_sink_close(&narrow);
  }
  memory_sink_close(&saved);
  besom_free(f);
}

static void a_failing_file_is_a_status(void **state) {
  const subject *s = subject_of(state);
  temp_dir dir;
  temp_dir_make(&dir);
  temp_path absent = temp_dir_file(&dir, "no/such/dir"), none = temp_dir_file(&dir, "none");
  besom_filter *f = make_of_members(s, 10, 0), *out = NULL;
  assert_status(BESOM_IO, besom_save_file(f, absent.text));
  assert_status(BESOM_IO, besom_save_file(f, dir.path));
  assert_status(BESOM_IO, besom_open(none.text, NULL, &out));
  assert_status(BESOM_IO, open_file(none.text, BESOM_OPEN_MMAP, &out));
  /* A directory cannot be read, or is not a filter. */
  assert_true(besom_open(dir.path, NULL, &out) != BESOM_OK);
  assert_true(open_file(dir.path, BESOM_OPEN_MMAP | BESOM_OPEN_TRUSTED, &out) != BESOM_OK);
  assert_int_equal(temp_dir_count(&dir), 0);
  assert_null(out);
  besom_free(f);
  temp_dir_remove(&dir);
}

const law file_laws[] = {
    LAW(a_saved_filter_loads_as_it_was, EVERY_SUBJECT, 0),
    LAW(an_empty_filter_loads_as_it_was, EVERY_SUBJECT, BESOM_CAN_INSERT),
    LAW(a_filter_loads_from_any_address, EVERY_KIND, 0),
    LAW(copies_are_independent, EVERY_KIND, 0),
    LAW(equal_filters_give_equal_bytes, EVERY_SUBJECT, 0),
    LAW(removing_leaves_no_trace, EVERY_SUBJECT,
        BESOM_CAN_INSERT | BESOM_CAN_REMOVE | BESOM_CAN_COUNT),
    LAW(a_file_loads_and_opens_as_it_was, EVERY_SUBJECT, 0),
    LAW(a_file_is_the_saved_bytes, EVERY_KIND, 0),
    LAW(replacing_a_file_leaves_the_open_one, EVERY_KIND, 0),
    LAW(a_failing_sink_ends_the_save, EVERY_KIND, 0),
    LAW(a_failing_file_is_a_status, EVERY_KIND, 0),
    {0},
};

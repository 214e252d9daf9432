/* besom.hpp: each part once. The laws of the C calls are in tests/laws. */
#include "besom.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>
#include <vector>

static_assert(!std::is_copy_constructible_v<besom::filter>);
static_assert(std::is_nothrow_move_constructible_v<besom::filter>);
static_assert(std::is_nothrow_move_assignable_v<besom::filter>);

static void require(bool holds, const char *what, int line) {
  if (holds) return;
  std::fprintf(stderr, "filter.cpp:%d: %s\n", line, what);
  std::exit(1);
}
#define REQUIRE(x) require((x), #x, __LINE__)

/* Memory that is counted: what is made is freed. */
static long live;
static void *allocate(void *, std::size_t size) {
  live++;
  return std::calloc(1, size);
}
static void release(void *, void *memory, std::size_t) {
  live -= memory != nullptr;
  std::free(memory);
}
static const besom_allocator counting = {allocate, release, nullptr};

static besom::filter make(const char *kind) {
  besom::config config(kind, 1000, 0.01);
  config.allocator = &counting;
  auto f = besom::filter::create(config);
  REQUIRE(bool(f));
  return *std::move(f);
}

static void keys_are_strings_integers_and_digests() {
  besom::filter f = make("aqf");
  std::string text("with\0zero", 9);
  REQUIRE(f.insert("literal") == BESOM_OK);
  REQUIRE(f.insert(text) == BESOM_OK);
  REQUIRE(f.insert(7) == BESOM_OK);
  REQUIRE(f.insert(f.hash("digest")) == BESOM_OK);
  REQUIRE(f.contains("literal") && f.contains(text) && f.contains(7) && f.contains("digest"));
  REQUIRE(f.contains(std::string_view("\7\0\0\0\0\0\0\0", 8)));
  REQUIRE(besom_contains(f.get(), "with\0zero", 9));
  REQUIRE(*f.count("literal") == 1);
  REQUIRE(f.insert_count("literal", 4) == BESOM_OK && *f.count("literal") == 5);
  REQUIRE(f.remove(7) == BESOM_OK && !f.contains(7));
  REQUIRE(f.remove(7) == BESOM_NOT_FOUND);
  REQUIRE(f.validate() == BESOM_OK);
  REQUIRE(f.stats()->keys == 7);
}

static void a_filter_is_freed_once() {
  {
    besom::filter a = make("aqf"), b = make("bloom");
    besom_filter *raw = a.get();
    b = std::move(a);
    REQUIRE(!a && b.get() == raw && live > 0);
    besom::filter c(std::move(b));
    c = besom::filter(c.release());
    besom::filter &self = c;
    c = std::move(self);
    REQUIRE(c.get() == raw);
    c.reset();
    REQUIRE(live == 0);
    besom::filter d(make("qf").release());
  }
  REQUIRE(live == 0);
}

static void an_empty_filter_is_null() {
  besom::filter empty;
  REQUIRE(empty.contains("a") && empty.insert("a") == BESOM_INVALID);
  REQUIRE(empty.stats().status() == BESOM_INVALID);
}

static void a_failure_is_a_status() {
  auto f = besom::filter::create(besom::config("no such kind", 10));
  REQUIRE(!f && f.status() == BESOM_UNKNOWN_KIND);
  REQUIRE(std::string(f.message()) == besom_strerror(BESOM_UNKNOWN_KIND));
  REQUIRE(make("bloom").count("a").status() == BESOM_UNSUPPORTED);
  REQUIRE(besom::filter::open("/no/such/file").status() == BESOM_IO);
}

static void arrays_are_spans() {
  besom::filter f = make("qf");
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 100; i++) keys.push_back(i);
  std::size_t done = 0;
  REQUIRE(f.insert_many(keys, &done) == BESOM_OK && done == 100);
  std::array<std::uint64_t, besom::bitmap_words(100)> bitmap{};
  REQUIRE(f.contains_many(keys, bitmap) == BESOM_OK);
  for (std::size_t i = 0; i < 100; i++) REQUIRE(besom::bitmap_at(bitmap, i));
  std::uint64_t one_word[1];
  REQUIRE(f.contains_many(keys, one_word) == BESOM_INVALID);
  besom_bytes bytes[] = {{"a", 1}, {"b", 1}};
  REQUIRE(f.insert_many(bytes) == BESOM_OK && f.contains("a") && f.contains("b"));
  std::vector<besom_digest> digests = {f.hash("a"), f.hash("b")};
  REQUIRE(f.contains_many(digests, one_word) == BESOM_OK && one_word[0] == 3);
}

static void ranges_are_built() {
  std::vector<std::string> words = {"one", "two", "three"};
  auto f = besom::filter::build(besom::config("fuse", 0, 0.01), words);
  REQUIRE(bool(f));
  for (const auto &word : words) REQUIRE(f->contains(word));
  auto integers = besom::filter::build(besom::config("ribbon", 0, 0.01), std::list<int>{5, 6, 7});
  REQUIRE(integers && integers->contains(5) && integers->contains(7));
  auto both = besom::filter::build(besom::config("yesno", 0, 0.01), words,
                                   std::array<std::string_view, 2>{"four", "five"});
  REQUIRE(both && both->contains("two") && !both->contains("four") && !both->contains("five"));
}

static void filters_are_saved_merged_and_patched() {
  std::uint8_t seed[16] = {1};
  besom::config config("qf", 100, 0.01);
  config.seed = seed;
  auto a = besom::filter::create(config), b = besom::filter::create(config);
  REQUIRE(a->insert("a") == BESOM_OK && b->insert("b") == BESOM_OK);
  auto both = besom::filter::merge(*a, *b);
  REQUIRE(both && both->contains("a") && both->contains("b"));
  std::string saved, patch;
  auto append_to = [](std::string &out) {
    return [&out](const void *data, std::size_t len) {
      out.append(static_cast<const char *>(data), len);
      return BESOM_OK;
    };
  };
  REQUIRE(both->save(append_to(saved)) == BESOM_OK);
  auto loaded = besom::filter::load(saved.data(), saved.size());
  REQUIRE(loaded && loaded->contains("a") && loaded->stats()->keys == 2);
  REQUIRE(a->diff(*both, append_to(patch)) == BESOM_OK);
  auto patched = a->patch(patch.data(), patch.size());
  REQUIRE(patched && patched->contains("b"));
  REQUIRE(besom::filter::load(saved.data(), saved.size() / 2).status() == BESOM_CORRUPT);
  REQUIRE(a->save([](const void *, std::size_t) { return BESOM_DISK_FULL; }) == BESOM_DISK_FULL);
}

static void a_reported_false_positive_is_denied() {
  besom::filter f = make("aqf");
  for (std::uint64_t i = 0; i < 1000; i++) REQUIRE(f.insert(i) == BESOM_OK);
  std::uint64_t absent = 1000;
  while (!f.contains(absent)) absent++;
  REQUIRE(f.adapt(absent) == BESOM_OK && !f.contains(absent));
}

#ifdef BESOM_EXCEPTIONS
static void value_throws() {
  bool caught = false;
  try {
    besom::filter::create(besom::config("no such kind", 10)).value();
  } catch (const besom::error &e) {
    caught = e.status() == BESOM_UNKNOWN_KIND;
  }
  REQUIRE(caught);
  besom::filter f = besom::filter::create(besom::config("aqf", 10)).value();
  besom::check(f.insert("a"));
}
#endif

int main() {
  keys_are_strings_integers_and_digests();
  a_filter_is_freed_once();
  an_empty_filter_is_null();
  a_failure_is_a_status();
  arrays_are_spans();
  ranges_are_built();
  filters_are_saved_merged_and_patched();
  a_reported_false_positive_is_denied();
#ifdef BESOM_EXCEPTIONS
  value_throws();
#endif
  std::puts("besom.hpp: passed");
}

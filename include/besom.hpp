/*
 * besom.hpp - besom.h for C++17: filters that free themselves, keys as std::string_view, arrays as
 * spans, results without exceptions.
 *
 *     besom::config config("aqf", 1000000, 0.001);
 *     auto f = besom::filter::create(config);
 *     if (!f) return std::puts(f.message());
 *     if (f->insert("key") != BESOM_OK) ...
 *     if (f->contains("key")) ...                       // perhaps: ask the database
 *
 * besom.h is the manual: every member function is one call of C, inline, and means the same. There
 * is nothing to link besides the C library. A member that may fail returns besom_status, or a
 * result if it makes something; the compiler warns if the caller ignores either.
 *
 * With BESOM_EXCEPTIONS defined before the #include, result::value() and besom::check() throw
 * besom::error. Nothing else in this header throws.
 *
 * Keys: std::string_view, and whatever converts to it; integers, as their 8 little-endian bytes;
 * digests. What this header does not have (tasks, binding to a store, grouping) is there in C:
 * besom_resize(f.get(), ...).
 */
#ifndef BESOM_HPP
#define BESOM_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#ifdef BESOM_EXCEPTIONS
#include <stdexcept>
#endif

#include "besom.h"

namespace besom {

/* -------------------------------------------------------------- results */

#ifdef BESOM_EXCEPTIONS
class error : public std::runtime_error {
public:
  explicit error(besom_status status)
      : std::runtime_error(besom_strerror(status)), status_(status) {}
  besom_status status() const noexcept { return status_; }

private:
  besom_status status_;
};

/* Throws unless the status is a success. */
inline void check(besom_status status) {
  if (status != BESOM_OK && status != BESOM_EVICTED) throw error(status);
}
#endif

/* A value, or the status that tells why there is none. Use * and -> only if it is true. */
template <class T> class [[nodiscard]] result {
public:
  result(besom_status status) noexcept : status_(status), value_() {}
  result(T &&value) noexcept : status_(BESOM_OK), value_(std::move(value)) {}

  explicit operator bool() const noexcept { return status_ == BESOM_OK; }
  besom_status status() const noexcept { return status_; }
  const char *message() const noexcept { return besom_strerror(status_); }

  T &operator*() &noexcept { return value_; }
  const T &operator*() const &noexcept { return value_; }
  T &&operator*() &&noexcept { return std::move(value_); }
  T *operator->() noexcept { return &value_; }
  const T *operator->() const noexcept { return &value_; }

#ifdef BESOM_EXCEPTIONS
  T &value() & {
    check(status_);
    return value_;
  }
  T &&value() && {
    check(status_);
    return std::move(value_);
  }
#endif

private:
  besom_status status_;
  T value_;
};

/* -------------------------------------------------------------- arrays */

/* An array that somebody else owns: C++17 has no std::span. Made from any contiguous container. */
template <class T> class span {
public:
  constexpr span() noexcept = default;
  constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  template <class Container, class = std::enable_if_t<std::is_convertible_v<
                                 decltype(std::data(std::declval<Container &>())), T *>>>
  constexpr span(Container &&c) noexcept : data_(std::data(c)), size_(std::size(c)) {}

  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

/* Words of the bitmap that contains_many writes for n keys, and the answer for key i. */
constexpr std::size_t bitmap_words(std::size_t n) noexcept {
  return (n + 63) / 64;
}

inline bool bitmap_at(span<const std::uint64_t> bitmap, std::size_t i) noexcept {
  return bitmap[i / 64] >> (i % 64) & 1;
}

/* -------------------------------------------------------------- sources and sinks */

/*
 * The keys of a range, as a besom_source: strings, or integers. The range must outlive it. Its
 * iterators must not throw.
 */
template <class Range> class range_source {
  using iterator = decltype(std::begin(std::declval<const Range &>()));
  using category = typename std::iterator_traits<iterator>::iterator_category;

public:
  explicit range_source(const Range &range) noexcept : range_(range), at_(std::begin(range)) {
    source_.next = next;
    source_.rewind = rewind;
    source_.ctx = this;
    if constexpr (std::is_base_of_v<std::random_access_iterator_tag, category>)
      source_.size_hint = static_cast<std::uint64_t>(std::end(range) - std::begin(range));
  }
  range_source(const range_source &) = delete;
  range_source &operator=(const range_source &) = delete;

  const besom_source *get() const noexcept { return &source_; }

private:
  static besom_status next(void *ctx, besom_bytes *key, std::uint64_t *) noexcept {
    auto *self = static_cast<range_source *>(ctx);
    if (self->at_ == std::end(self->range_)) return BESOM_END;
    self->read(*self->at_, key);
    ++self->at_;
    return BESOM_OK;
  }

  static besom_status rewind(void *ctx) noexcept {
    auto *self = static_cast<range_source *>(ctx);
    self->at_ = std::begin(self->range_);
    return BESOM_OK;
  }

  template <class Key> void read(const Key &k, besom_bytes *key) noexcept {
    if constexpr (std::is_integral_v<Key>) {
      for (unsigned i = 0; i < 8; i++)
        integer_[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(k) >> (8 * i));
      *key = besom_bytes{integer_, sizeof integer_};
    } else {
      static_assert(std::is_lvalue_reference_v<decltype(*at_)> ||
                        std::is_same_v<Key, std::string_view>,
                    "the key must live longer than the call: the range makes its keys on the fly");
      std::string_view bytes(k);
      *key = besom_bytes{bytes.data(), bytes.size()};
    }
  }

  const Range &range_;
  iterator at_;
  besom_source source_ = {};
  unsigned char integer_[8] = {};
};

/* A callable as a besom_sink: besom_status (const void *data, std::size_t len). It must not throw. */
template <class Write> besom_sink sink_of(Write &write) noexcept {
  besom_sink sink = {};
  sink.write = [](void *ctx, const void *data, std::size_t len) noexcept -> besom_status {
    return (*static_cast<Write *>(ctx))(data, len);
  };
  sink.ctx = &write;
  return sink;
}

/* -------------------------------------------------------------- filters */

/* C++17 has no designated initializers; the members are those of besom_config. */
struct config : besom_config {
  config() noexcept : besom_config() {}
  config(const char *kind_, std::uint64_t capacity_, double fpr_ = 0) noexcept : besom_config() {
    kind = kind_;
    capacity = capacity_;
    fpr = fpr_;
  }
};

/*
 * A filter, freed at the end of its life. It is one pointer, which moves. An empty one (made by
 * default, or moved from) is NULL to the C calls: it answers yes, and changes are BESOM_INVALID.
 */
class filter {
public:
  filter() noexcept = default;
  explicit filter(besom_filter *f) noexcept : f_(f) {}
  filter(filter &&other) noexcept : f_(other.release()) {}
  filter &operator=(filter &&other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~filter() {
    if (f_) besom_free(f_);
  }

  explicit operator bool() const noexcept { return f_ != nullptr; }
  besom_filter *get() noexcept { return f_; }
  const besom_filter *get() const noexcept { return f_; }
  [[nodiscard]] besom_filter *release() noexcept { return std::exchange(f_, nullptr); }
  void reset(besom_filter *f = nullptr) noexcept { besom_free(std::exchange(f_, f)); }

  /* Making filters. */
  static result<filter> create(const besom_config &config) noexcept {
    return make([&](besom_filter **out) { return besom_create(&config, out); });
  }
  static result<filter> build(const besom_config &config, const besom_input &input) noexcept {
    return make([&](besom_filter **out) { return besom_build(&config, &input, out); });
  }
  template <class Range>
  static result<filter> build(const besom_config &config, const Range &yes) noexcept {
    range_source<Range> source(yes);
    besom_input input = {};
    input.yes = source.get();
    return build(config, input);
  }
  template <class Yes, class No>
  static result<filter> build(const besom_config &config, const Yes &yes, const No &no) noexcept {
    range_source<Yes> yes_source(yes);
    range_source<No> no_source(no);
    besom_input input = {};
    input.yes = yes_source.get();
    input.no = no_source.get();
    return build(config, input);
  }
  static result<filter> open(const char *path, unsigned flags = 0) noexcept {
    besom_open_options options = {};
    options.flags = flags;
    return make([&](besom_filter **out) { return besom_open(path, &options, out); });
  }
  static result<filter> load(const void *data, std::size_t len) noexcept {
    return make([&](besom_filter **out) { return besom_load(data, len, nullptr, out); });
  }
  result<filter> create_like() const noexcept {
    return make([&](besom_filter **out) { return besom_create_like(f_, out); });
  }
  static result<filter> merge(const filter &a, const filter &b) noexcept {
    return make([&](besom_filter **out) { return besom_merge(a.f_, b.f_, out); });
  }
  result<filter> patch(const void *patch, std::size_t len) const noexcept {
    return make([&](besom_filter **out) { return besom_patch(f_, patch, len, out); });
  }

  /* Queries. */
  bool contains(std::string_view key) const noexcept {
    return besom_contains(f_, key.data(), key.size());
  }
  bool contains(std::uint64_t key) const noexcept { return besom_contains_u64(f_, key); }
  bool contains(besom_digest digest) const noexcept { return besom_contains_digest(f_, digest); }

  /* A query of this key follows later. */
  void prefetch(std::uint64_t key) const noexcept { besom_prefetch_u64(f_, key); }
  void prefetch(besom_digest digest) const noexcept { besom_prefetch_digest(f_, digest); }

  /* The bitmap has room for bitmap_words(keys.size()) words; with less: BESOM_INVALID. */
  [[nodiscard]] besom_status contains_many(span<const std::uint64_t> keys,
                                           span<std::uint64_t> bitmap) const noexcept {
    if (bitmap.size() < bitmap_words(keys.size())) return BESOM_INVALID;
    return besom_contains_many_u64(f_, keys.data(), keys.size(), bitmap.data());
  }
  [[nodiscard]] besom_status contains_many(span<const besom_bytes> keys,
                                           span<std::uint64_t> bitmap) const noexcept {
    if (bitmap.size() < bitmap_words(keys.size())) return BESOM_INVALID;
    return besom_contains_many(f_, keys.data(), keys.size(), bitmap.data());
  }
  [[nodiscard]] besom_status contains_many(span<const besom_digest> digests,
                                           span<std::uint64_t> bitmap) const noexcept {
    if (bitmap.size() < bitmap_words(digests.size())) return BESOM_INVALID;
    return besom_contains_many_digest(f_, digests.data(), digests.size(), bitmap.data());
  }
  besom_digest hash(std::string_view key) const noexcept {
    return besom_hash(f_, key.data(), key.size());
  }
  besom_digest hash(std::uint64_t key) const noexcept { return besom_hash_u64(f_, key); }

  result<std::uint64_t> count(std::string_view key) const noexcept {
    std::uint64_t n = 0;
    besom_status status = besom_count(f_, key.data(), key.size(), &n);
    return status == BESOM_OK ? result<std::uint64_t>(std::move(n)) : status;
  }
  result<std::uint64_t> value(std::string_view key) const noexcept {
    std::uint64_t v = 0;
    besom_status status = besom_get_value(f_, key.data(), key.size(), &v);
    return status == BESOM_OK ? result<std::uint64_t>(std::move(v)) : status;
  }

  /* Changes. */
  [[nodiscard]] besom_status insert(std::string_view key) noexcept {
    return besom_insert(f_, key.data(), key.size());
  }
  [[nodiscard]] besom_status insert(std::uint64_t key) noexcept {
    return besom_insert_u64(f_, key);
  }
  [[nodiscard]] besom_status insert(besom_digest digest) noexcept {
    return besom_insert_digest(f_, digest);
  }
  [[nodiscard]] besom_status insert_many(span<const std::uint64_t> keys,
                                         std::size_t *done = nullptr) noexcept {
    return besom_insert_many_u64(f_, keys.data(), keys.size(), done);
  }
  [[nodiscard]] besom_status insert_many(span<const besom_bytes> keys,
                                         std::size_t *done = nullptr) noexcept {
    return besom_insert_many(f_, keys.data(), keys.size(), done);
  }
  [[nodiscard]] besom_status insert_many(span<const besom_digest> digests,
                                         std::size_t *done = nullptr) noexcept {
    return besom_insert_many_digest(f_, digests.data(), digests.size(), done);
  }
  [[nodiscard]] besom_status insert_count(std::string_view key, std::uint64_t n) noexcept {
    return besom_insert_count(f_, key.data(), key.size(), n);
  }
  [[nodiscard]] besom_status remove(std::string_view key) noexcept {
    return besom_remove(f_, key.data(), key.size());
  }
  [[nodiscard]] besom_status remove(std::uint64_t key) noexcept {
    return besom_remove_u64(f_, key);
  }
  [[nodiscard]] besom_status set_value(std::string_view key, std::uint64_t value) noexcept {
    return besom_set_value(f_, key.data(), key.size(), value);
  }
  /* BESOM_EVICTED is a success, too. */
  [[nodiscard]] besom_status adapt(std::string_view key) noexcept {
    return besom_adapt(f_, key.data(), key.size());
  }
  [[nodiscard]] besom_status adapt(std::uint64_t key) noexcept { return besom_adapt_u64(f_, key); }
  [[nodiscard]] besom_status no_add(std::string_view key) noexcept {
    return besom_no_add(f_, key.data(), key.size());
  }
  [[nodiscard]] besom_status no_remove(std::string_view key) noexcept {
    return besom_no_remove(f_, key.data(), key.size());
  }
  [[nodiscard]] besom_status resize(std::uint64_t slots) noexcept {
    return besom_resize(f_, slots, nullptr);
  }
  [[nodiscard]] besom_status share() noexcept { return besom_share(f_); }

  /* Files and statistics. */
  template <class Write> [[nodiscard]] besom_status save(Write &&write) const noexcept {
    besom_sink sink = sink_of(write);
    return besom_save(f_, &sink);
  }
  [[nodiscard]] besom_status save_file(const char *path) const noexcept {
    return besom_save_file(f_, path);
  }
  template <class Write>
  [[nodiscard]] besom_status diff(const filter &fresh, Write &&write) const noexcept {
    besom_sink sink = sink_of(write);
    return besom_diff(f_, fresh.f_, &sink);
  }
  result<besom_statistics> stats() const noexcept {
    besom_statistics stats = {};
    besom_status status = besom_stats(f_, &stats);
    return status == BESOM_OK ? result<besom_statistics>(std::move(stats)) : status;
  }
  unsigned abilities() const noexcept { return besom_abilities(f_); }
  [[nodiscard]] besom_status validate(const char **reason = nullptr) const noexcept {
    return besom_validate(f_, reason);
  }

private:
  template <class Call> static result<filter> make(Call call) noexcept {
    besom_filter *f = nullptr;
    besom_status status = call(&f);
    return status == BESOM_OK ? result<filter>(filter(f)) : result<filter>(status);
  }

  besom_filter *f_ = nullptr;
};

static_assert(sizeof(filter) == sizeof(besom_filter *), "a filter is one pointer");

} // namespace besom

#endif

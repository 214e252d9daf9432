/* Pairs of functions, c_X and cpp_X: run.sh checks that the compiler makes equal code of them. */
#include "besom.hpp"

using besom::filter;
using pointer = besom_filter *; /* what a filter is */

extern "C" {

bool c_contains(const pointer *f, const char *key, size_t len) {
  return besom_contains(*f, key, len);
}
bool cpp_contains(const filter *f, const char *key, size_t len) {
  return f->contains(std::string_view(key, len));
}

bool c_contains_u64(const pointer *f, uint64_t key) {
  return besom_contains_u64(*f, key);
}
bool cpp_contains_u64(const filter *f, uint64_t key) {
  return f->contains(key);
}

bool c_contains_digest(const pointer *f, besom_digest d) {
  return besom_contains_digest(*f, d);
}
bool cpp_contains_digest(const filter *f, besom_digest d) {
  return f->contains(d);
}

besom_digest c_hash(const pointer *f, const char *key, size_t len) {
  return besom_hash(*f, key, len);
}
besom_digest cpp_hash(const filter *f, const char *key, size_t len) {
  return f->hash(std::string_view(key, len));
}

besom_status c_insert(pointer *f, const char *key, size_t len) {
  return besom_insert(*f, key, len);
}
besom_status cpp_insert(filter *f, const char *key, size_t len) {
  return f->insert(std::string_view(key, len));
}

besom_status c_insert_u64(pointer *f, uint64_t key) {
  return besom_insert_u64(*f, key);
}
besom_status cpp_insert_u64(filter *f, uint64_t key) {
  return f->insert(key);
}

besom_status c_insert_many(pointer *f, const uint64_t *keys, size_t n) {
  return besom_insert_many_u64(*f, keys, n, nullptr);
}
besom_status cpp_insert_many(filter *f, const uint64_t *keys, size_t n) {
  return f->insert_many(besom::span<const uint64_t>(keys, n));
}

besom_status c_contains_many(const pointer *f, const uint64_t (*keys)[512], uint64_t (*bitmap)[8]) {
  return besom_contains_many_u64(*f, *keys, 512, *bitmap);
}
besom_status cpp_contains_many(const filter *f, const uint64_t (*keys)[512],
                               uint64_t (*bitmap)[8]) {
  return f->contains_many(*keys, *bitmap);
}

besom_status c_remove(pointer *f, const char *key, size_t len) {
  return besom_remove(*f, key, len);
}
besom_status cpp_remove(filter *f, const char *key, size_t len) {
  return f->remove(std::string_view(key, len));
}

besom_status c_adapt_u64(pointer *f, uint64_t key) {
  return besom_adapt_u64(*f, key);
}
besom_status cpp_adapt_u64(filter *f, uint64_t key) {
  return f->adapt(key);
}

uint64_t c_count(const pointer *f, const char *key, size_t len) {
  uint64_t n = 0;
  return besom_count(*f, key, len, &n) == BESOM_OK ? n : 0;
}
uint64_t cpp_count(const filter *f, const char *key, size_t len) {
  auto n = f->count(std::string_view(key, len));
  return n ? *n : 0;
}
}

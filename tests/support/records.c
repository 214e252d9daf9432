#include "support/records.h"

#include <string.h>

#include "support/keys.h"

void fill_bytes(uint8_t *out, size_t len, uint64_t seed) {
  random_stream random = {seed};
  for (size_t i = 0; i < len; i++) out[i] = (uint8_t)random_next(&random);
}

void make_record(made_record *record, uint64_t number) {
  size_t key_len = number % 64, value_len = number % 5 ? number % 37 : number % LARGEST_VALUE;
  fill_bytes(record->key, key_len, number);
  fill_bytes(record->value, value_len, ~number);
  record->api = (besom_record){{key_len ? record->key : NULL, key_len},
                               {value_len ? record->value : NULL, value_len}};
}

bool bytes_equal(besom_bytes a, besom_bytes b) {
  return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

bool is_made_record(const besom_record *shown, uint64_t number) {
  made_record expected;
  make_record(&expected, number);
  return bytes_equal(shown->key, expected.api.key) && bytes_equal(shown->value, expected.api.value);
}

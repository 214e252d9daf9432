/*
 * exaf, taf, utaf and broom in front of a store, at sizes that would take too long in slot_meta.c.
 */
#include "slot_meta_subject.h"

static void no_key_is_lost_in_large_filters(void **state) {
  (void)state;
  for (size_t k = 0; k < KINDS; k++) {
    for (uint32_t width = 4; width <= 16; width++)
      interleave(kinds[k], 10000 + width, width, width % 2 ? other_options[k] : NULL);
    interleave(kinds[k], 1 << 17, 6, NULL);
    interleave(kinds[k], 1 << 20, 8, NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_key_is_lost_in_large_filters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

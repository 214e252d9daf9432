/* The text of a plan: one line per layer and figure. */
#include "plan_text.h"

#include "capture.h"

static void every_layer_and_figure_has_a_line(void **state) {
  (void)state;
  besom_stack_plan plan = {.frequent = 1200,
                           .share = 0.75,
                           .layers = 3,
                           .rates = {0.01, 0.25, 0.125},
                           .bits_per_key = 9.5,
                           .expected_fpr = 0.002,
                           .worst_fpr = 0.01,
                           .checks_member = 2.25,
                           .checks = 1.0625};
  capture c = capture_begin();
  plan_text_print(c.out, &plan);
  capture_expect(&c, "layers: 3\n"
                     "  layer 1, members: false-positive rate 0.01\n"
                     "  layer 2, frequent absent keys: false-positive rate 0.25\n"
                     "  layer 3, members: false-positive rate 0.125\n"
                     "frequent absent keys: 1200, 0.75 of the negative queries\n"
                     "bits per key: 9.5\n"
                     "expected false-positive rate: 0.002\n"
                     "worst-case false-positive rate: 0.01\n"
                     "layers queried: 2.25 per positive query, 1.062 per negative query\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_layer_and_figure_has_a_line)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "plan_text.h"

void plan_text_print(FILE *out, const besom_stack_plan *plan) {
  fprintf(out, "layers: %u\n", (unsigned)plan->layers);
  for (uint32_t i = 0; i < plan->layers && i < BESOM_PLAN_LAYERS; i++)
    fprintf(out, "  layer %u, %s: false-positive rate %.4g\n", (unsigned)i + 1,
            i % 2 ? "frequent absent keys" : "members", plan->rates[i]);
  fprintf(out, "frequent absent keys: %llu, %.4g of the negative queries\n",
          (unsigned long long)plan->frequent, plan->share);
  fprintf(out, "bits per key: %.4g\n", plan->bits_per_key);
  fprintf(out, "expected false-positive rate: %.4g\n", plan->expected_fpr);
  fprintf(out, "worst-case false-positive rate: %.4g\n", plan->worst_fpr);
  fprintf(out, "layers queried: %.4g per positive query, %.4g per negative query\n",
          plan->checks_member, plan->checks);
}

#include "build_result.h"

#include <math.h>
#include <stdio.h>

#include "counters.h"
#include "fail.h"
#include "files.h"
#include "json.h"
#include "number_text.h"

double least_bits(const besom_statistics *stats, uint64_t no, bool closed) {
  double n = (double)stats->keys, m = (double)no, e = stats->expected_fpr;
  if (closed) return (lgamma(n + m + 1) - lgamma(n + 1) - lgamma(m + 1)) / log(2) / n;
  if (!(e > 0 && e < 1) || !stats->keys) return 0;
  return log2(fmax(1 / e, m / n)) + log2(exp(1)) * fmin(e * m / n, 1);
}

double least_bits_of_groups(const besom_filter *f) {
  uint64_t keys = filter_stats(f).keys;
  return keys ? (double)counter_of(f, "least_bits") / (double)keys : 0;
}

/* The other filter has 1.36 times the least possible bits (docs/lists.md). */
void warn_if_no_list_is_large(uint64_t yes, uint64_t no, double fpr) {
  enum { LARGE_BYTES = 1 << 20 };
  const double bytes_per_no_key = 8.5, bytes_per_bit = 1.36 / 8;
  besom_statistics stats = {.keys = yes, .expected_fpr = fpr > 0 ? fpr : 1.0 / 256};
  double fixed = least_bits(&stats, no, false) * (double)yes * bytes_per_bit;
  double changing = bytes_per_no_key * (double)no + fixed;
  if (changing < LARGE_BYTES || changing < 4 * fixed) return;
  fprintf(
      stderr,
      "%s: --dynamic stores each of the %s keys of the no list: about %.0f KB. Without --dynamic "
      "the file takes about %.0f KB, and changes are shipped with --smallest and --update\n",
      program_name, grouped(no).text, changing / 1e3, fixed / 1e3);
}

static void build_result_text(const build_result *r) {
  const besom_statistics *s = &r->stats;
  fprintf(stderr, "%s: %s, %llu keys%s, %.2f bits per key", r->path, s->kind,
          (unsigned long long)(r->counts_keys ? s->keys : r->yes), r->counts_keys ? "" : " read",
          s->bits_per_key);
  if (r->least_bits > 0) fprintf(stderr, " (least possible: %.2f)", r->least_bits);
  if (r->counts_keys && r->yes > s->keys)
    fprintf(stderr, ", %llu duplicates", (unsigned long long)(r->yes - s->keys));
  if (r->conflicts)
    fprintf(stderr, ", %llu in both lists count as %s", (unsigned long long)r->conflicts,
            r->on_conflict);
  if (r->domains.labels) fprintf(stderr, ", domains of up to %u labels", r->domains.labels);
  if (r->domains.exceptions)
    fprintf(stderr, ", %llu exceptions", (unsigned long long)r->domains.exceptions);
  if (r->has_no_list && r->is_sample) fputs("; the no list is a sample: not exact on it", stderr);
  fputs("\n", stderr);
}

static void build_result_json(const build_result *r) {
  const besom_statistics *s = &r->stats;
  json j = {0};
  json_open(&j, NULL, '{');
  json_text(&j, "file", r->path);
  json_text(&j, "kind", s->kind);
  json_count(&j, "keys_read", r->yes);
  if (r->counts_keys) {
    json_count(&j, "keys", s->keys);
    json_count(&j, "duplicates", r->yes > s->keys ? r->yes - s->keys : 0);
  }
  json_count(&j, "no_keys", r->no);
  json_count(&j, "conflicts", r->conflicts);
  json_count(&j, "skipped_rules", r->skipped.rules);
  json_count(&j, "skipped_exceptions", r->skipped.exceptions);
  json_count(&j, "bytes", s->bytes);
  json_real(&j, "bits_per_key", s->bits_per_key);
  if (r->least_bits > 0) json_real(&j, "least_bits_per_key", r->least_bits);
  json_real(&j, "expected_fpr", s->expected_fpr);
  if (r->domains.labels) {
    json_count(&j, "domain_labels", r->domains.labels);
    json_count(&j, "exceptions", r->domains.exceptions);
    json_count(&j, "public_suffixes", r->domains.suffixes);
  }
  json_close(&j);
}

void build_result_print(const build_result *r, bool as_json) {
  if (as_json)
    build_result_json(r);
  else
    build_result_text(r);
}

#include "guard_json.h"

#include <stdbool.h>
#include <stddef.h>

/* A member of the statistics. Its name in JSON is its name in the struct. */
typedef struct member {
  const char *name;
  size_t offset;
} member;

#define MEMBER(name) \
  { #name, offsetof(besom_guard_statistics, name) }

static const member counts[] = {
    MEMBER(queries),
    MEMBER(filter_negatives),
    MEMBER(store_reads),
    MEMBER(true_positives),
    MEMBER(false_positives),
    MEMBER(repeated_false_positives),
    MEMBER(adapted),
    MEMBER(adapt_full),
    MEMBER(puts),
    MEMBER(replaced),
    MEMBER(deletes),
    MEMBER(put_reads),
    MEMBER(delete_reads),
    MEMBER(moved),
    MEMBER(filter_reads),
    MEMBER(queued),
    MEMBER(queue_drops),
    MEMBER(rekeys),
    MEMBER(growths),
    MEMBER(steps),
    MEMBER(step_items),
    MEMBER(largest_step),
    MEMBER(failed_steps),
    MEMBER(rebuilt),
    MEMBER(keys),
    MEMBER(filter_bytes),
    MEMBER(store_bytes),
    MEMBER(no_keys),
    MEMBER(growths_refused),
    MEMBER(rekeys_refused),
    MEMBER(full_puts),
    MEMBER(unwritten),
    MEMBER(bypassed),
    MEMBER(exceptions),
    MEMBER(exceptions_forgotten),
};

static const member flags[] = {MEMBER(migrating), MEMBER(migration_pending)};

static const member rates[] = {MEMBER(reserve_used), MEMBER(observed_fpr), MEMBER(window_fpr),
                               MEMBER(current_fpr)};

static const void *value_of(const besom_guard_statistics *stats, const member *m) {
  return (const char *)stats + m->offset;
}

static void print_stats(FILE *out, const besom_guard_statistics *stats) {
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    fprintf(out, "\"%s\":%llu,", counts[i].name,
            (unsigned long long)*(const uint64_t *)value_of(stats, &counts[i]));
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    fprintf(out, "\"%s\":%s,", flags[i].name,
            *(const bool *)value_of(stats, &flags[i]) ? "true" : "false");
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
    fprintf(out, "\"%s\":%.6g,", rates[i].name, *(const double *)value_of(stats, &rates[i]));
}

static void print_bytes(FILE *out, const uint8_t *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    bool plain = bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\';
    fprintf(out, plain ? "%c" : "\\u%04x", bytes[i]);
  }
}

static void print_offender(FILE *out, const besom_offender *o) {
  fputs("{\"key\":\"", out);
  print_bytes(out, o->key, o->len < sizeof o->key ? o->len : sizeof o->key);
  fprintf(out, "\",\"length\":%llu,\"count\":%llu,\"error\":%llu}", (unsigned long long)o->len,
          (unsigned long long)o->count, (unsigned long long)o->error);
}

void guard_json_print(FILE *out, const besom_guard_statistics *stats,
                      const besom_offender *offenders, size_t offender_count) {
  fputc('{', out);
  print_stats(out, stats);
  fputs("\"offenders\":[", out);
  for (size_t i = 0; i < offender_count; i++) {
    if (i) fputc(',', out);
    print_offender(out, &offenders[i]);
  }
  fputs("]}", out);
}

/* ------------------------------------------------------------------ Prometheus */

static void print_label(FILE *out, const char *name, const char *directory) {
  fprintf(out, "besom_%s{directory=\"", name);
  for (const char *c = directory; *c; c++) {
    if (*c == '"' || *c == '\\') fputc('\\', out);
    fputs(*c == '\n' ? "\\n" : (char[2]){*c, 0}, out);
  }
  fputs("\"} ", out);
}

void guard_prometheus_print(FILE *out, const besom_guard_statistics *stats, besom_health health,
                            const char *directory) {
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    print_label(out, counts[i].name, directory);
    fprintf(out, "%llu\n", (unsigned long long)*(const uint64_t *)value_of(stats, &counts[i]));
  }
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    print_label(out, flags[i].name, directory);
    fprintf(out, "%d\n", *(const bool *)value_of(stats, &flags[i]));
  }
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    print_label(out, rates[i].name, directory);
    fprintf(out, "%.6g\n", *(const double *)value_of(stats, &rates[i]));
  }
  print_label(out, "health", directory);
  fprintf(out, "%d\n", (int)health);
}

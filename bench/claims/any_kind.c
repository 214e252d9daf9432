/*
 * Claim any-kind: wasted reads of kinds with reports and of adaptive kinds in the same total
 * memory, exceptions included, over the skew of the queries, the share of an adversary and the
 * number of distinct absent keys, and on logs. A model says at which number of absent keys extended
 * fingerprints begin to waste fewer reads than exceptions.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "besom_store.h"
#include "claims/claims.h"
#include "fail.h"
#include "harness/break_even.h"
#include "harness/contest_log.h"
#include "harness/interval.h"
#include "workloads/key_stream.h"
#include "workloads/request_trace.h"
#include "workloads/text_set.h"

static const double bits = 13; /* per member: a pqf fits */
static const double skews[] = {0, 0.75, 1.5}, shares[] = {0, 0.02, 0.1}, absents[] = {1, 30, 1000};
enum { SKEWS = 3, SHARES = 3, ABSENTS = 3, KEY_BYTES = 8 };

static const design designs[] = {PLAIN_RIBBON, RIBBON_REPORTS, FUSE_REPORTS, BLOCKED_REPORTS,
                                 CF_REPORTS,   QF_REPORTS,     PQF_REPORTS,  ADAPT,
                                 ADAPT_STORE,  ADAPT_ONCE,     TAF_STORE,    BROOM_STORE,
                                 CACHED,       STACKED_BLOOM,  STACKED_FUSE};
enum { PLAYERS = sizeof designs / sizeof *designs };

typedef struct effort {
  size_t members, queries, seeds, log_queries, log_seeds;
  double most_absent; /* of the measured fixes */
} effort;

static const effort quick = {.members = 8000,
                             .queries = 40000,
                             .seeds = 3,
                             .log_queries = 60000,
                             .log_seeds = 3,
                             .most_absent = 30};
static const effort thorough = {.members = 32000,
                                .queries = 400000,
                                .seeds = 4,
                                .log_queries = 700000,
                                .log_seeds = 3,
                                .most_absent = 300};

/* ------------------------------------------------------------------ rows */

/* What the rows of one table have in common. A negative number is an empty cell. */
typedef struct place {
  const char *part;
  double zipf, share, absent, asked;
} place;

static void report_number(report *numbers, double value) {
  if (value < 0)
    report_cell(numbers, "%s", "");
  else
    report_cell(numbers, "%.4g", value);
}

static void report_row(const place *p, const char *name, interval wasted, double most_bits,
                       const char *wins, report *numbers) {
  report_cell(numbers, "%s", p->part);
  report_number(numbers, p->zipf);
  report_number(numbers, p->share < 0 ? p->share : 100 * p->share);
  report_number(numbers, p->absent);
  report_number(numbers, p->asked);
  report_cell(numbers, "%s", name);
  interval_report(wasted, numbers);
  report_number(numbers, most_bits);
  report_cell(numbers, "%s", wins);
}

static void report_standings(const place *p, standings *s, findings *found, report *numbers) {
  for (int i = 0; i < PLAYERS; i++) {
    design d = designs[i];
    report_row(p, design_names[d], interval_of(&s->rates[d]), s->most_bits[d],
               standings_word(s, d, false), numbers);
  }
  if (p->share > 0) finding(found, standings_may_win(s, RIBBON_REPORTS, false));
  standings_free(s);
}

/* All designs, with every share, play one log. */
static void play_all(const contest_log *log, standings cells[SHARES]) {
  for (int i = 0; i < PLAYERS; i++)
    for (int k = 0; k < SHARES; k++) {
      design d = designs[i];
      cells[k].bits = bits;
      samples_add(&cells[k].rates[d],
                  contest_play(d, bits, shares[k], log, &cells[k].most_bits[d]));
    }
}

/* ------------------------------------------------------------------ synthetic queries */

static text_list random_keys(size_t n, key_stream stream) {
  text_list l = {.text = allocate(n, KEY_BYTES), .lines = allocate(n, sizeof *l.lines), .n = n};
  uint64_t *keys = (uint64_t *)(void *)l.text;
  stream.generate(&stream, 0, n, keys);
  for (size_t i = 0; i < n; i++) l.lines[i] = (besom_bytes){&keys[i], KEY_BYTES};
  return l;
}

static void test_synthetic(double skew, double absent_share, const effort *e, findings *found,
                           report *numbers) {
  standings cells[SHARES] = {0};
  for (size_t i = 0; i < e->seeds; i++) {
    uint64_t seed = random_at(BENCH_SEED, i);
    progress("Zipf %g, %g absent keys per member, seed %zu", skew, absent_share, i + 1);
    text_list members = random_keys(e->members, stream_members(seed));
    text_list absent = random_keys((size_t)absent_share * e->members, stream_absent(seed));
    contest_log log = contest_log_draw(&members, &absent, skew, e->queries, seed);
    play_all(&log, cells);
    contest_log_free(&log);
    text_list_free(&members);
    text_list_free(&absent);
  }
  for (int k = 0; k < SHARES; k++)
    report_standings(&(place){"synthetic", skew, shares[k], absent_share, -1}, &cells[k], found,
                     numbers);
}

/* ------------------------------------------------------------------ logs */

typedef enum log_source { LOOKUPS, REQUESTS, NAMES } log_source;

static const struct {
  const char *name;
  log_source source;
  const char *set, *log; /* set NULL: what the first half of the log writes */
} logs[] = {{"linker", LOOKUPS, "data/lists/linker-set.txt", "data/lists/linker.txt"},
            {"web server", REQUESTS, NULL, "data/lists/trace-web.txt"},
            {"mysql", REQUESTS, NULL, "data/lists/trace-mysql.txt"},
            {"domains", NAMES, "data/lists/yes.txt", "data/lists/no.txt"}};
enum { LOGS = sizeof logs / sizeof *logs };

/* The keys in the order of `queries` that are no members, at most `most`. */
static size_t keep_absent(text_list *queries, const text_list *members, size_t most) {
  text_set known = {0};
  size_t kept = 0;
  for (size_t i = 0; i < members->n; i++) text_set_add(&known, members->lines[i]);
  for (size_t i = 0; i < queries->n && kept < most; i++)
    if (!text_set_has(&known, queries->lines[i])) queries->lines[kept++] = queries->lines[i];
  text_set_free(&known);
  return queries->n = kept;
}

typedef struct numbered {
  besom_bytes key;
  uint32_t at;
} numbered;

static int compare_numbered(const void *a, const void *b) {
  const besom_bytes x = ((const numbered *)a)->key, y = ((const numbered *)b)->key;
  int order = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);
  return order ? order : (x.len > y.len) - (x.len < y.len);
}

/* Leaves each key once in `queries`, and returns the numbers of the keys in the former order. */
static uint32_t *number_keys(text_list *queries) {
  size_t n = queries->n, distinct = 0;
  numbered *sorted = allocate(n, sizeof *sorted);
  uint32_t *order = allocate(n, sizeof *order);
  for (size_t i = 0; i < n; i++) sorted[i] = (numbered){queries->lines[i], (uint32_t)i};
  qsort(sorted, n, sizeof *sorted, compare_numbered);
  for (size_t i = 0; i < n; i++) {
    if (i && compare_numbered(&sorted[i - 1], &sorted[i]) != 0) distinct++;
    order[sorted[i].at] = (uint32_t)distinct;
    queries->lines[distinct] = sorted[i].key;
  }
  queries->n = distinct + 1;
  free(sorted);
  return order;
}

/* The log of a seed, and what it is made of: members and absent keys belong to other lists. */
typedef struct opened_log {
  text_list text, set;
  trace trace;
  text_list members, absent;
} opened_log;

static contest_log open_log(int which, const effort *e, uint64_t seed, opened_log *o) {
  *o = (opened_log){0};
  if (logs[which].source == REQUESTS) {
    trace_format format = {.key_column = 2, .role_column = 1, .writes = "W"};
    o->trace = trace_read(logs[which].log, &format, NULL);
    o->members = trace_members(&o->trace, o->trace.n / 2);
    o->absent = trace_queries(&o->trace, o->trace.n / 2);
  } else {
    o->text = text_list_read(logs[which].log);
    o->set = text_list_read(logs[which].set);
    o->members = o->set, o->absent = o->text;
  }
  if (logs[which].source == NAMES) /* no log: drawn by Zipf 1 */
    return contest_log_draw(&o->members, &o->absent, 1, e->log_queries, seed);
  size_t n = keep_absent(&o->absent, &o->members, e->log_queries);
  return contest_log_of(&o->members, &o->absent, number_keys(&o->absent), n, seed);
}

static void close_log(int which, opened_log *o) {
  if (logs[which].source == REQUESTS) {
    text_list_free(&o->members);
    text_list_free(&o->absent);
    trace_free(&o->trace);
  }
  text_list_free(&o->text);
  text_list_free(&o->set);
}

static void test_log(int which, const effort *e, findings *found, report *numbers) {
  const char *name = logs[which].name;
  if (access(logs[which].log, R_OK) != 0 || (logs[which].set && access(logs[which].set, R_OK))) {
    report_row(&(place){name, -1, -1, -1, -1}, "not_fetched", (interval){0}, -1, "-", numbers);
    return;
  }
  standings cells[SHARES] = {0};
  double absent = 0;
  for (size_t i = 0; i < e->log_seeds; i++) {
    progress("%s, seed %zu", name, i + 1);
    opened_log o;
    contest_log log = open_log(which, e, random_at(BENCH_SEED, i), &o);
    absent = (double)log.absent->n / (double)log.members->n;
    play_all(&log, cells);
    contest_log_free(&log);
    close_log(which, &o);
  }
  for (int k = 0; k < SHARES; k++)
    report_standings(&(place){name, -1, shares[k], absent, -1}, &cells[k], found, numbers);
}

/* ------------------------------------------------------------------ the break-even */

static const double asked_times[] = {2, 5, 10, 30, 100, 300, 1000};
enum { MEASURED_ASKED = 10, ASKED = 7, FIX_BITS = 4 };
enum { EXCEPTIONS, EXTENSIONS };
static const char *const way_names[] = {"exceptions", "extensions"};

typedef struct player {
  besom_filter *filter; /* of `guard`, if there is one */
  besom_guard *guard;
} player;

/* plan: what the filter itself takes. */
static player player_create(bool extends, text_list *members, fix_plan plan, fix_way way,
                            const uint8_t *seed) {
  char options[64];
  player p = {0};
  besom_config config = {.capacity = members->n, .seed = seed};
  double room = bits - plan.filter_bits, fixes = room * (double)members->n / way.fix_bits;
  if (extends) {
    besom_store *store;
    config.kind = "aqf";
    config.bits_per_key = bits;
    config.reserve = fmin(0.5, fmax(room / bits, 0.01));
    check(besom_store_memory(NULL, &store), "creating a store");
    besom_guard_config g = {.filter = &config, .grow_at = 1, .rekey_at = 2};
    check(besom_guard_open(&g, store, &p.guard), "opening a guard");
    for (size_t i = 0; i < members->n; i++)
      check(besom_guard_put(p.guard, members->lines[i].data, members->lines[i].len, NULL, 0,
                            BESOM_PUT_NEW),
            "storing a key");
    return p;
  }
  besom_source yes = text_list_source(members, members->n);
  snprintf(options, sizeof options, "max_exceptions=%.0f",
           fixes + 2 * sqrt(fixes) + 4); /* some seeds have more false positives */
  config.kind = "ribbon", config.options = options, config.bits_per_key = plan.filter_bits;
  check(besom_build(&config, &(besom_input){.yes = &yes}, &p.filter), "building a ribbon");
  return p;
}

static const besom_filter *player_filter(const player *p) {
  return p->guard ? besom_guard_filter(p->guard) : p->filter;
}

static bool player_reads(player *p, besom_bytes key) {
  if (!besom_contains(player_filter(p), key.data, key.len)) return false;
  if (p->guard) {
    besom_status status = besom_guard_get(p->guard, key.data, key.len, NULL);
    if (status != BESOM_NOT_FOUND) check(status, "an absent key");
    return true;
  }
  besom_status status = besom_adapt(p->filter, key.data, key.len);
  if (status != BESOM_RESERVE_FULL) check(status, "reporting");
  return true;
}

static besom_statistics player_stats(const player *p) {
  besom_statistics stats;
  check(besom_stats(player_filter(p), &stats), "statistics");
  return stats;
}

static void player_free(player *p) {
  if (p->guard)
    check(besom_guard_close(p->guard), "closing a guard");
  else
    besom_free(p->filter);
}

/* Every absent key `asked` times, in turn. Returns the reads. */
static uint64_t ask_all(player *p, const text_list *absent, int asked) {
  uint64_t reads = 0;
  for (int turn = 0; turn < asked; turn++)
    for (size_t i = 0; i < absent->n; i++) reads += player_reads(p, absent->lines[i]);
  return reads;
}

/* What a key takes in a filter with little room for fixes. Tables have rounded sizes, so that the
 * filter may hold more keys. */
static double measure_key(bool extends, text_list *members, const uint8_t *seed) {
  player p = player_create(extends, members, (fix_plan){0, bits}, (fix_way){0, 1}, seed);
  besom_statistics stats = player_stats(&p);
  uint64_t capacity = extends ? stats.capacity : members->n;
  player_free(&p);
  return 8 * (double)stats.bytes / (double)capacity + log2(stats.fpr_at_capacity);
}

/* What a fix takes in a filter with much room: memory, or slots of a table. */
static double measure_fix(bool extends, text_list *members, const text_list *absent,
                          const uint8_t *seed) {
  fix_way assumed = {0, EXCEPTION_BITS};
  player p = player_create(extends, members, (fix_plan){0, bits - FIX_BITS}, assumed, seed);
  besom_statistics before = player_stats(&p);
  uint64_t fixes = ask_all(&p, absent, 1);
  besom_statistics after = player_stats(&p);
  double bytes = extends ? (after.load_factor - before.load_factor) * (double)before.bytes
                         : (double)(after.bytes - before.bytes);
  player_free(&p);
  return 8 * bytes / (double)fixes;
}

/* From which number of absent keys on extensions of so many bits waste fewer reads. */
static bool report_break_even(const char *name, fix_way exceptions, fix_way extensions,
                              report *numbers) {
  bool ever = false;
  for (int k = 0; k < ASKED; k++) {
    double at = fix_break_even(exceptions, extensions, bits, asked_times[k]);
    place p = {"break-even", -1, -1, at ? at : -1, asked_times[k]};
    report_row(&p, name, (interval){0}, extensions.fix_bits, at ? "-" : "never", numbers);
    ever |= at > 0;
  }
  return ever;
}

/* ways[EXTENSIONS] is a table that can store exceptions, too: for sets that change. */
static void report_break_evens(const fix_way ways[2], findings *found, report *numbers) {
  static const double fix_bits[] = {1, 2, 4};
  fix_way exceptions = {ways[EXTENSIONS].key_bits, EXCEPTION_BITS}, extensions = ways[EXTENSIONS];
  char name[64];
  report_break_even("aqf_with_reports", exceptions, extensions, numbers);
  finding(found, !report_break_even("ribbon_with_reports", ways[EXCEPTIONS], extensions, numbers));
  for (int i = 0; i < 3; i++) {
    extensions.fix_bits = fix_bits[i];
    snprintf(name, sizeof name, "ribbon_if_a_fix_took_%g", fix_bits[i]);
    report_break_even(name, ways[EXCEPTIONS], extensions, numbers);
  }
}

/* What the model and a filter that follows its plan waste. */
static void compare_plan(int w, fix_way way, double absent_share, const effort *e,
                         text_list *members, text_list *absent, report *numbers) {
  char name[32];
  uint8_t seed[16];
  hash_seed(random_at(BENCH_SEED, 0), seed);
  fix_plan plan = fix_plan_best(way, bits, absent_share, MEASURED_ASKED);
  place p = {"model", -1, -1, absent_share, MEASURED_ASKED};
  interval wasted = {plan.wasted, plan.wasted, plan.wasted};
  report_row(&p, way_names[w], wasted, plan.filter_bits, "-", numbers);
  if (absent_share > e->most_absent) return;
  absent->n = (size_t)absent_share * members->n;
  player tested = player_create(w == EXTENSIONS, members, plan, way, seed);
  double reads = (double)ask_all(&tested, absent, MEASURED_ASKED);
  double taken = 8 * (double)player_stats(&tested).bytes / (double)members->n;
  player_free(&tested);
  reads /= (double)absent->n * MEASURED_ASKED;
  snprintf(name, sizeof name, "%s_measured", way_names[w]);
  report_row(&p, name, (interval){reads, reads, reads}, taken, "-", numbers);
}

static void test_break_even(const effort *e, findings *found, report *numbers) {
  static const double shares_of_absent[] = {1, 3, 10, 30, 100, 300, 1000};
  uint8_t seed[16];
  uint64_t number = random_at(BENCH_SEED, 0);
  hash_seed(number, seed);
  text_list members = random_keys(e->members, stream_members(number));
  text_list absent = random_keys((size_t)e->most_absent * e->members, stream_absent(number));
  fix_way ways[2];
  for (int w = EXCEPTIONS; w <= EXTENSIONS; w++) {
    progress("what a fix takes: %s", way_names[w]);
    absent.n = 8 * members.n;
    ways[w].key_bits = measure_key(w == EXTENSIONS, &members, seed);
    ways[w].fix_bits = measure_fix(w == EXTENSIONS, &members, &absent, seed);
    report_row(&(place){"bits_of_a_key", -1, -1, -1, -1}, way_names[w], (interval){0},
               ways[w].key_bits, "-", numbers);
    report_row(&(place){"bits_of_a_fix", -1, -1, -1, -1}, way_names[w], (interval){0},
               ways[w].fix_bits, "-", numbers);
    for (size_t i = 0; i < sizeof shares_of_absent / sizeof *shares_of_absent; i++)
      compare_plan(w, ways[w], shares_of_absent[i], e, &members, &absent, numbers);
  }
  report_break_evens(ways, found, numbers);
  text_list_free(&members);
  text_list_free(&absent);
}

static findings run(bool full, report *numbers) {
  const effort *e = full ? &thorough : &quick;
  findings found = {0};
  for (int i = 0; i < SKEWS; i++)
    for (int k = 0; k < ABSENTS; k++) test_synthetic(skews[i], absents[k], e, &found, numbers);
  for (int i = 0; i < LOGS; i++) test_log(i, e, &found, numbers);
  test_break_even(e, &found, numbers);
  return found;
}

static const char *const columns[] = {"part",
                                      "zipf",
                                      "attack_percent",
                                      "absent_per_member",
                                      "asked",
                                      "design",
                                      "wasted",
                                      "low",
                                      "high",
                                      "bits",
                                      "wins"};

#define MAP(n)                                                                            \
  {                                                                                       \
    .title = "Who wastes the fewest reads, with " n " distinct absent keys per member",   \
    .x = "attack_percent", .y = "zipf", .series = "design",                               \
    .where = "part=synthetic,absent_per_member=" n, .map = "wins", .map_value = "wasted", \
    .x_label = "share of the adversary's queries, %", .y_label = "Zipf exponent"          \
  }

static const plot plots[] = {
    MAP("1"),
    MAP("30"),
    MAP("1000"),
    {.title = "Exceptions and extended fingerprints in 13 bits per member, each absent key asked "
              "10 times",
     .x = "absent_per_member",
     .y = "wasted",
     .series = "design",
     .where = "part=model",
     .x_label = "distinct absent keys per member",
     .y_label = "wasted reads per query",
     .log_x = true,
     .log_y = true},
    {.title = "From here on extended fingerprints waste fewer reads than exceptions",
     .x = "asked",
     .y = "absent_per_member",
     .series = "design",
     .where = "part=break-even",
     .x_label = "times that each absent key is asked for",
     .y_label = "distinct absent keys per member",
     .log_x = true,
     .log_y = true},
    {0}};

const claim any_kind_claim = {
    .name = "any-kind",
    .title = "Reports to any kind: who wastes the fewest reads",
    .source = "besom",
    .statement =
        "in 13 bits per member, exceptions included, with an adversary of 2 or 10 %, no design has "
        "fewer false positives than a ribbon that takes reports (95 % intervals over seeds overlap "
        "with the best; the keys in a store are not counted), for 1 to 1000 distinct absent keys "
        "per member and on logs; by the model with the measured bits of a key and of a fix, an aqf "
        "that extends fingerprints never wastes 10 % fewer reads than that ribbon",
    .differs =
        "Random keys: 8000 members, 40,000 queries, 3 seeds (full: 32,000, 400,000, 4). Logs "
        "(bench/fetch_data.sh; not_fetched if they are missing): symbol lookups of the dynamic "
        "linker against the symbols of the files, reads of a web server's and of a MySQL server's "
        "disk against the blocks written before, and phishing and malware domains against package "
        "names, drawn by Zipf 1, because there is no log of them; 60,000 queries (full: 700,000). "
        "Reports get 12 % of the memory, and old ones are forgotten; for pqf 2 %, because its size "
        "is fixed. A design that takes more than 5 % above the memory, also while it rekeys, is "
        "not "
        "judged. The model divides the memory in the best way and fixes each false positive when "
        "it "
        "is first read, until there is no room. Its filters have fractions of bits; a table has "
        "whole ones, so a measured aqf wastes up to 6 times what the model says. "
        "ribbon_if_a_fix_took_N: the same with N bits per fix, which no kind here has. "
        "aqf_with_reports: the same table with exceptions, for sets that change.",
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};

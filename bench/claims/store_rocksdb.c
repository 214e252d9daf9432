/*
 * Claim store-rocksdb: RocksDB with its own Bloom filter against a guard with aqf over RocksDB
 * without one, at the same bits per key. RocksDB itself makes reads real: they are direct,
 * bypassing the page cache, with a small block cache.
 */
#include "claims/claims.h"
#include "report.h"
#include "workloads/database_attack.h"

enum { OWN, GUARD, DATABASES, TURNS = 20 };

static const char *const database_names[DATABASES] = {"rocksdb_bloom", "guard_aqf"};
static const double bloom_bits = 13.47; /* what aqf takes at a load factor of 0.9 */
static const double queries_per_slot = 1.5;
static const double cache_share = 0.01;
enum { RECORD = 8 + DATABASE_VALUE_BYTES };

static const double skew = 1.1;
static const double adversarial = 0.05;

typedef enum workload { UNIFORM, ZIPF, ADVERSARIAL, WORKLOADS } workload;

static const struct {
  const char *name;
  double least; /* required speed of the guard relative to RocksDB's own filter */
} workloads[WORKLOADS] = {{"uniform", 0.9}, {"zipf", 1}, {"adversarial", 2}};

static key_stream stream_of(workload w, uint64_t slots) {
  return w == ZIPF ? stream_zipf_absent(BENCH_SEED, skew, 100 * slots) : stream_absent(BENCH_SEED);
}

/* Closing the database writes its memory to files, to which its filter applies. */
static void open_filled(tested_database *f, int which, uint64_t slots) {
  uint64_t data = RECORD * slots;
  database_config config = {.database = ROCKSDB,
                            .kind = which == GUARD ? "aqf" : NULL,
                            .slots = slots,
                            .durability = BESOM_DURABLE_BATCH,
                            .rocksdb = {.cache_bytes = (uint64_t)(cache_share * (double)data),
                                        .bloom_bits_per_key = which == GUARD ? 0 : bloom_bits,
                                        .direct_reads = true}};
  tested_database_open(f, &config);
  tested_database_fill(f, 0, tested_database_capacity(f));
  tested_database_reopen(f);
}

static bool test_workload(workload w, uint64_t slots, report *numbers) {
  tested_database databases[DATABASES];
  database_attack attacks[DATABASES];
  uint64_t turn = (uint64_t)(queries_per_slot * (double)slots) / TURNS;
  for (int i = 0; i < DATABASES; i++) {
    progress("%s: filling %s", workloads[w].name, database_names[i]);
    open_filled(&databases[i], i, slots);
    attacks[i] = (database_attack){
        .db = &databases[i],
        .keys = {.absent = stream_of(w, slots), .share = w == ADVERSARIAL ? adversarial : 0}};
    database_attack_collect(&attacks[i], turn * TURNS);
  }
  for (int t = 0; t < TURNS; t++) {
    progress("%s: turn %d of %d", workloads[w].name, t, TURNS);
    for (int i = 0; i < DATABASES; i++) database_attack_replay(&attacks[i], turn);
  }
  double own = samples_median(&attacks[OWN].seconds);
  bool fine = own / samples_median(&attacks[GUARD].seconds) >= workloads[w].least;
  for (int i = 0; i < DATABASES; i++) {
    double seconds = samples_median(&attacks[i].seconds);
    report_cell(numbers, "%s", workloads[w].name);
    report_cell(numbers, "%s", database_names[i]);
    report_cell(numbers, "%zu", attacks[i].keys.found.count);
    report_cell(numbers, "%.0f", (double)turn / seconds);
    report_cell(numbers, "%.2f", own / seconds);
    report_cell(numbers, "%.2f", 1000 * (double)attacks[i].pages / (double)attacks[i].keys.number);
    report_cell(numbers, "%s", i == OWN ? "-" : fine ? "yes" : "no");
    database_attack_free(&attacks[i]);
    tested_database_close(&databases[i]);
  }
  return fine;
}

static findings run(bool full, report *numbers) {
  findings found = {0};
  for (int w = 0; w < WORKLOADS; w++)
    finding(&found, test_workload((workload)w, (uint64_t)1 << (full ? 20 : 17), numbers));
  return found;
}

static const char *const columns[] = {
    "negatives", "filter", "collected", "queries_per_second", "of_own", "pages_per_1k", "holds"};

static const plot plots[] = {{.title = "Queries for absent keys",
                              .x = "negatives",
                              .y = "queries_per_second",
                              .series = "filter",
                              .x_label = "queries",
                              .y_label = "queries per second",
                              .log_y = true,
                              .bars = true},
                             {.title = "Disk reads",
                              .x = "negatives",
                              .y = "pages_per_1k",
                              .series = "filter",
                              .x_label = "queries",
                              .y_label = "pages read per 1000 queries",
                              .bars = true},
                             {0}};

const claim store_rocksdb_claim = {
    .name = "store-rocksdb",
    .title = "In front of RocksDB",
    .source = "besom",
    .statement = "a guard with aqf is as fast for absent keys as RocksDB's own Bloom filter of the "
                 "same size if queries are uniform, faster if they repeat, and twice as fast "
                 "against an adversary",
    .differs = "2^20 slots, quick 2^17. Reads are direct, with a cache of 1 % of the data.",
    .timed = true,
    .plots = plots,
    .columns = columns,
    .column_count = sizeof columns / sizeof *columns,
    .run = run,
};

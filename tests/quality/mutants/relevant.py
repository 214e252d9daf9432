"""Which tests are relevant to a source file, for mutants.py, which runs the fastest first."""

import fnmatch


def laws(*kinds):
    return [f"contract_tests --defaults */{kind}" for kind in kinds]


TABLES = ["quotient_table", "table_queries", "maplet", "maplet_batches", "maplet_forget",
          "maplet_reports",
          "quotient_geometry", "published_forms", "filter_stats", "exact_limits", "patches", "saved_fields",
          "filter_config", "cursor_seek", "public_calls", "remove_calls", "inline_calls_avx2"]
SLOT_META = ["slot_meta", "slot_meta_calls", "slot_meta_code"]
ADAPTIVE = ["aqf", "aqf_limits", "broom", "broom_long_runs", "exceptions", "extension_pool",
            "multislot", "whole_slots", *SLOT_META, "guard_tombstones", "guard_relocation",
            "guard_model"]
CONCURRENT = ["table_regions", "threads", "threads_exchange", "snapshot", "concurrent_forms",
              "shared_shortage", "contract_tests */aqf,concurrent", "guard_threads"]
LISTS = ["yesno_dynamic", "static_sets", "guard_no_list", *laws("yesno", "yesno-dynamic")]
GUARDS = ["guard", "guard_arguments", "guard_failures", "guard_faults", "guard_long_no_lists",
          "guard_many", "guard_migration", "guard_model", "guard_no_list", "guard_pressure",
          "guard_recovery", "guard_relocation", "guard_replay", "guard_shortage",
          "guard_tombstones"]
GUARD_THREADS = ["guard_background", "guard_committed_reads", "guard_reader_threads",
                 "guard_threads", "guard_writers"]
GUARD_FILES = ["guard_copies", "guard_iterator", "guard_reader", "guard_small_map",
               "release_guards"]

# The first pattern that matches. Those of single files have no directory, so that files may move
# between directories. No mutants are drawn in files that no pattern matches.
MAP = (
    ("*/yesno*", LISTS + TABLES + ["aqf"]),
    ("*/slot_meta*", [*SLOT_META, "broom", "broom_long_runs", "guard_relocation",
                                 "guard_model", "filter_config", "patches", "threads",
                                 *laws("broom", "taf", "exaf", "utaf")]),
    ("*/broom*", ["broom", "broom_long_runs", *SLOT_META, "guard_model",
                              *laws("broom")]),
    ("*/*taf.c", [*SLOT_META, "guard_model", *laws("taf", "utaf")]),
    ("*/exaf.c", [*SLOT_META, "guard_model", *laws("exaf")]),
    ("*/concurrent*", CONCURRENT + TABLES + laws("qf", "aqf")),
    ("*/aqf_concurrent.c", CONCURRENT + laws("aqf")),
    ("*/aqf_sync.*", CONCURRENT + laws("aqf")),
    ("*/qf.c", TABLES + CONCURRENT + laws("qf")),
    ("src/published/*", ["set_reader", "fixes"]),
    ("src/partition/*", ["pqf", "remove_calls", "build_threads", *laws("pqf")]),
    ("src/quotient/packed/*", ["packed"]),
    ("src/cuckoo/windows.*", ["windows", *laws("cf")]),
    ("src/quotient/quotient_append.c", ["build_threads", *TABLES]),
    ("src/quotient/*", TABLES + ADAPTIVE + CONCURRENT + ["yesno_dynamic", "static_sets"] +
     laws("qf", "aqf", "broom", "taf", "yesno-dynamic")),
    ("src/core/options.*", ["options", "filter_config", "layered", "aqf_limits", "aqf", "broom", "scaling",
                            "cascade", "updated", "grouped", "learned", "stacked", "adaptive_stacked",
                            "acf_buckets", "public_calls"]),
    ("src/kind_options.*", ["filter_config", "layered", "scaling", "cascade", "updated", "stacked",
                            "adaptive_stacked", "cache"]),
    ("src/core/*", ["patches", "system_calls", "address", "bits", "byte_io", "durable_file", "hash", "memory", "options",
                    "partition", "sort", "build_threads", "container", "sized_structs", "threads",
                    "filter_config", "filter_stats", "quotient_table", "table_queries", "aqf",
                    "static_sets", "guard_recovery", "slot_meta", "bloom", "blocked", "cuckoo",
                    "snapshot", "guard", "sidecar", *laws("qf", "aqf", "fuse", "bloom")]),
    ("src/guard/*", GUARDS + GUARD_THREADS + GUARD_FILES + ["store_memory", "guard_redis", "system_calls"]),
    ("*/lmdb_check.c", ["store_lmdb_pages"]),
    ("*/lmdb_sidecar.c", ["sidecar_lmdb", "release_sidecars"]),
    ("*/rocksdb_sidecar.c", ["store_rocksdb_sidecar_errors", "release_sidecars"]),
    ("*/lmdb.c", ["store_contract lmdb/*", "store_lmdb_errors", "store_disk_faults", *GUARD_FILES]),
    ("*/rocksdb*", ["store_contract rocksdb/*", "store_rocksdb_errors", "store_rocksdb_files", "store_disk_faults",
                            "guard_copies", "guard_iterator", "release_guards"]),
    ("*/redis*", ["store_contract redis/*", "guard_redis", "store_disk_faults"]),
    ("src/store/*", ["store_memory", "sorted_map", "store_contract memory/*",
                     "store_contract array/*", "store_contract array*/*",
                     "store_contract lmdb/*", *GUARDS, "guard_committed_reads", "guard_iterator",
                     "guard_copies", "release_guards"]),
)


def tests_of(file):
    for pattern, tests in MAP:
        if fnmatch.fnmatch(file, pattern):
            return list(dict.fromkeys(tests))
    return []


def order_of_objects(name):
    """The objects that most tests run through are compiled first."""
    first = ("*/table_ops*", "*/table_slots*", "*/quotient_*", "*/aqf*", "*/slot_meta*", "*/multislot*",
             "core/*", "guard/l*", "guard/*", "quotient/*")
    return next((i for i, like in enumerate(first) if fnmatch.fnmatch(name, like)), len(first)), name

"""Which tests are relevant to a source file, for mutants.py, which runs the fastest first."""

import fnmatch


def laws(*kinds):
    return [f"contract_tests --defaults */{kind}" for kind in kinds]


TABLES = ["quotient_table", "table_queries", "quotient_geometry", "published_forms", "filter_stats",
          "exact_limits", "patches", "saved_fields", "filter_config", "cursor_seek", "public_calls"]
SLOT_META = ["slot_meta", "slot_meta_calls", "slot_meta_code"]
ADAPTIVE = ["aqf", "aqf_limits", "broom", "broom_long_runs", "exceptions", "extension_pool",
            "multislot", *SLOT_META, "guard_tombstones", "guard_relocation", "guard_model"]
CONCURRENT = ["table_regions", "threads", "threads_exchange", "snapshot", "concurrent_forms",
              "shared_shortage", "contract_tests */aqf,concurrent", "guard_threads"]
LISTS = ["yesno_dynamic", "static_sets", "guard_no_list", *laws("yesno", "yesno-dynamic")]
GUARDS = ["guard", "guard_arguments", "guard_failures", "guard_faults", "guard_long_no_lists",
          "guard_many", "guard_migration", "guard_model", "guard_no_list", "guard_pressure",
          "guard_recovery", "guard_relocation", "guard_shortage", "guard_tombstones"]
GUARD_THREADS = ["guard_background", "guard_committed_reads", "guard_reader_threads",
                 "guard_threads", "guard_writers"]
GUARD_FILES = ["guard_copies", "guard_iterator", "guard_reader", "guard_small_map"]

# The first pattern that matches.
MAP = (
    ("src/quotient/yesno*", LISTS + TABLES + ["aqf"]),
    ("src/quotient/slot_meta*", [*SLOT_META, "broom", "broom_long_runs", "guard_relocation",
                                 "guard_model", "filter_config", "patches", "threads",
                                 *laws("broom", "taf", "exaf", "utaf")]),
    ("src/quotient/broom.c", ["broom", "broom_long_runs", *SLOT_META, "guard_model",
                              *laws("broom")]),
    ("src/quotient/*taf.c", [*SLOT_META, "guard_model", *laws("taf", "utaf")]),
    ("src/quotient/exaf.c", [*SLOT_META, "guard_model", *laws("exaf")]),
    ("src/quotient/concurrent*", CONCURRENT + TABLES + laws("qf", "aqf")),
    ("src/quotient/aqf_concurrent.c", CONCURRENT + laws("aqf")),
    ("src/quotient/aqf_sync.*", CONCURRENT + laws("aqf")),
    ("src/quotient/qf.c", TABLES + CONCURRENT + laws("qf")),
    ("src/quotient/*", TABLES + ADAPTIVE + CONCURRENT + ["yesno_dynamic", "static_sets"] +
     laws("qf", "aqf", "broom", "taf", "yesno-dynamic")),
    ("src/core/*", ["patches", "system_calls", "address", "bits", "byte_io", "durable_file", "hash", "memory", "options",
                    "partition", "sort", "build_threads", "container", "sized_structs", "threads",
                    "filter_config", "filter_stats", "quotient_table", "table_queries", "aqf",
                    "static_sets", "guard_recovery", "slot_meta", "bloom", "blocked", "cuckoo",
                    "snapshot", "guard", "sidecar", *laws("qf", "aqf", "fuse", "bloom")]),
    ("src/guard/*", GUARDS + GUARD_THREADS + GUARD_FILES + ["store_memory", "guard_redis", "system_calls"]),
    ("src/store/lmdb_sidecar.c", ["sidecar_lmdb"]),
    ("src/store/rocksdb_sidecar.c", ["store_rocksdb_sidecar_errors"]),
    ("src/store/lmdb.c", ["store_contract lmdb/*", "store_lmdb_errors", "store_disk_faults", *GUARD_FILES]),
    ("src/store/rocksdb*", ["store_contract rocksdb/*", "store_rocksdb_errors", "store_disk_faults",
                            "guard_copies", "guard_iterator"]),
    ("src/store/redis.c", ["store_contract redis/*", "guard_redis", "store_disk_faults"]),
    ("src/store/*", ["store_memory", "sorted_map", "store_contract memory/*",
                     "store_contract array/*", "store_contract array*/*",
                     "store_contract lmdb/*", *GUARDS, "guard_committed_reads", "guard_iterator",
                     "guard_copies"]),
)


def tests_of(file):
    for pattern, tests in MAP:
        if fnmatch.fnmatch(file, pattern):
            return list(dict.fromkeys(tests))
    return []


def order_of_objects(name):
    """The objects that most tests run through are compiled first."""
    first = ("quotient/table_ops", "quotient/table_slots", "quotient/quotient_", "quotient/aqf",
             "quotient/slot_meta", "quotient/multislot", "core/", "guard/l", "guard/", "quotient/")
    return next((i for i, start in enumerate(first) if name.startswith(start)), len(first)), name

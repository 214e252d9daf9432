"""The parts of `make soak` and what is wanted of each. part.py documents the fields."""

import database_parts
from part import Part, Row

MANY = 200_000_000
LARGE = {"operations": MANY, "save_load_cycles": 10_000}
REMOVES, ADAPTS = {"removes": 10_000_000}, {"adaptations": 1_000_000}
BOUND = {**ADAPTS, "bound_adaptations": 1_000_000}  # kinds that adapt with a store
GROWS, REBUILDS = {"resizes_and_rekeys": 10_000}, {"rebuilds": 10_000}


def kind(name, *wanted):
    targets = dict(LARGE)
    for more in wanted:
        targets.update(more)
    return Row(name, ("--kind", name), targets)


# Every kind of the registry: a test compares. A kind has the targets of what it can do; static
# kinds are built again with other lists instead of growing.
KINDS = (
    kind("aqf", REMOVES, BOUND, GROWS),
    kind("yesno", REMOVES, ADAPTS, REBUILDS),
    kind("yesno-dynamic", REMOVES, BOUND, GROWS),
    kind("exaf", REMOVES, BOUND, GROWS),
    kind("broom", REMOVES, BOUND),
    kind("taf", REMOVES, BOUND, GROWS),
    kind("utaf", REMOVES, BOUND, GROWS),
    kind("qf", REMOVES, GROWS),
    kind("cf", REMOVES),
    kind("vacuum", REMOVES),
    kind("pqf", REMOVES, GROWS),
    kind("acf-cyclic", REMOVES, BOUND),
    kind("acf-swapping", REMOVES, BOUND),
    kind("acf-cuckooing", REMOVES, BOUND),
    kind("bloom", GROWS),
    kind("blocked-bloom", GROWS),
    kind("fuse", REBUILDS),
    kind("ribbon", REBUILDS),
    kind("scaling", REMOVES, ADAPTS, GROWS),
    kind("cached", REMOVES, ADAPTS, GROWS),
    kind("cascade", REBUILDS),
    kind("grouped", REBUILDS),
    kind("updated", REBUILDS),
    kind("learned", REBUILDS),
    kind("stacked", REBUILDS),
    kind("adaptive-stacked", ADAPTS),
)

# Forms of maplets. A set has no remove; a bound one is built by inserts; a chain has no resize.
VALUES = {"operations": MANY, "save_load_cycles": 10_000, "adaptations": 100_000, "merges": 10_000}
MAPLETS = tuple(Row(name, ("--form", name), {**VALUES, **more}) for name, more in (
    ("aqf", {**REMOVES, **GROWS, "replaces": 500_000}), ("aqf-set", GROWS), ("aqf-store", {**REMOVES, **GROWS}),
    ("scaling", {**REMOVES, **GROWS, "replaces": 500_000})))

GUARDED = ("aqf", "exaf", "taf", "utaf", "broom", "acf-cyclic", "acf-swapping", "acf-cuckooing")


def guarded(wanted):
    return tuple(Row(name, ("--kind", name), wanted) for name in GUARDED)


def threads(build):
    return tuple(Row(name, arguments, {"seconds": 3600}) for name, arguments in (
        (build, ()), (build + "-store", ("--on", "store")), (build + "-guard", ("--on", "guard"))))


# As besom_add_test sets them: a large allocation must be NULL, as it is without sanitizers.
SANITIZERS = {"ASAN_OPTIONS": "allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
# Freed memory is used again after 4 MB, not after 256 MB: it stays in the caches.
SMALL_QUARANTINE = {**SANITIZERS,
                    "ASAN_OPTIONS": SANITIZERS["ASAN_OPTIONS"] + ":quarantine_size_mb=4"}

PARTS = (
    Part("model", "Operations compared with a model", ("build/tests/quality/soak/soak_model",), KINDS,
         row_title="kind", totals={"operations": 10_000_000_000}, first_amount=2_000_000),
    Part("maplets", "Maplets compared with a model", ("build/tests/quality/soak/soak_maplets",), MAPLETS,
         row_title="form", totals={"operations": 1_000_000_000}, first_amount=2_000_000),
    Part("hostile", "Damaged files and patches, with sanitizers",
         ("build/asan/tests/quality/soak/soak_hostile",),
         (Row("files", ("--input", "files"), {"files": 9_000_000}),
          Row("patches", ("--input", "patches"), {"patches": 1_000_000})),
         row_title="input", first_amount=10_000, environment=SMALL_QUARANTINE),
    # Seconds of elapsed time: a batch keeps 8 threads busy.
    Part("threads", "Eight threads on one filter, store or guard", ("build/tests/quality/soak/soak_threads",),
         threads("release"), row_title="build", first_amount=20, most_amount=60, at_once=1),
    Part("threads_tsan", "Eight threads on one filter, store or guard, with the thread sanitizer",
         ("build/tests/quality/soak/soak_threads_tsan",), threads("tsan"), row_title="build",
         first_amount=20, most_amount=60, at_once=1,
         environment={"TSAN_OPTIONS": "halt_on_error=1"}),
    # acf kinds promise no sustained rate: of them only answers and memory are checked.
    Part("adversary", "An adversary in front of a guard", ("build/tests/quality/soak/soak_adversary",),
         guarded({"queries": 100_000_000}), row_title="kind", first_amount=1_000_000),
    Part("guards", "Guards whose store and memory fail", ("build/tests/quality/soak/soak_guards",),
         guarded({"operations": 10_000_000}), row_title="kind", first_amount=100_000),
) + database_parts.PARTS

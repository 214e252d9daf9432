"""Runs the tests of a build whose data are missing or older than their programs."""

import concurrent.futures
import hashlib
import json
import os
import re
import resource
import subprocess
import time

# These check the sources or the built files and run no code of src/, or run it in a build of their own.
NOT_RUN = re.compile(r"_long$|^contract_|symbols|^(format|prose_rules|include_rules|library_calls|manual_pages|checks_catch"
                     r"|install|amalgamation|cpp|abi|redis_install|static_symbols)|_tsan$|^pages|report_page|valkey_")

# The laws that take longest. Other laws run most of their code, too.
LONG_LAWS = re.compile("contract/(no_false_negatives_of_(u64|byte)|ascending|descending_digests_fit|any_geometry"
                       "|random_operations|a_key_of_many_copies|a_bound_filter_loses|filter_and_store|every_flipped"
                       "|noise_is|trusted_damage|a_build_works_with_little|extreme_conf)")

# These run last, in this order, and the long laws after them. All but the laws have many processes,
# each of which writes its counts.
LAST = ("contract", "sqlite", "example", "cli_", "redis", "python")


def find_tests(build):
    """The tests as dictionaries: name, command, environment, the exit code that means skipped."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True)
    tests = []
    for test in json.loads(shown.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        if NOT_RUN.search(test["name"]):
            continue
        tests.append({"name": test["name"], "command": test["command"],
                      "environment": dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])),
                      "directory": properties.get("WORKING_DIRECTORY", build),
                      "skipped": properties.get("SKIP_RETURN_CODE")})
    tests += contract_tests(build)
    python = os.path.join(build, "python", "besom")
    if os.path.isdir(python):
        tests.append(python_test(build, python))
    return sorted(tests, key=lambda test: place_of(test["name"]))


def place_of(name):
    """0 for tests that run first, then the places of LAST, then the long laws."""
    if LONG_LAWS.match(name):
        return len(LAST) + 1
    return next((i for i, prefix in enumerate(LAST, 1) if name.startswith(prefix)), 0)


def contract_tests(build):
    """One test per law, over every kind with its default options."""
    program = os.path.join(build, "tests", "contract_tests")
    listed = subprocess.run([program, "--list", "--defaults"], check=True, capture_output=True, text=True)
    laws = dict.fromkeys(line.split("/")[0] for line in listed.stdout.split())
    return [{"name": f"contract/{law}", "command": [program, "--defaults", law], "environment": {},
             "directory": build, "skipped": None} for law in laws]


def python_test(build, package):
    """The package for Python is tested by pytest, which ctest does not know."""
    here = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "python", "tests"))
    modules = [os.path.join(package, f) for f in os.listdir(package) if f.endswith(".so")]
    return {"name": "python", "directory": here, "skipped": None, "files": modules,
            "command": ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
            "environment": {"PYTHONDONTWRITEBYTECODE": "1", "BESOM_BUILD": build,
                            "PYTHONPATH": os.path.dirname(package)}}


def key_of(test, hashes):
    """A hash of the command and of every file in it."""
    key = hashlib.sha256(repr(test["command"]).encode())
    for word in test["command"] + test.get("files", []):
        path = word.split("=", 1)[-1]
        if not os.path.isfile(path):
            continue
        if path not in hashes:
            with open(path, "rb") as file:
                hashes[path] = hashlib.sha256(file.read()).digest()
        key.update(hashes[path])
    return key.hexdigest()


def data_files(build, ending):
    for directory, _, files in os.walk(build):
        for file in files:
            if file.endswith(ending):
                yield os.path.join(directory, file)


def remove_stale_data(build, fresh):
    """Counts of an object that was compiled again since are of no use."""
    for counts in data_files(build, ".gcda"):
        notes = counts[:-2] + "no"
        if fresh or not os.path.exists(notes) or os.path.getmtime(counts) < os.path.getmtime(notes):
            os.remove(counts)


def run_one(test, log):
    start = time.time()
    with open(log, "wb") as output:
        done = subprocess.run(test["command"], cwd=test["directory"], stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, env=os.environ | test["environment"])
    outcome = {0: "passed", test["skipped"]: "skipped"}.get(done.returncode, "failed")
    return outcome, time.time() - start


def record_path(build):
    return os.path.join(build, "coverage", "done.txt")


def read_record(path):
    """The tests that ran: key and outcome. A later line replaces an earlier one."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        fields = [line.split() + ["passed"] for line in file]
    return {name: (key, outcome) for name, key, outcome, *_ in fields}


def run_tests(tests, build, jobs, only, fresh):
    """Runs those that have not passed with their present programs."""
    record = record_path(build)
    state = os.path.dirname(record)
    os.makedirs(state, exist_ok=True)
    if fresh and os.path.exists(record):
        os.remove(record)
    done = read_record(record)
    remove_stale_data(build, fresh)
    hashes = {}
    keys = {t["name"]: key_of(t, hashes) for t in tests}
    good = {name: [(key, "passed"), (key, "skipped")] for name, key in keys.items()}
    wanted = [t for t in tests if done.get(t["name"]) not in good[t["name"]]]
    if only:
        wanted = [t for t in wanted if re.search(only, t["name"])]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        logs = {t["name"]: os.path.join(state, t["name"].replace("/", "_") + ".log") for t in wanted}
        running = {pool.submit(run_one, t, logs[t["name"]]): t["name"] for t in wanted}
        for number, future in enumerate(concurrent.futures.as_completed(running), 1):
            name = running[future]
            outcome, seconds = future.result()
            print(f"{number:4}/{len(wanted)} {name} {outcome.replace('failed', 'FAILED')} {seconds:.1f} s", flush=True)
            with open(record, "a") as file:
                file.write(f"{name} {keys[name]} {outcome}\n")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(wanted)} tests took {used.ru_utime + used.ru_stime:.0f} s of processor time")


def by_outcome(tests, build):
    """The names of the tests: passed, skipped, failed, or not run with their present programs."""
    done, hashes = read_record(record_path(build)), {}
    names = {"passed": [], "skipped": [], "failed": [], "not run": []}
    for test in tests:
        key, outcome = done.get(test["name"], ("", ""))
        names[outcome if key == key_of(test, hashes) else "not run"].append(test["name"])
    return names

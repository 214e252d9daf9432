"""A test of the module as a part of the soak test (tests/quality/soak/soak.py):

    PROGRAM --seed S --amount N

It does N units of work that depend only on S, and prints a JSON object of counts. The module is BESOM_MODULE, or that
of build/. In build/asan it has sanitizers, whose library is preloaded."""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def find_module(build):
    os.environ.setdefault("BESOM_MODULE", os.path.join(ROOT, build, "besom-redis.so"))
    if build.endswith("asan"):
        library = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True, check=True)
        os.environ.setdefault("BESOM_PRELOAD", library.stdout.strip())


def run(work, build="build"):
    """Calls work(seed, amount), which returns counts. A failure says how to repeat it."""
    find_module(build)
    seed, amount = int(option("--seed", 1)), int(option("--amount", 10))
    try:
        counts = work(seed, amount)
    except BaseException:
        print("%s --seed %d --amount %d failed" % (sys.argv[0], seed, amount), file=sys.stderr, flush=True)
        raise
    print(json.dumps(counts))

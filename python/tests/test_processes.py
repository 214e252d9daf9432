"""Forks, sub-interpreters, the end of the process, and the command."""

import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading

import besom
import numpy as np
import pytest


def in_child(function):
    """Runs a function in a forked process; its result must be picklable."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(False)

    def run():
        try:
            sender.send(function())
        except BaseException as error:
            sender.send(error)

    child = context.Process(target=run)
    child.start()
    assert receiver.poll(60), "the child hangs"
    result = receiver.recv()
    child.join()
    assert child.exitcode == 0
    return result


def test_a_filter_after_a_fork():
    f = besom.build(range(1000), capacity=3000, removable=True)

    def use():
        f.add_many(range(1000, 2000))
        f.discard(5)
        return f.contains_many(range(1000, 2000)).all() and len(f)

    assert in_child(use) == 1999 and len(f) == 1000


def test_a_fork_while_other_threads_are_inside():
    f = besom.Filter("bloom", 10000)
    keys = np.arange(300_000, dtype=np.uint64)
    stop = threading.Event()

    def query():
        while not stop.is_set():
            f.contains_many(keys)

    def change():
        while not stop.is_set():
            g.add_many(keys)  # the same bits, most of the time

    def use():
        f.add("x")
        f.add_many(keys[:1000])
        try:
            g.add("x")
            return "x" in f
        except besom.BusyError:
            return "x" in f

    g = besom.Filter("bloom", 10_000_000)
    threads = [threading.Thread(target=query) for _ in range(2)] + [threading.Thread(target=change)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            assert in_child(use) is True
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_guard_after_a_fork(tmp_path):
    with besom.Guard(tmp_path / "db") as guard:
        guard["a"] = "1"

        def use():
            names = []
            for call in (lambda: guard["a"], lambda: guard.update(b="2"), guard._begin):
                try:
                    call()
                except besom.BusyError as error:
                    names.append("forked" in str(error))
            guard.close()  # leaves it to the parent
            return names

        assert in_child(use) == [True] * 3
        guard["b"] = "2"
        assert len(guard) == 2


def test_mapped_files_are_shared(tmp_path):
    besom.build(range(100000)).save(tmp_path / "f")
    f = besom.Filter.open(tmp_path / "f", check="header")
    assert in_child(lambda: bool(f.contains_many(range(1000)).all()))
    besom.build(["other"]).save(tmp_path / "f")  # replaces the file
    assert f.contains_many(range(1000)).all()


def test_sub_interpreters():
    code = """
import _xxsubinterpreters as interpreters
import besom
f = besom.Filter(capacity=100)
for _ in range(3):
    one = interpreters.create()
    interpreters.run_string(one, '''
import sys
sys.modules["numpy"] = None
import besom
f = besom.build(["a", "b"], removable=True)
assert "a" in f and f.contains_many(["a"]).tolist() == [True]
try:
    f.remove("x")
except besom.NotFoundError as error:
    assert isinstance(error, KeyError)
with besom.Guard(store="memory") as guard:
    guard["a"] = "1"
''')
    interpreters.destroy(one)
f.add("a")
print("a" in f)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "True\n", run.stderr


def test_the_end_of_the_process():
    """Objects, batches and daemon threads that are left when the interpreter ends."""
    code = """
import threading, besom, numpy
f = besom.Filter("bloom", 10_000_000)
guard = besom.Guard(store="memory")
guard._begin()
guard["a"] = "1"
def work():
    while True:
        f.add_many(numpy.arange(100000))
        "a" in guard
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
class Last:
    def __del__(self):
        f.add("x"); "x" in f; f.stats()
last = Last()
print("end")
"""
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert run.stdout == "end\n" and run.returncode == 0, run.stderr


def test_the_module_can_be_loaded_again():
    code = """
import importlib, sys, besom
f = besom.Filter(capacity=10, removable=True)
old = besom
for name in [name for name in sys.modules if name.startswith("besom")]:
    del sys.modules[name]
import besom
assert besom is not old
del old
import gc; gc.collect()
f.add("a")
try:
    f.remove("b")
except KeyError as error:
    print(type(error).__name__)
try:
    f | besom.Filter(capacity=10)
except TypeError:
    print("TypeError")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "NotFoundError\nTypeError\n", run.stderr


def command(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "besom", *arguments], capture_output=True,
                          text=True, **options)


def test_the_command(tmp_path):
    run = command("build", str(tmp_path / "f"), "--yes", "-", input="apple\npear\n")
    assert run.returncode == 0, run.stderr
    assert command("has", str(tmp_path / "f"), "apple").returncode == 0
    assert command("nonsense").returncode == 2
    f = besom.Filter.load(tmp_path / "f")
    assert "apple" in f and "pear" in f
    assert "besom" in command("--version").stdout
    assert pathlib.Path(besom.__file__).with_name("bin").joinpath("besom").exists()


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py", "py.typed", "_besom.abi3.so"])
def test_what_the_package_has(name):
    assert os.path.exists(os.path.join(os.path.dirname(besom.__file__), name))

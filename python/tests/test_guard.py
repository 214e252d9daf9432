"""Guards over databases, and guards over any lookup."""

import asyncio
import collections.abc
import contextlib
import gc
import os
import pickle
import shutil
import socket as socket_module
import subprocess
import tempfile
import threading
import time

import besom
import pytest

STORES = ["memory", "lmdb", "rocksdb", "redis"]


def accepts(path):
    """The file of a socket exists before the server listens."""
    with socket_module.socket(socket_module.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


@contextlib.contextmanager
def redis_server(directory):
    """The path of the socket of a server, if there is one on this machine."""
    if not shutil.which("redis-server"):
        pytest.skip("redis-server is not installed")
    socket = directory / "redis.sock"
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""], stdout=log,
            cwd=directory, env={**os.environ, "LD_PRELOAD": ""})
        while not accepts(socket) and server.poll() is None:
            time.sleep(0.01)
        try:
            yield socket
        finally:
            server.terminate()
            server.wait()


@pytest.fixture(params=STORES)
def opening(request, tmp_path):
    """A function that opens a guard; a second call opens the same database again."""
    store = request.param
    if store != "memory":
        pytest.importorskip(f"besom._store_{store}")

    def open_guard(**config):
        return besom.Guard(path, store, capacity=1000, **config)

    open_guard.store, open_guard.outlives = store, store != "memory"
    with redis_server(tmp_path) if store == "redis" else contextlib.nullcontext() as path:
        path = path if store in ("memory", "redis") else tmp_path / "db"
        yield open_guard


def test_a_mapping(opening):
    with opening() as guard:
        assert isinstance(guard, collections.abc.MutableMapping)
        guard["a"] = "1"
        guard[b"b"] = bytearray(b"2")
        guard[3] = memoryview(b"")
        assert guard["a"] == b"1" and guard[b"a"] == b"1" and guard[3] == b""
        assert set(guard) == {b"a", b"b", (3).to_bytes(8, "little")} == set(guard.keys())
        assert sorted(guard.values()) == [b"", b"1", b"2"]
        assert guard.setdefault("a", "9") == b"1" and guard.pop("a") == b"1"
        assert "a" not in guard and guard.get("a") is None and guard.pop("a", 7) == 7
        with pytest.raises(KeyError):
            guard["a"]
        with pytest.raises(KeyError):
            del guard["a"]
        for wrong in (1.5, None, 7):
            with pytest.raises(TypeError):
                guard["x"] = wrong
        with pytest.raises(TypeError):
            guard[1.5] = "x"
        guard["long"] = bytes(100_000)
        assert guard["long"] == bytes(100_000)
        with pytest.raises(besom.InvalidError):
            guard[b"k" * 70000] = "x"
        guard.clear()
        assert len(guard) == 0 and not guard
        with pytest.raises(TypeError):
            pickle.dumps(guard)


def test_reopening(opening):
    with opening() as guard:
        guard.update({str(i): str(i * i) for i in range(3000)})  # more than its capacity
        assert guard.stats().growths >= 1
    if not opening.outlives:
        return
    with opening() as guard:
        assert len(guard) == 3000 and guard["7"] == b"49"
        assert guard.stats().rebuilt == (opening.store == "redis")  # it has no directory


def test_split_scans(opening):
    with opening(layout="split", durability="batch") as guard:
        guard.update({f"{i:03}": "" for i in range(100)})
        assert guard.keys("010", "013") == [b"010", b"011", b"012"]
        assert guard.keys("098") == [b"098", b"099"] and guard.keys(stop=b"001") == [b"000"]
        guard.sync()
    with besom.Guard(store="memory") as guard:
        with pytest.raises(besom.UnsupportedError):
            guard.keys("010")


def test_batches(opening):
    with opening() as guard:
        guard["a"] = "old"
        with pytest.raises(ZeroDivisionError):
            with guard.batch():
                assert guard.in_batch
                guard["a"] = "new"
                guard["b"] = 1 / 0
        assert guard["a"] == b"old" and not guard.in_batch
        with pytest.raises(TypeError):
            guard.update({"c": "1", "d": 7})
        assert "c" not in guard
        with guard.batch() as same:
            assert same is guard
            guard.update(c="1")
            guard.clear()
        assert not len(guard)
        with pytest.raises(besom.InvalidError):
            guard._commit()
        guard._begin()
        guard["x"] = "1"
        guard.close()  # undoes the batch
        with pytest.raises(ValueError, match="closed"):
            guard._commit()


def test_a_closed_guard():
    guard = besom.Guard(store="memory")
    guard.close()
    guard.close()
    assert guard.closed and "closed" in repr(guard)
    for call in (lambda: guard["a"], lambda: "a" in guard, lambda: len(guard), guard.stats,
                 lambda: guard.update(a="1"), lambda: list(guard), guard.sync, guard.rekey,
                 lambda: guard.step(1), guard.offenders, lambda: guard.no_put("a")):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_false_positives_are_not_repeated(opening):
    with opening(fpr=0.1) as guard:
        guard.update({str(i): "" for i in range(500)})
        for _ in range(20):
            assert not any(f"x{i}" in guard for i in range(500))
        stats = guard.stats()
        assert 5 < stats.adapted <= stats.false_positives < 100  # not 20 times some 25
        assert all(offender.count for offender in guard.offenders())


def test_the_no_list():
    with besom.Guard(store="memory") as guard:
        guard.no_put("bad")
        assert guard.no_has("bad") and not guard.no_has("good")
        with pytest.raises(besom.IsMemberError):
            guard["bad"] = "x"
        guard.no_delete("bad")
        with pytest.raises(KeyError):
            guard.no_delete("bad")
        guard["bad"] = "x"


def test_a_guard_that_is_not_closed(tmp_path):
    guard = besom.Guard(tmp_path / "db")
    guard["a"] = "1"
    del guard
    gc.collect()
    with besom.Guard(tmp_path / "db") as guard:
        assert guard["a"] == b"1"


def test_a_limit_of_memory():
    with besom.Guard(store="memory", capacity=100, max_filter_bytes=1000) as guard:
        with pytest.raises(besom.FullError):
            for i in range(10000):
                guard[i] = ""
        assert guard.stats().growths_refused and guard.stats().full_puts == 1
        assert all(i in guard for i in range(len(guard)))


def test_a_store_is_used_once():
    capsule = besom._besom.memory_store()
    arguments = (0, 0, 0, 0, 0, 0, 0.0, 0.0, None, {"capacity": 100})
    with pytest.raises(besom.Error):
        besom._besom.GuardBase(capsule, *arguments[:-1], {"capacity": 0})
    besom._besom.GuardBase(capsule, *arguments)
    with pytest.raises(ValueError):
        besom._besom.GuardBase(capsule, *arguments)
    with pytest.raises(ValueError):
        besom._besom.GuardBase(None, *arguments)


# ---------------------------------------------------------------- Guard.wrap


def test_a_wrapped_mapping():
    table = {str(i): i for i in range(1000)}
    guard = besom.Guard.wrap(table, fpr=0.2)
    assert guard["7"] == 7 and len(guard) == 1000 and set(guard) == set(table)
    for _ in range(5):
        assert not any(f"x{i}" in guard for i in range(1000))
    stats = guard.stats()
    assert stats.false_positives == stats.reported == stats.lookups - 1 < 250
    guard["new"] = None
    assert "new" in guard and guard["new"] is None and table["new"] is None
    guard["new"] = 2
    assert guard.pop("new") == 2 and "new" not in table
    with pytest.raises(KeyError):
        del guard["new"]
    with pytest.raises(KeyError):
        guard["new"]
    for i in range(1000):  # every key that was a false positive
        guard[f"x{i}"] = i
    assert all(guard[f"x{i}"] == i for i in range(1000))
    for i in range(1000):
        del guard[f"x{i}"]
    assert all(guard[str(i)] == i for i in range(1000))


def test_a_wrapped_function():
    table = {str(i): i for i in range(100)}
    guard = besom.Guard.wrap(table.get, keys=lambda: (key for key in table))
    assert guard("7") == 7 and guard("x") is None and guard.get("x", 3) == 3 and len(list(guard)) == 100
    with pytest.raises(TypeError, match="add"):
        guard["x"] = 1
    table["x"] = 5
    guard.add("x")
    assert guard["x"] == 5
    del table["x"]
    guard.discard("x")
    assert "x" not in guard
    with pytest.raises(TypeError):
        besom.Guard.wrap(table.get)
    with pytest.raises(TypeError):
        besom.Guard.wrap(7, keys=[])
    with pytest.raises(TypeError):
        besom.Guard.wrap(table.get, filter=guard.filter, fpr=0.1)
    again = besom.Guard.wrap(table.get, filter=guard.filter)
    assert again["7"] == 7


def test_errors_of_a_lookup_pass_through():
    def lookup(key):
        raise TimeoutError

    guard = besom.Guard.wrap(lookup, keys=["a"])
    for _ in range(2):
        with pytest.raises(TimeoutError):
            guard["a"]
    assert guard.stats().reported == 0 and not guard._inside


def test_a_key_that_is_stored_while_it_is_looked_up():
    """The lookup begins before the key is there, and ends after: it must not be reported."""
    table = {str(i): i for i in range(500)}
    guard = besom.Guard.wrap(table, fpr=0.3)
    wrong = next(f"x{i}" for i in range(10000) if f"x{i}" in guard.filter)
    inside, go_on = threading.Event(), threading.Event()

    class Slow(dict):
        def __getitem__(self, key):
            if threading.current_thread() is thread:
                inside.set()
                go_on.wait()
                raise KeyError(key)
            return super().__getitem__(key)

    guard._mapping = Slow(table)
    thread = threading.Thread(target=guard.get, args=(wrong,))
    thread.start()
    inside.wait()
    guard[wrong] = 1
    go_on.set()
    thread.join()
    assert guard[wrong] == 1 and guard.stats().reported == 0


def test_asyncio():
    table = {str(i): i for i in range(100)}
    guard = besom.Guard.wrap(table)

    async def ask():
        loop = asyncio.get_running_loop()
        calls = [loop.run_in_executor(None, guard.get, str(i)) for i in range(200)]
        return await asyncio.gather(*calls)

    assert asyncio.run(ask()) == [*range(100), *[None] * 100]

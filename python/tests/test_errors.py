"""Every exception: its cause, its bases, and a message that tells what to do."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import besom
import pytest
from conftest import IS_ASAN


def test_bases():
    for name in dir(besom):
        thing = getattr(besom, name)
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert issubclass(thing, besom.Error)
            assert thing.__module__ == "besom" and thing.__doc__
    assert issubclass(besom.NotFoundError, KeyError)
    assert issubclass(besom.CorruptError, ValueError)
    assert issubclass(besom.DiskFullError, OSError)


def test_invalid():
    for config in ({"capacity": 0}, {"capacity": 10, "fpr": 2.0}, {}, {"capacity": 2**60}):
        with pytest.raises(besom.InvalidError, match="capacity|fpr"):
            besom.Filter(**config)
    with pytest.raises(TypeError):
        besom.Filter(capacity="many")
    with pytest.raises(TypeError, match=r"^capacity is a number of keys, not 0.01: besom.Filter"):
        besom.Filter(0.01, 1000)
    with pytest.raises(TypeError):
        besom.Filter(capacity=10, colour="red")
    with pytest.raises(OverflowError, match=r"^-1 is out of range: 0 to 2\*\*64 - 1$"):
        besom.Filter(capacity=-1)
    with pytest.raises(ValueError, match="16 bytes"):
        besom.Filter(capacity=10, seed=b"short")


def test_numbers_out_of_range_are_named_with_their_range():
    values = besom.Filter(100, value_bits=3, removable=True)
    values.add("ann")
    pairs = besom.Map(10, value_bits=3)
    copies = besom.Filter(100, removable=True)
    full = besom.build(range(1000))
    for call, text in (
        (lambda: copies.add("ann", 0), r"key 'ann'\): a count is at least 1"),
        (lambda: values.set_value("ann", 8), r"key 'ann'\): a value is below 2\*\*value_bits"),
        (lambda: copies.get_value("ann"), "value_bits, which is an argument of besom.Filter"),
        (lambda: pairs.add("ann", 8), r"key 'ann'\): a value is below 2\*\*value_bits"),
        (lambda: full.resize(5), r"slots is 5: stats\(\).slots"),
        (lambda: full.set_domains(128), "labels is 0 to 127"),
    ):
        with pytest.raises(besom.InvalidError, match=text):
            call()
    for key in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError, match=f"^{key} is no key: an integer key is from"):
            copies.add(key)
        with pytest.raises(OverflowError, match=f"^element 1: {key} is no key"):
            copies.add_many([1, key])


def test_a_build_names_the_element_that_is_no_key():
    many = list(range(2000)) + [None]
    for keys in (many, iter(many), tuple(many)):
        with pytest.raises(TypeError, match="^element 2000: a key is"):
            besom.build(keys)
    with pytest.raises(TypeError, match="^element 1: a key is"):
        besom.build(["a"], no=["b", 1.5])
    with pytest.raises(TypeError, match="^element 0: a key is"):
        besom.build([None], capacity=10)


def test_unknown_kind():
    with pytest.raises(besom.UnknownKindError):
        besom.Filter("bloon", 100)


def test_bad_option():
    with pytest.raises(besom.BadOptionError):
        besom.Filter(capacity=100, options="colour=red")
    with pytest.raises(besom.BadOptionError):
        besom.Filter(capacity=100, hash="md5")


def test_unsupported():
    f = besom.Filter("bloom", 100)
    f.add("a")
    with pytest.raises(besom.UnsupportedError, match="besom.kinds"):
        f.remove("a")
    with pytest.raises(besom.UnsupportedError, match="besom.build"):
        besom.Filter("fuse", 100)
    static = besom.build(["a"], no=["b"])  # a set, but that is not why it takes no keys
    for call in (lambda: static.add("c"), lambda: static.add_many(["c"])):
        with pytest.raises(besom.UnsupportedError, match='"yesno" is static.*: besom.build$'):
            call()


def test_an_interrupted_batch_tells_what_it_has_added():
    f = besom.Filter(4_000_000, removable=True)

    class Interrupt(Exception):
        pass

    def interrupt(_signal, _frame):
        if len(f) and not raised:  # between two turns of a batch, of 2^20 keys each
            raised.append(True)
            raise Interrupt

    raised = []
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        with pytest.raises(Interrupt) as caught:
            f.add_many(range(4_000_000))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert 0 < caught.value.done == len(f) < 4_000_000


def test_full():
    f = besom.Filter(capacity=100)
    with pytest.raises(besom.FullError, match="grow") as caught:
        f.add_many(range(10000))
    assert caught.value.done >= len(f) >= 100
    assert f"key {caught.value.done}" in str(caught.value)
    with pytest.raises(besom.FullError, match="key 'one more'"):
        f.add("one more")
    copies = besom.Filter(capacity=100, removable=True)
    with pytest.raises(besom.FullError) as caught:
        copies.add_many(range(10000))
    assert caught.value.done == len(copies) >= 100
    with pytest.raises(besom.FullError, match="key 'one more'"):
        copies.add("one more", 2**40)
    with pytest.raises(besom.FullError, match="pass a larger capacity, or leave it out"):
        besom.build(range(10000), capacity=100)


def test_not_found():
    f = besom.Filter(capacity=100, removable=True)
    with pytest.raises(besom.NotFoundError) as caught:
        f.remove("absent")
    assert caught.value.args == ("absent",)
    f.discard("absent")
    with pytest.raises(KeyError):
        f.no_remove("absent")


def test_incompatible():
    with pytest.raises(besom.IncompatibleError, match="seed"):
        besom.Filter(capacity=100) | besom.Filter(capacity=100, seed=bytes(16))
    with pytest.raises(besom.IncompatibleError):
        besom.Filter(capacity=100) | besom.Filter("qf", 100)


def test_corrupt_and_newer_version(tmp_path):
    with pytest.raises(besom.CorruptError):
        besom.Filter.from_bytes(b"")
    path = tmp_path / "f"
    path.write_bytes(b"no filter at all" * 100)
    for call in (besom.Filter.load, besom.Filter.open):
        with pytest.raises(besom.CorruptError, match="byte"):
            call(path)
    data = bytearray(besom.Filter(capacity=10).to_bytes())
    raised = set()
    for i in range(64):
        for value in (0xFF, 0x7F):
            old, data[i] = data[i], value
            try:
                besom.Filter.from_bytes(data)
            except besom.Error as error:
                raised.add(type(error))
            data[i] = old
    assert raised == {besom.CorruptError, besom.NewerVersionError}
    with pytest.raises(besom.CorruptError, match="not a patch of Filter.diff"):
        besom.Filter(capacity=10).patch(b"x")


def test_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        besom.Filter.load(tmp_path / "missing")
    assert caught.value.filename == str(tmp_path / "missing")
    with pytest.raises(OSError) as caught:
        besom.Filter(capacity=10).save(tmp_path / "no" / "directory")
    assert caught.value.errno == errno.ENOENT
    with pytest.raises(ValueError):
        besom.Filter.load("a\0b")
    with pytest.raises(ValueError, match="check"):
        besom.Filter.open(tmp_path, check="nothing")


@pytest.mark.skipif(IS_ASAN, reason="the sanitizer needs more address space")
def test_no_memory():
    code = """
import resource, besom
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
for make in (lambda: besom.Filter(capacity=2**34), lambda: besom.build([1], capacity=2**34)):
    try:
        make()
    except MemoryError:
        print("MemoryError")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "MemoryError\n" * 2, run.stderr


def test_read_only(tmp_path):
    path = tmp_path / "f"
    besom.build(["a"], removable=True).save(path)
    f = besom.Filter.open(path)
    for call in (f.add, f.remove):  # reports are in memory
        with pytest.raises(besom.ReadOnlyError, match="Filter.load"):
            call("a")


def test_cancelled():
    with pytest.raises(besom.CancelledError):
        besom.build(range(300000), progress=lambda done, total: False)


def test_needs_store():
    f = besom.Filter("exaf", 100, removable=True, options="form=published")
    f.add("a")
    with pytest.raises(besom.NeedsStoreError, match="Guard"):
        f.report("a")


def test_ambiguous():
    f = besom.Filter(100, 0.4, value_bits=2, removable=True, seed=bytes(16))
    f.add_many(range(100))
    with pytest.raises(besom.AmbiguousError):
        for key in range(100):
            f.set_value(key, 1)


def test_is_member():
    for no in (["b"], iter(["c", "b"]), {"b": 1}):
        with pytest.raises(besom.IsMemberError, match="key 'b'"):
            besom.build(["a", "b"], no=no)
    with pytest.raises(besom.IsMemberError):  # read once: it cannot be named
        besom.build(iter(["a", "b"]), no=["b"], capacity=10)
    with besom.Guard(store="memory") as guard:
        guard["a"] = "1"
        with pytest.raises(besom.IsMemberError, match="key 'a'"):
            guard.no_put("a")


def test_busy():
    with besom.Guard(store="memory") as guard:
        with guard.batch():
            with pytest.raises(besom.BusyError):
                guard._begin()
            with pytest.raises(besom.BusyError):
                guard.sync()


def test_locked(tmp_path):
    def open_again(queue):
        try:
            besom.Guard(tmp_path / "db")
        except besom.Error as error:
            queue.put(type(error).__name__)

    context = multiprocessing.get_context("fork")
    with besom.Guard(tmp_path / "db"):
        queue = context.Queue()
        child = context.Process(target=open_again, args=(queue,))
        child.start()
        assert queue.get(timeout=60) == "LockedError"
        child.join()


def test_reserve_full():
    f = besom.Filter(capacity=1000, fpr=0.3, options="max_exceptions=2", seed=bytes(16))
    f.add_many(range(1000))
    with pytest.raises(besom.ReserveFullError, match="rekey"):
        for key in range(1000, 5000):
            if key in f:
                f.report(key)


def test_disk_full(tmp_path):
    with besom.Guard(tmp_path / "db", store_options={"map_size": 1 << 20}) as guard:
        with pytest.raises(besom.DiskFullError):
            with guard.batch():
                for i in range(1000):
                    guard[i] = bytes(10000)
        assert len(guard) == 0 and not list(guard)
        guard["a"] = "1"


def test_guard_arguments(tmp_path):
    for arguments in ({"store": "paper"}, {"store": "lmdb"}, {"store": "memory", "path": "x"},
                      {"store": "memory", "layout": "x"}, {"store": "memory", "adapt": "x"},
                      {"store": "memory", "durability": "x"}):
        with pytest.raises(ValueError):
            besom.Guard(**arguments)
    with pytest.raises(ValueError, match="colour"):
        besom.Guard(tmp_path / "x", store_options={"colour": 1})
    with pytest.raises(OSError):
        besom.Guard(tmp_path / "no" / "parent")
    with pytest.raises(besom.UnsupportedError):
        besom.Guard(store="memory", kind="bloom")
    with pytest.raises(besom.InvalidError, match="fpr"):
        besom.Guard(store="memory", fpr=7.0)


def test_no_thread_is_left():
    assert threading.active_count() == 1 and os.getpid()

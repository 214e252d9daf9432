"""Many keys: every form gives the same answers as single keys."""

import array
import subprocess
import sys

import arrow
import besom
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

KEYS = st.one_of(st.text(max_size=12), st.binary(max_size=12),
                 st.integers(-(2**63), 2**64 - 1), st.binary(max_size=9).map(bytearray))


def canonical(key):
    if isinstance(key, int):
        return (key % 2**64).to_bytes(8, "little")
    return key.encode() if isinstance(key, str) else bytes(key)


def filled(keys):
    f = besom.Filter(20000, 1e-9)
    for key in keys:
        f.add(key)
    return f


@given(st.lists(KEYS, max_size=300), st.lists(KEYS, max_size=300))
def test_lists(members, others):
    f, copies = besom.Filter(1000, 1e-9), besom.Filter(1000, removable=True)
    f.add_many(members)
    copies.add_many(members)
    assert len(f) == len(set(map(canonical, members))) and len(copies) == len(members)
    keys = members + others
    single = [key in f for key in keys]
    for form in (keys, tuple(keys), iter(keys), np.array(keys + [None], dtype=object)[:-1]):
        assert f.contains_many(form).tolist() == single


@pytest.mark.parametrize("n", [0, 1, 7, 8, 63, 64, 65, 256, 257, 4095, 4096, 4097, 8192, 8193, 20000])
def test_every_length(n):
    f = filled(range(0, n, 2))
    assert len(f) == len(range(0, n, 2))
    keys = list(range(n))
    single = [key in f for key in keys]
    names = filled(str(key) for key in range(0, n, 3))
    for answers in (f.contains_many(keys), f.contains_many(np.arange(n, dtype=np.uint64)),
                    f.contains_many(range(n)), f.contains_many(array.array("q", keys))):
        assert isinstance(answers, np.ndarray) and answers.dtype == bool
        assert answers.tolist() == single
    assert names.contains_many([str(key) for key in keys]).tolist() == [
        str(key) in names for key in keys]


@pytest.mark.parametrize("dtype", ["u2", "i2", "u4", "i4", "u8", "i8", "<u8"])
def test_integer_arrays(dtype):
    keys = np.array([0, 1, 2, 30000, 100], dtype)
    if dtype.startswith("i"):
        keys[0] = -5
    f = besom.Filter(capacity=100)
    f.add_many(keys[:3])
    assert all(int(key) in f for key in keys[:3])
    assert f.contains_many(keys).tolist() == [int(key) in f for key in keys]
    assert f.contains_many(keys[::2]).tolist() == [True, True, False]
    assert f.contains_many(keys[::-1]).tolist()[-3:] == [True] * 3
    assert keys[1] in f  # a scalar of NumPy
    raw = b"x" + keys.tobytes()
    unaligned = np.frombuffer(raw, dtype, offset=1)
    assert f.contains_many(unaligned).tolist() == f.contains_many(keys).tolist()


def test_fixed_width_bytes():
    keys = np.array([b"a", b"bcd", b"", b"longer"], dtype="S6")
    f = besom.Filter(capacity=100)
    f.add_many(keys)
    assert all(key in f for key in (b"a", b"bcd", b"", "longer"))
    assert f.contains_many(keys).all() and f.contains_many(keys[::2]).all()
    whole = besom.Filter(capacity=100)
    whole.add_many(keys.view("V6"))
    assert b"a\0\0\0\0\0" in whole and b"a" not in whole
    rows = np.frombuffer(keys.tobytes(), np.uint8).reshape(4, 6)
    assert whole.contains_many(rows).all()
    assert whole.contains_many(rows.copy(order="F")).all()
    words = np.array(["grün", "b"])
    names = besom.build(words)
    assert "grün" in names and names.contains_many(words).all()


@pytest.mark.parametrize("large", [False, True])
def test_arrow_strings(large):
    keys = ["a", "", "grün", None, "x" * 100, b"bytes"]
    f = besom.Filter(capacity=100)
    f.add_many(arrow.strings([key for key in keys if key is not None], large))
    assert all(key in f for key in keys if key is not None)
    assert f.contains_many(arrow.strings(keys, large)).tolist() == [True] * 3 + [False] + [True] * 2
    assert f.contains_many(arrow.strings(keys, large, 2)).tolist() == [True, False, True, True]
    assert f.contains_many(arrow.strings([], large)).tolist() == []
    for call in (f.add_many, besom.build, lambda x: f.rekey(x)):
        with pytest.raises(ValueError, match="null"):
            call(arrow.strings(keys, large))
    assert len(f) == 5
    built = besom.build(arrow.strings(["a", "b"], large))
    assert "a" in built and "b" in built


def test_other_arrow_arrays():
    f = besom.build([1, 2, 3])
    words = np.arange(6, dtype=np.uint64).tobytes()
    assert f.contains_many(arrow.Array("L", 6, [None, words])).tolist() == [k in f for k in range(6)]
    assert f.contains_many(arrow.Array("l", 2, [None, words], 2)).all()
    fixed = besom.build([b"abc", b"def"])
    assert fixed.contains_many(arrow.Array("w:3", 2, [None, b"abcdef"])).all()
    assert fixed.contains_many(arrow.Array("w:3", 1, [None, b"abcdef"], 1)).all()
    for bad in (arrow.Array("vu", 0, [None, b"x", b"x"]), arrow.Array("g", 1, [None, bytes(8)])):
        with pytest.raises(TypeError, match="cast"):
            f.contains_many(bad)
    falling = np.array([0, 5, 3], np.int32).tobytes()
    with pytest.raises(ValueError, match="ascend"):
        f.contains_many(arrow.Array("u", 2, [None, falling, b"abcdef"]))
    negative = np.array([-9, 5, 9], np.int32).tobytes()
    with pytest.raises(ValueError, match="ascend"):
        f.contains_many(arrow.Array("u", 2, [None, negative, b"abcdef"]))

    class Liar:
        def __arrow_c_array__(self, requested_schema=None):
            return 1, 2

    class Half:
        def __arrow_c_array__(self, requested_schema=None):
            return 7

    for liar in (Liar(), Half()):
        with pytest.raises((TypeError, ValueError)):
            f.contains_many(liar)


@pytest.mark.parametrize("bad", ["key", b"key", bytearray(8), 7, None, 1.5, np.zeros(3),
                                 np.zeros(3, np.uint8), np.zeros((2, 2)), np.array(5),
                                 np.zeros(3, ">u8"), np.zeros(3, complex), memoryview(b"abc"),
                                 np.zeros((2, 2, 2), np.uint8), [1, 2.5], [[1]]])
def test_what_is_not_an_array_of_keys(bad):
    f = besom.Filter(capacity=100)
    for call in (f.contains_many, f.add_many):
        with pytest.raises(TypeError):
            call(bad)
    assert len(f) == 0


def test_buffers_are_released():
    data = bytearray(80)
    f = besom.Filter(capacity=100)
    f.contains_many(memoryview(data).cast("Q"))
    f.add_many(memoryview(data).cast("Q"))
    f.add_many([data])
    besom.build(memoryview(data).cast("Q"))
    assert data in f
    with pytest.raises(TypeError):
        f.contains_many([data, None])
    data.append(0)  # a BufferError if somebody still held it


def test_without_numpy():
    code = """
import sys
sys.modules["numpy"] = None
import besom
f = besom.build(["a", "b"])
answers = f.contains_many(["a", "x", "b"])
assert isinstance(answers, memoryview) and answers.format == "?", answers
assert answers.tolist() == [True, False, True]
assert f.contains_many([]).tolist() == []
"""
    subprocess.run([sys.executable, "-c", code], check=True)


class Mischief:
    """An object whose conversion runs Python code."""

    def __init__(self, call):
        self.call = call

    def __index__(self):
        self.call()
        return 5


def test_a_list_that_changes_while_it_is_read():
    f = besom.Filter(capacity=100)
    keys = [str(i) for i in range(10000)]
    keys[3] = Mischief(keys.clear)
    with pytest.raises(RuntimeError, match="changed"):
        f.contains_many(keys)
    keys = [str(i) for i in range(100)]
    keys[3] = Mischief(keys.clear)
    assert len(f.contains_many(keys)) == 100
    keys = [str(i) for i in range(100)]
    keys[3] = Mischief(keys.clear)
    f.add_many(keys)
    assert 99 <= len(f) <= 100
    keys = [bytes([i]) * 100 for i in range(100)]
    keys[0] = Mischief(lambda: keys.__setitem__(slice(None), [b""] * 100))
    f.contains_many(keys)


def test_conversions_that_use_the_filter():
    f = besom.Filter(100000, max_capacity=400000, removable=True)
    f.contains_many([Mischief(lambda: f.add("x"))])
    f.add_many([Mischief(f.grow), "y"])
    key = Mischief(lambda: f.discard("x"))
    assert 5 in f and key in f and "x" not in f
    f.add(Mischief(lambda: f.add_many(range(1000))))
    besom.build([Mischief(lambda: f.add("z"))], like=f)
    f.rekey([Mischief(f.to_bytes)])
    assert len(f) == 1
    for bad in (Mischief(lambda: 1 / 0), Mischief(sys.exit)):
        for call in (f.add, f.contains_many, f.add_many, f.count, besom.build):
            with pytest.raises((ZeroDivisionError, SystemExit)):
                call([bad] if call in (f.contains_many, f.add_many, besom.build) else bad)

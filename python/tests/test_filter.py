"""A filter and single keys; files, copies and whole filters."""

import copy
import pathlib
import pickle
import re
import subprocess
import sys

import besom
import pytest

SEED = bytes(range(16))


def test_the_version_is_that_of_the_header():
    header = pathlib.Path(__file__).parents[2] / "include" / "besom.h"
    parts = re.findall(r"define BESOM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text())
    assert besom.__version__ == ".".join(parts)


@pytest.mark.parametrize("key", ["apple", "", "grün", b"\x00\xff", b"", 0, 2**64 - 1, -(2**63),
                                 bytearray(b"x"), memoryview(b"abc"), True])
def test_every_type_of_key(key):
    f = besom.Filter(capacity=100, removable=True)
    f.add(key)
    assert key in f
    assert f.count(key) == 1
    f.remove(key)
    assert key not in f


def test_equal_keys_of_different_types():
    f = besom.Filter(capacity=100)
    f.add("grün")
    assert "grün".encode() in f and bytearray("grün".encode()) in f
    f.add(258)
    assert (258).to_bytes(8, "little") in f
    f.add(-1)
    assert 2**64 - 1 in f
    assert "258" not in f


@pytest.mark.parametrize("key, error", [(1.5, TypeError), (None, TypeError), (["a"], TypeError),
                                        (2**64, OverflowError), (-(2**63) - 1, OverflowError),
                                        ("\ud800", UnicodeEncodeError),
                                        (memoryview(b"abcdef")[::2], BufferError)])
def test_what_is_not_a_key(key, error):
    f = besom.Filter(capacity=100)
    for call in (f.add, f.remove, f.discard, f.count, f.report, f.__contains__):
        with pytest.raises(error):
            call(key)
    with pytest.raises(error):
        f.contains_many([key])
    with pytest.raises(error):
        f.add_many(["good", key])
    assert len(f) == 0


def test_a_key_with_index():
    class Number:
        def __index__(self):
            return 7

    f = besom.Filter(capacity=100)
    f.add(Number())
    assert 7 in f and Number() in f


def test_kinds_that_count_keep_copies_and_others_do_not():
    aqf, bloom = besom.Filter("aqf", 100, removable=True), besom.Filter("bloom", 100)
    for f in (aqf, bloom):
        f.add("a")
        f.add("a")
    assert aqf.count("a") == 2
    with pytest.raises(besom.UnsupportedError):
        bloom.count("a")
    for count, error in ((0, besom.InvalidError), (-1, OverflowError), (2.0, TypeError)):
        with pytest.raises(error):
            aqf.add("b", count)
    aqf.add("b", 5)
    assert aqf.count("b") == 5 and len(aqf) == 7


def test_a_report_holds_after_saving(tmp_path):
    f = besom.Filter(capacity=1000, fpr=0.1, seed=SEED)
    f.add_many(range(1000))
    wrong = [k for k in range(1000, 2000) if k in f][:20]
    for key in wrong:
        f.report(key)
    path = tmp_path / "f.besom"
    f.save(path)
    for g in (f, f.copy(), copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f)),
              besom.Filter.load(path), besom.Filter.open(str(path)),
              besom.Filter.open(path, check="checksums"), besom.Filter.open(path, check="header"),
              pickle.loads(pickle.dumps(besom.Filter.open(path)))):
        assert not g.contains_many(wrong).any()
        assert g.contains_many(range(1000)).all()
        assert g.to_bytes() == f.to_bytes()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling_a_subclass(protocol):
    f = Named(capacity=100)
    f.add("a")
    g = pickle.loads(pickle.dumps(f, protocol))
    assert type(g) is Named and "a" in g


class Named(besom.Filter):
    pass


def test_merging():
    f = besom.Filter(capacity=1000)
    g = f.empty()
    f.add("a")
    g.add("b")
    both = f | g
    assert both.contains_many("a b".split()).all() and "b" not in f
    same = f
    f |= g
    assert f is same and len(f) == 2
    f |= f
    assert len(f) == 2
    copies = besom.Filter(1000, removable=True)
    copies.add("a")
    copies |= copies
    assert copies.count("a") == 2
    with pytest.raises(TypeError):
        f | {"a"}
    with pytest.raises(TypeError):
        f |= {"a"}


def test_growing_changes_no_answer():
    f = besom.Filter(capacity=1000, max_capacity=8000)
    grown = 0
    for key in range(8000):
        try:
            f.add(key)
        except besom.FullError:
            f.grow()
            f.add(key)
            grown += 1
    assert f.contains_many(range(8000)).all() and 7900 < len(f) <= 8000 and grown == 3
    f.validate()


def test_random_seeds():
    code = "import besom; print(besom.Filter(capacity=10).to_bytes() != besom.Filter(capacity=10).to_bytes())"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"True\n"


def test_rekey_empties_the_reserve():
    f = besom.Filter(capacity=1000, fpr=0.2, options="max_exceptions=2", seed=SEED)
    f.add_many(range(1000))
    wrong = [k for k in range(1000, 3000) if k in f]
    with pytest.raises(besom.ReserveFullError):
        for key in wrong:
            f.report(key)
    f.rekey(range(1000), no=[wrong[0]])
    assert f.contains_many(range(1000)).all() and wrong[0] not in f
    f.rekey((k for k in range(1000)), seed=bytes(16))
    with pytest.raises(ValueError):
        f.rekey(range(1000), seed=b"short")


def test_values():
    f = besom.Filter(capacity=100, value_bits=8)
    f.add("a")
    f.set_value("a", 200)
    assert f.get_value("a") == 200
    with pytest.raises(KeyError):
        f.get_value("b")
    with pytest.raises(KeyError):
        f.set_value("b", 1)
    with pytest.raises(besom.InvalidError):
        f.set_value("a", 256)
    with pytest.raises(OverflowError):
        f.set_value("a", -1)


def test_diff_and_patch():
    old = besom.build(range(1000), capacity=1100, seed=SEED)
    new = besom.build(range(50, 1050), like=old)
    assert old.patch(old.diff(new)).to_bytes() == new.to_bytes()
    with pytest.raises(besom.IncompatibleError):
        new.patch(old.diff(new))
    with pytest.raises(besom.CorruptError):
        old.patch(b"rubbish")


def test_saved_bytes_that_are_damaged(tmp_path):
    data = bytearray(besom.build(range(1000), seed=SEED).to_bytes())
    for i in range(0, len(data), 37):
        data[i] ^= 0x5A
        with pytest.raises((besom.CorruptError, besom.NewerVersionError)):
            besom.Filter.from_bytes(data)
        data[i] ^= 0x5A
    path = tmp_path / "damaged"
    path.write_bytes(data[:-1])
    with pytest.raises(besom.CorruptError, match="damaged: .* at byte"):
        besom.Filter.load(path)


def test_stats_and_kinds():
    f = besom.Filter(capacity=1000)
    f.add("a")
    stats = f.stats()
    assert (stats.kind, stats.keys, stats.hash) == ("aqf", 1, "xxh3")
    assert stats.counters["exceptions"] == 0
    assert {"add", "set", "report"} <= f.abilities and "remove" not in f.abilities
    assert "remove" in besom.Filter(1000, removable=True).abilities
    assert "aqf" in repr(f)
    names = {kind.name: kind for kind in besom.kinds()}
    assert "remove" not in names["bloom"].abilities
    f.validate()
    assert [s.kind for s in besom.Filter("scaling", 100, options="base=aqf").layers()] == ["aqf"]


# Their reports, or their no list, change fingerprints.
MULTISETS = {"exaf", "broom", "taf", "utaf", "yesno-dynamic"}


@pytest.mark.parametrize("kind", [kind.name for kind in besom.kinds()])
def test_every_kind(kind):
    info = next(k for k in besom.kinds() if k.name == kind)
    keys = [f"key {i}" for i in range(500)]
    if "add" in info.abilities:
        f = besom.Filter(kind, 600, removable=kind in MULTISETS)
        f.add_many(keys)
    elif kind.startswith("acf-"):  # only with a store
        with besom.Guard(store="memory", kind=kind, capacity=600) as guard:
            guard.update({key: "" for key in keys})
            assert all(key in guard for key in keys)
        return
    else:
        f = besom.build(keys, kind, no=[f"no {i}" for i in range(100)] if "build_no" in info.abilities
                        or "build_sample" in info.abilities else None)
    assert f.contains_many(keys).all()
    assert besom.Filter.from_bytes(f.to_bytes()).contains_many(keys).all()

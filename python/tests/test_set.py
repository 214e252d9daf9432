"""The two modes of a filter: a set, and a multiset with removable=True."""

import pathlib
import pickle

import besom
import pytest

GOLDEN = pathlib.Path(__file__).parents[2] / "tests" / "golden"


def test_a_few_keys_again_and_again():
    f = besom.Filter(1000)
    for i in range(20 * 500):
        f.add(f"key {i % 500}")
    assert 490 <= len(f) <= 500
    copies = besom.Filter(1000, removable=True)
    with pytest.raises(besom.FullError):
        for i in range(20 * 500):
            copies.add(f"key {i % 500}")


def test_build_counts_once():
    assert len(besom.build(["a", "a"])) == 1
    assert len(besom.build(["a", "a"], removable=True)) == 2
    assert len(besom.build(["a", "a"], removable=True, distinct=True)) == 1
    assert len(besom.build(iter(["a", "a", "b"]), no=["c"])) == 2


@pytest.mark.parametrize("call", ["remove", "discard", "count"])
def test_what_a_set_cannot_do(call):
    f = besom.Filter(1000)
    f.add("a")
    with pytest.raises(besom.UnsupportedError, match="is a set.*removable=True"):
        getattr(f, call)("a")
    assert "a" in f and not f.removable and "set" in f.abilities


@pytest.mark.parametrize("kind", ["taf", "utaf", "exaf", "broom", "yesno-dynamic"])
def test_kinds_that_are_no_sets(kind):
    for make in (lambda **config: besom.Filter(kind, 100, **config),
                 lambda **config: besom.build(["a"], kind, **config)):
        with pytest.raises(besom.UnsupportedError, match="removable=True"):
            make()
        assert make(removable=True).removable
    with pytest.raises(besom.UnsupportedError, match="removable=True"):
        besom.Filter("cached", 100, options=f"base={kind}")


def test_kinds_that_cannot_remove():
    for kind in ("bloom", "blocked-bloom"):
        assert not besom.Filter(100, kind=kind).removable
        with pytest.raises(besom.UnsupportedError, match="cannot remove"):
            besom.Filter(100, kind=kind, removable=True)
    with pytest.raises(besom.UnsupportedError, match="cannot remove"):
        besom.build(["a"], "ribbon", removable=True)


def test_distinct_and_repeated():
    with pytest.raises(TypeError, match="besom.build"):
        besom.Filter(1000, distinct=True)
    with pytest.raises(besom.InvalidError, match="removable=True"):
        besom.Filter(1000, repeated=0.5)
    assert besom.Filter(1000, repeated=0.5, removable=True).removable


def test_the_mode_is_kept():
    for removable in (False, True):
        f = besom.Filter(1000, removable=removable)
        f.update(["a", "b"])
        for g in (f.copy(), f.empty(), f | f, pickle.loads(pickle.dumps(f)), f.union(["c"]),
                  besom.build(["a"], like=f), f.patch(f.diff(f))):
            assert g.removable == removable
        f.grow()
        f.rekey(["a"])
        f.clear()
        assert f.removable == removable


def test_a_set_absorbs_a_multiset():
    a, b = besom.Filter(1000), besom.Filter(1000, removable=True)
    b.add("x", 3)
    for both in (a | b, b | a):
        assert "x" in both and not both.removable


@pytest.mark.parametrize("kind", ["aqf", "qf", "cf", "yesno"])
def test_files_of_0_2_0_are_removable(kind):
    data = (GOLDEN / f"{kind}-v1.besom").read_bytes()
    f = besom.Filter.from_bytes(data)
    assert f.removable and f.to_bytes() == data


def test_files_of_sets_have_another_version():
    f = besom.Filter(1000)
    assert f.to_bytes()[8] == 2 and besom.Filter(1000, removable=True).to_bytes()[8] == 1
    assert besom.Filter(1000, kind="bloom").to_bytes()[8] == 1


def test_a_report_and_then_an_add():
    f = besom.Filter(200, 0.3, seed=bytes(16))
    f.update(range(100))
    wrong = [key for key in range(100, 1000) if key in f][:20]
    for key in wrong:
        f.report(key)
    assert not f.contains_many(wrong).any()
    for key in wrong:
        f.add(key)
        assert key in f
    assert f.contains_many(range(100)).all()
    f.validate()


def test_union_in_a_loop_does_not_fill_the_filter():
    f = besom.build(range(1000), capacity=1100)
    n = len(f)
    for _ in range(20):
        f |= f
        f.update(f.copy(), range(1000))
    assert len(f) == n

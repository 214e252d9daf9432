"""What people who come from other packages try first."""

import besom
import numpy as np
import pytest


def test_positional_arguments():
    for f in (besom.Filter(1000, 0.01), besom.Filter("aqf", 1000, 0.01), besom.Filter(1000, fpr=0.01),
              besom.Filter(capacity=1000, fpr=0.01), besom.Filter(np.int64(1000), 0.01)):
        assert f.capacity >= 1000 and 0.005 < f.fpr <= 0.01 and f.kind == "aqf"
    assert besom.Filter(1000, 0.01, kind="bloom").kind == "bloom"
    assert besom.Filter("scaling", 1000, 0.01).kind == "scaling"
    with pytest.raises(TypeError):
        besom.Filter(1000, 0.01, "bloom")
    with pytest.raises(TypeError):
        besom.Filter(0.01, 1000)


@pytest.mark.parametrize("config", [{"fpr": 0}, {"fpr": 0.0}, {"bits_per_key": 0}])
def test_a_rate_of_zero(config):
    with pytest.raises(besom.InvalidError, match="is 0"):
        besom.Filter(1000, **config)
    with pytest.raises(besom.InvalidError, match="is 0"):
        besom.build(["a"], **config)
    assert besom.Filter(1000, None).fpr <= 1 / 256


def test_attributes():
    f = besom.Filter(100_000, 0.001)
    empty = f.bits_per_key
    f.update(range(100_000))
    assert 10 < empty < 20 and abs(f.bits_per_key - empty) < 1
    with pytest.raises(AttributeError):
        f.capacity = 7


def test_update_union_clear():
    f = besom.Filter(1000, 1e-6)
    f.update()
    f.update(["a"], {"b"}, np.arange(3), (str(i) for i in range(3)))
    assert len(f) == 8
    g = f.union(["c"], f.empty())
    assert type(g) is type(f) and len(g) == 9 and "c" not in f
    g.clear()
    assert len(g) == 0 and "a" not in g and g.capacity == f.capacity
    g.add("a")
    assert len(f | g) == 8
    with pytest.raises(TypeError):
        f.update("one key")
    with pytest.raises(besom.UnsupportedError):
        besom.build(["a"], "ribbon").clear()


def test_a_mapped_filter_is_not_cleared(tmp_path):
    besom.build(["a"]).save(tmp_path / "f")
    f = besom.Filter.open(tmp_path / "f")
    with pytest.raises(besom.ReadOnlyError):
        f.clear()
    assert "a" in f


def test_repr():
    f = besom.Filter(1000, 0.01)
    f.update(range(f.capacity // 2))
    assert "aqf: " in repr(f) and "(50 %)" in repr(f) and " now, " in repr(f)
    assert "removable" in repr(besom.Filter(1000, removable=True))
    assert " of " not in repr(besom.Filter("scaling", 1000))


@pytest.mark.parametrize("call, text", [
    (lambda: besom.Filter("bloon", 10), "besom.kinds()"),
    (lambda: besom.Filter(10, bits_per_key=2), "bits_per_key"),
    (lambda: besom.Filter(10, repeated=0.5), "removable"),
    (lambda: besom.Filter("taf", 10), "removable"),
    (lambda: besom.Filter("ribbon", 10), "besom.build"),
    (lambda: besom.build(["a"], "qf", no=["b"]), "besom.kinds()"),
])
def test_messages_speak_python(call, text):
    with pytest.raises((besom.Error, TypeError)) as caught:
        call()
    assert text in str(caught.value) and "besom_" not in str(caught.value)


def test_errors_name_the_key(tmp_path):
    f = besom.Filter(100, 0.3, options="max_exceptions=1", value_bits=2, seed=bytes(16))
    f.update(range(100))
    wrong = [key for key in range(100, 1000) if key in f]
    f.report(wrong[0])
    with pytest.raises(besom.ReserveFullError, match=rf"key {wrong[1]}\)"):
        f.report(wrong[1])
    with pytest.raises(besom.InvalidError, match="key 7"):
        f.set_value(7, 100)
    with pytest.raises(TypeError, match="element 2"):
        f.add_many(["a", "b", None])
    with pytest.raises(OverflowError, match="element 0"):
        f.contains_many([2**64])
    with besom.Guard(store="memory", max_filter_bytes=3000, capacity=100) as guard:
        with pytest.raises(besom.FullError, match="key "):
            for i in range(10_000):
                guard[i] = ""


# ---------------------------------------------------------------- pandas


def test_missing_values():
    pandas = pytest.importorskip("pandas")
    f = besom.build(["a", "b", 1, 2])
    for series, answers in (
        (pandas.Series(["a", None, "b", float("nan"), "x"]), [True, False, True, False, False]),
        (pandas.Series([1, None, 2], dtype="Int64"), [True, False, True]),
        (pandas.Series(["a", None], dtype="string"), [True, False]),
        (pandas.Series(["a", None, "a"], dtype="category"), [True, False, True]),
        (pandas.Index(["a", None]), [True, False]),
        (pandas.array(["a", None]), [True, False]),
        (pandas.Series(["a", "b"]), [True, True]),
        (pandas.Series([], dtype=object), []),
        (pandas.Series([None, None]), [False, False]),
    ):
        assert f.contains_many(series).tolist() == answers
        missing = series.isna()
        if not any(missing):
            continue
        first = list(missing).index(True)
        for call in (besom.Filter(10).add_many, besom.build, lambda keys: f.rekey(keys)):
            with pytest.raises(ValueError, match=f"element {first} is missing"):
                call(series)
    long = pandas.Series([None, "a"] * 10_000)
    assert f.contains_many(long).sum() == 10_000
    with pytest.raises(TypeError, match="Int64"):
        f.contains_many(pandas.Series([1, None]))
    with pytest.raises(TypeError, match="element 1"):
        f.contains_many(["a", None])


# ---------------------------------------------------------------- matplotlib and tqdm


def test_plot(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    f = besom.build(range(1000))
    axes = f.plot()
    assert "aqf" in axes.get_title() and len(axes.patches) == 3
    assert f.plot(axes) is axes
    assert besom.build(range(10), "ribbon").plot().patches
    pyplot.close("all")


def test_without_matplotlib_and_tqdm(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    f = besom.build(range(10), progress=True)
    with pytest.raises(ImportError, match="python3-matplotlib"):
        f.plot()


def test_progress_bar(capsys):
    tqdm = pytest.importorskip("tqdm").tqdm
    f = besom.build(range(300_000), progress=True)
    assert f.contains_many(range(300_000)).all()
    assert "keys" in capsys.readouterr().err
    if tqdm.monitor:
        tqdm.monitor.exit()  # its thread

"""besom.Map: every value of every key is among its candidates."""

import pickle
import random

import pytest

import besom

SEED = bytes(range(16))


def test_a_map_holds_what_a_dict_of_sets_holds():
    m, model, rng = besom.Map(3000, 0.2, options="max_exceptions=9000"), {}, random.Random(1)
    for _ in range(6000):
        key, value = rng.randrange(800), rng.randrange(40)
        has = model.setdefault(key, set())
        if value in has and rng.random() < 0.5:
            new = rng.randrange(40)
            if new in has:
                m.remove(key, value)
            else:
                m.replace(key, value, new)
                has.add(new)
            has.remove(value)
        elif value not in has and len(m) < 2900:
            m.add(key, value)
            has.add(value)
    for key, values in model.items():
        assert values <= m.candidates(key)
    assert len(m) == sum(map(len, model.values()))
    for key in range(800, 2000):
        for value in m.candidates(key):
            m.report(key, value)
            assert value not in m.candidates(key)
    for key, values in model.items():
        assert values <= m.candidates(key)


def test_batches_answer_as_single_keys():
    numpy = pytest.importorskip("numpy")
    m = besom.Map(20000, 1 / 16, seed=SEED)
    keys = numpy.arange(10000, dtype="u8")
    m.add_many(keys, keys % 1000)
    m.add_many(keys[:100], numpy.full(100, 1001, dtype="u2"))
    starts, values = m.candidates_many(numpy.arange(12000))
    assert len(starts) == 12001 and starts[-1] == len(values)
    for i in range(0, 12000, 7):
        assert set(values[starts[i] : starts[i + 1]].tolist()) == m.candidates(i)
    words = [f"key{i}" for i in range(5000)]
    m.add_many(words, [3] * 5000)
    starts, values = m.candidates_many(words)
    assert all(3 in values[starts[i] : starts[i + 1]] for i in range(5000))
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        m.add_many(["a", "b"], [1])
    with pytest.raises(TypeError):
        m.add_many(["a"], ["text"])
    with pytest.raises(besom.FullError):
        m.add_many(range(10**6, 10**6 + 10000), [0] * 10000)


def test_a_mapping_of_sets():
    m = besom.Map(1000, seed=SEED)
    m["ann"] = {3, 7}
    m["ann"] = {3, 7, 9}
    assert m["ann"] == {3, 7, 9} and m.get("bob") is None and "ann" in m
    with pytest.raises(besom.AmbiguousError):
        m["ann"] = {3}
    with pytest.raises(besom.AmbiguousError):
        del m["ann"]
    with pytest.raises(KeyError):
        m["bob"]
    with pytest.raises(KeyError):
        m.remove("bob", 3)
    with pytest.raises(TypeError):
        iter(m)
    m.remove("ann", 3)
    m.remove("ann", 7)
    del m["ann"]
    assert "ann" not in m and len(m) == 0
    with pytest.raises(besom.InvalidError):
        m.add("ann", 1 << 16)


def test_names_are_saved_with_the_map(tmp_path):
    m = besom.Map(100, names=True, seed=SEED)
    m.add("ann", "shard-3")
    m.add("bob", "Größe")
    m.save(tmp_path / "m.map")
    for copy in (besom.Map.load(tmp_path / "m.map"), besom.Map.open(tmp_path / "m.map"),
                 pickle.loads(pickle.dumps(m))):
        assert copy["bob"] == {"Größe"} and copy.names == ("shard-3", "Größe")
    with pytest.raises(KeyError):
        m.report("ann", "unknown")
    with pytest.raises(TypeError):
        m.add("ann", "two\nlines")
    with pytest.raises(besom.UnsupportedError):
        besom.Map.from_bytes(besom.Filter(10).to_bytes())


def test_repeats_can_be_ignored():
    m = besom.Map(100, options="repeats=ignore")
    for _ in range(1000):
        m.add("ann", 3)
    assert len(m) == 1
    with pytest.raises(besom.UnsupportedError):
        m.remove("ann", 3)

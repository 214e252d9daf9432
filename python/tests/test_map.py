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
    had = len(m)
    with pytest.raises(besom.FullError) as caught:
        m.add_many(range(10**6, 10**6 + 10000), [0] * 10000)
    assert caught.value.done == len(m) - had > 0


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


def test_merging_keeps_every_pair_of_both():
    maps = [besom.Map(4000, 1 / 16, seed=SEED) for _ in range(2)]
    for i, m in enumerate(maps):
        m.add_many(range(1000), [key % 50 + i for key in range(1000)])
        m.add_many(range(1000 * (i + 1), 1000 * (i + 1) + 500), [i] * 500)
    maps[0].merge(maps[1])
    assert len(maps[0]) == 3000 and len(maps[1]) == 1500
    for key in range(1000):
        assert {key % 50, key % 50 + 1} <= maps[0][key]
    assert all(0 in maps[0][key] for key in range(1000, 1500))
    assert all(1 in maps[0][key] for key in range(2000, 2500))
    before = maps[0].to_bytes()
    for other in (besom.Map(100), besom.Map(4000, 1 / 16, seed=b"x" * 16),
                  besom.Map(4000, 1 / 16, seed=SEED, value_bits=8),
                  besom.Map(4000, 1 / 16, seed=SEED, names=True)):
        with pytest.raises(besom.IncompatibleError):
            maps[0].merge(other)
    with pytest.raises(TypeError):
        maps[0].merge(besom.Filter(100))
    assert maps[0].to_bytes() == before
    with pytest.raises(besom.FullError):
        for _ in range(2):
            maps[1].merge(maps[1])
            maps[0].merge(maps[1])


def test_merging_maps_with_names():
    def named(*pairs):
        m = besom.Map(100, names=True, seed=SEED)
        for key, value in pairs:
            m.add(key, value)
        return m

    short, long = named(("ann", "a")), named(("bob", "a"), ("eve", "b"))
    short.merge(long)
    assert (short["ann"], short["bob"], short["eve"]) == ({"a"}, {"a"}, {"b"})
    short.add("dan", "c")
    assert short.names == ("a", "b", "c") and besom.Map.from_bytes(short.to_bytes())["dan"] == {"c"}
    short.merge(long)
    assert len(short) == 6 and short.names == ("a", "b", "c") and long.names == ("a", "b")
    with pytest.raises(besom.IncompatibleError):
        short.merge(named(("ann", "b")))
    other_seed = besom.Map(100, names=True, seed=b"x" * 16)
    for name in "abcd":
        other_seed.add(name, name)
    with pytest.raises(besom.IncompatibleError):
        short.merge(other_seed)
    assert short.names == ("a", "b", "c") and besom.Map.from_bytes(short.to_bytes()).names == ("a", "b", "c")


def test_rekeying_keeps_every_pair():
    m = besom.Map(3000, 1 / 4, seed=SEED)
    keys, values = [f"key{i % 900}" for i in range(1000)], [i % 60 for i in range(1000)]
    m.add_many(keys, values)
    wrong = [key for key in range(500) if key in m]
    for key in wrong:
        for value in m.candidates(key):
            m.report(key, value)
    assert wrong and not any(key in m for key in wrong)
    m.rekey(keys, values)
    assert len(m) == 1000 and any(key in m for key in range(500))
    assert all(value in m[key] for key, value in zip(keys, values))
    before = m.to_bytes()
    for arguments, error in (((keys, values[1:]), ValueError), ((keys, ["x"] * 1000), TypeError),
                             ((keys, [1 << 16] * 1000), besom.InvalidError),
                             ((range(10**5), [0] * 10**5), besom.FullError),
                             ((keys, values, b"short"), ValueError)):
        with pytest.raises(error):
            m.rekey(*arguments)
    assert m.to_bytes() == before
    m.rekey(keys, values, SEED)
    m.rekey([], [])
    assert len(m) == 0
    named = besom.Map(100, names=True)
    named.add("ann", "shard-3")
    named.rekey(["ann"], ["shard-3"])
    assert named["ann"] == {"shard-3"}
    with pytest.raises(KeyError):
        named.rekey(["ann"], ["unknown"])

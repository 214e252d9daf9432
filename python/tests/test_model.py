"""Filters against Counter and set, guards against dict: random programs of hypothesis."""

import collections
import pickle

import besom
import pytest
from conftest import SEED
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

KEYS = st.integers(0, 60).map(lambda i: (f"key {i}", i, f"key {i}".encode() * 3)[i % 3])


class CounterModel(RuleBasedStateMachine):
    """A removable aqf against Counter: no false negatives; counts are upper bounds; a report holds
    until a key with the same fingerprint is added."""

    @initialize(fpr=st.sampled_from([0.3, 0.01]))
    def create(self, fpr):
        self.f = besom.Filter(capacity=300, max_capacity=5000, fpr=fpr, reserve=0.5, removable=True)
        self.model = collections.Counter()
        self.reported = set()

    @rule(key=KEYS)
    def add(self, key):
        self.f.add(key)
        self.model[key] += 1
        self.reported.clear()

    @rule(key=KEYS, count=st.integers(1, 5))
    def add_count(self, key, count):
        self.f.add(key, count)
        self.model[key] += count
        self.reported.clear()

    @rule(keys=st.lists(KEYS, max_size=20))
    def add_many(self, keys):
        self.f.add_many(keys)
        self.model.update(keys)
        self.reported.clear()

    @rule(key=KEYS)
    def remove(self, key):
        if not self.model[key]:
            return
        if self.model[key] % 2:
            self.f.remove(key)
        else:
            self.f.discard(key)
        self.model[key] -= 1

    @rule(key=KEYS)
    def report(self, key):
        if not self.model[key]:
            self.f.report(key)
            self.reported.add(key)

    @rule()
    def grow(self):
        if self.f.stats().slots < 5000:
            self.f.grow()

    @rule()
    def rekey(self):
        self.f.rekey(list(self.model.elements()), no=list(self.reported), seed=SEED)

    @rule(how=st.integers(0, 2))
    def copy(self, how):
        self.f = (self.f.copy, lambda: pickle.loads(pickle.dumps(self.f)),
                  lambda: self.f | self.f.empty())[how]()

    @rule(keys=st.lists(KEYS, max_size=10))
    def merge(self, keys):
        other = self.f.empty()
        other.add_many(keys)
        self.f |= other
        self.model.update(keys)
        self.reported.clear()

    @invariant()
    def agrees(self):
        if not hasattr(self, "f"):
            return
        members = [key for key, n in self.model.items() if n]
        assert self.f.contains_many(members).all()
        assert len(self.f) == sum(self.model.values())
        assert all(self.f.count(key) >= self.model[key] for key in members)
        assert not any(key in self.f for key in self.reported)

    def teardown(self):
        if hasattr(self, "f"):
            self.f.validate()


class SetModel(RuleBasedStateMachine):
    """Sets of several kinds, most of them with narrow fingerprints, against set.

    Many keys are false positives when they are added, and then have no fingerprint of their own.
    None of them is ever denied: not after reports of other keys, growing, merging or rekeying.
    """

    @initialize(kind=st.sampled_from(["aqf", "qf", "cf", "vacuum", "scaling", "aqf scaling", "cached"]),
                fpr=st.sampled_from([0.3, 0.01]))
    def create(self, kind, fpr):
        config = {"reserve": 0.5} if kind == "aqf" else {}
        if kind == "aqf scaling":
            config = {"options": "base=aqf"}
        self.f = besom.Filter(kind.split()[-1], 400, fpr, **config)
        self.model, self.reported = set(), set()

    def can(self, ability):
        return ability in self.f.abilities

    @rule(key=KEYS)
    def add(self, key):
        known, before = key in self.f, len(self.f)
        self.f.add(key)
        assert len(self.f) == before + (not known)
        self.model.add(key)
        self.reported.clear()

    @rule(keys=st.lists(KEYS, max_size=20), arrays=st.booleans())
    def add_many(self, keys, arrays):
        self.f.update(keys, [k for k in keys if isinstance(k, int)] if arrays else [])
        self.model.update(keys)
        self.reported.clear()

    @rule(key=KEYS)
    def report(self, key):
        if key not in self.model and self.can("report"):
            self.f.report(key)
            self.reported.add(key)

    @rule(key=KEYS)
    def remove(self, key):
        for call in (self.f.remove, self.f.discard, self.f.count, lambda key: self.f.add(key, 2)):
            with pytest.raises(besom.UnsupportedError, match="removable=True"):
                call(key)

    @rule()
    def grow(self):
        stats = self.f.stats()
        if self.can("resize") and stats.slots < 5000 and stats.width > 3:
            self.f.grow()

    @rule()
    def rekey(self):
        if self.can("rekey"):
            self.f.rekey(list(self.model) * 2, seed=SEED)
            self.reported.clear()

    @rule(how=st.integers(0, 2))
    def copy(self, how):
        if how == 2 and not self.can("merge"):
            return
        before = len(self.f)
        self.f = (self.f.copy, lambda: pickle.loads(pickle.dumps(self.f)),
                  lambda: self.f | self.f)[how]()
        assert len(self.f) == before

    @rule(keys=st.lists(KEYS, max_size=10))
    def merge(self, keys):
        if not self.can("merge"):
            return
        other = self.f.empty()
        other.update(keys)
        self.f |= other
        self.model.update(keys)
        self.reported.clear()

    @rule()
    def clear(self):
        self.f.clear()
        self.model.clear()
        self.reported.clear()

    @invariant()
    def agrees(self):
        if not hasattr(self, "f"):
            return
        assert self.f.contains_many(list(self.model)).all()
        assert len(self.f) <= len(self.model)
        assert not any(key in self.f for key in self.reported)

    def teardown(self):
        if hasattr(self, "f"):
            self.f.validate()


class BloomModel(RuleBasedStateMachine):
    """bloom against set, saved and mapped at any time."""

    def __init__(self):
        super().__init__()
        self.f, self.model = besom.Filter("bloom", 1000, 1e-6), set()

    @rule(key=KEYS)
    def add(self, key):
        self.f.add(key)
        self.model.add(key)

    @rule(keys=st.lists(KEYS, max_size=20))
    def union(self, keys):
        other = self.f.empty()
        other.add_many(set(keys))
        self.f = self.f | other
        self.model |= set(keys)

    @rule()
    def reload(self):
        self.f = besom.Filter.from_bytes(self.f.to_bytes())

    @rule(key=KEYS)
    def query(self, key):
        assert (key in self.f) == (key in self.model)  # at this rate, with this seed


def canonical(key):
    if isinstance(key, int):
        return key.to_bytes(8, "little")
    return key.encode() if isinstance(key, str) else key


class GuardModel(RuleBasedStateMachine):
    """A guard against dict: answers are exact."""

    @initialize(layout=st.sampled_from(["merged", "split"]))
    def create(self, layout):
        self.guard = besom.Guard(store="memory", capacity=20, fpr=0.3, layout=layout)
        self.model = {}

    @rule(key=KEYS, value=st.binary(max_size=20))
    def put(self, key, value):
        self.guard[key] = value
        self.model[canonical(key)] = value

    @rule(key=KEYS)
    def delete(self, key):
        found = self.guard.pop(key, None)
        assert found == self.model.pop(canonical(key), None)

    @rule(items=st.dictionaries(KEYS, st.binary(max_size=9), max_size=10), fails=st.booleans())
    def batch(self, items, fails):
        try:
            with self.guard.batch():
                for key, value in items.items():
                    self.guard[key] = value
                if fails:
                    raise InterruptedError
        except InterruptedError:
            return
        self.model.update((canonical(key), value) for key, value in items.items())

    @rule()
    def migrate(self):
        if not self.guard.stats().migrating:
            self.guard.rekey()
        while not self.guard.step(5):
            pass

    @rule(key=KEYS)
    def query(self, key):
        assert self.guard.get(key) == self.model.get(canonical(key))
        assert (key in self.guard) == (canonical(key) in self.model)

    @invariant()
    def agrees(self):
        if hasattr(self, "guard"):
            assert dict(self.guard.items()) == self.model and len(self.guard) == len(self.model)

    def teardown(self):
        if hasattr(self, "guard"):
            self.guard.close()


TestCounterModel = CounterModel.TestCase
TestSetModel = SetModel.TestCase
TestBloomModel = BloomModel.TestCase
TestGuardModel = GuardModel.TestCase

"""Filters against Counter and set, guards against dict: random programs of hypothesis."""

import collections
import pickle

import besom
from conftest import SEED
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

KEYS = st.integers(0, 60).map(lambda i: (f"key {i}", i, f"key {i}".encode() * 3)[i % 3])


class FilterModel(RuleBasedStateMachine):
    """aqf against Counter: no false negatives; counts are upper bounds; a report holds until a key
    with the same fingerprint is added."""

    @initialize(fpr=st.sampled_from([0.3, 0.01]))
    def create(self, fpr):
        self.f = besom.Filter(capacity=300, max_capacity=5000, fpr=fpr, reserve=0.5)
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


TestFilterModel = FilterModel.TestCase
TestSetModel = SetModel.TestCase
TestGuardModel = GuardModel.TestCase

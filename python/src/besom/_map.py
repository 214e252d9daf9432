"""Maps: from a key to a small set of values that contains the true ones."""

import collections.abc

from . import _besom
from ._filter import Filter

_NAMES = b"besom map names"


def _note_of(names):
    return "\n".join([_NAMES.decode(), *names, ""]).encode("utf-8", "surrogateescape")


class Map(collections.abc.MutableMapping):
    """A mapping from keys to sets of values, in little more than the bits of a value per pair.

    Map(capacity, fpr, value_bits): m[key] is a set that contains every value that was added with
    the key and, at the rate fpr, a wrong one. A wrong one that is reported does not come back.

    capacity    pairs that it must hold
    fpr         wrong values per key; default 1/256
    value_bits  values are 0 to 2**value_bits - 1; default 16
    names       values are str instead, and the map keeps a table of them
    others      as besom.Filter takes them: hash, seed, max_capacity, reserve, options

    The keys are not stored: a map has no keys(), items() or iteration, and len is the number of
    pairs. Remove only pairs that were added: a pair of another key may look the same.

    >>> m = besom.Map(1000)
    >>> m.add("ann", 3); m.add("ann", 7)
    >>> sorted(m["ann"]), "bob" in m
    ([3, 7], False)
    >>> m.remove("ann", 3)
    >>> m["ann"]
    {7}
    """

    def __init__(self, capacity, fpr=None, *, value_bits=16, names=False, options=None, **config):
        own = "maplet=yes" + ("," + options if options else "")
        config.setdefault("removable", "repeats=ignore" not in own)
        self._start(Filter("aqf", capacity, fpr, value_bits=value_bits, options=own, **config))
        if names:
            self._names = []
            self._keep_names()

    def _start(self, filter):
        self._filter = filter
        self._names = None
        note = filter._note()
        if note.startswith(_NAMES) or note.startswith(b"besom map files"):
            lines = note.decode("utf-8", "surrogateescape").split("\n")[1:-1]
            self._names = [line.split("\t")[0] for line in lines] if b"files" in note[:15] else lines
        self._numbers = {name: i for i, name in enumerate(self._names or [])}
        return self

    def _keep_names(self):
        self._filter._set_note(_note_of(self._names))

    def _number(self, value, add=False):
        if self._names is None:
            return value
        if add and value not in self._numbers:
            if not isinstance(value, str) or "\n" in value:
                raise TypeError("a value of this map is a str without line breaks")
            self._numbers[value] = len(self._names)
            self._names.append(value)
            self._keep_names()
        return self._numbers[value]

    def _value(self, number):
        names = self._names
        return number if names is None or number >= len(names) else names[number]

    # ---------------------------------------------------------------- one key

    def candidates(self, key):
        """The values that the key may have: a set, empty for a key that is certainly absent.

        >>> m = besom.Map(1000, names=True)
        >>> m.add("ann", "shard-3")
        >>> m.candidates("ann"), m.candidates("bob")
        ({'shard-3'}, set())
        """
        return {self._value(number) for number in self._filter._values(key)}

    def add(self, key, value):
        """Add a pair. A pair that is added twice must be removed twice. FullError: no room."""
        self._filter._insert_value(key, self._number(value, add=True))

    def remove(self, key, value):
        """Remove a pair that was added. KeyError if it is certainly absent."""
        self._filter._remove_value(key, self._number(value))

    def replace(self, key, old, new):
        """Remove one pair and add another one: both, or neither."""
        self._filter._replace_value(key, self._number(old), self._number(new, add=True))

    def report(self, key, value):
        """Report a wrong candidate: it does not come back until the pair is added.

        >>> m = besom.Map(1000, 0.1, seed=bytes(16))
        >>> m.add_many(range(1000), [i % 50 for i in range(1000)])
        >>> wrong = next(k for k in range(1000, 2000) if k in m)
        >>> for value in m.candidates(wrong): m.report(wrong, value)
        >>> m.candidates(wrong)
        set()
        """
        self._filter._adapt_value(key, self._number(value))

    def __getitem__(self, key):
        values = self.candidates(key)
        if not values:
            raise KeyError(key)
        return values

    def __setitem__(self, key, values):
        """Add the values that the key does not have yet. Others are not removed: see remove."""
        wanted = set(values)
        has = self.candidates(key)
        if not has <= wanted:
            raise _besom.AmbiguousError(
                "a candidate that is not among the values may be another key's: use remove or replace"
            )
        for value in wanted - has:
            self.add(key, value)

    def __delitem__(self, key):
        """Remove the only value of a key. AmbiguousError if there are several candidates."""
        self._filter.remove(key)

    def __contains__(self, key):
        return key in self._filter

    def __len__(self):
        return len(self._filter)

    def __iter__(self):
        raise TypeError("a besom.Map does not store its keys")

    # ---------------------------------------------------------------- many keys

    def add_many(self, keys, values):
        """Add pairs. keys: as for Filter.contains_many; values: integers, or names.

        If one does not fit, the attribute `done` of the exception is the number of pairs added.

        >>> m = besom.Map(1000)
        >>> m.add_many(["ann", "bob"], [3, 7])
        >>> m["bob"]
        {7}
        """
        if self._names is not None:
            values = [self._number(value, add=True) for value in values]
        self._filter._insert_values(keys, values)

    def candidates_many(self, keys):
        """Two arrays of integers (NumPy's, or else memoryviews): starts, and values.

        The values of key i are values[starts[i]:starts[i + 1]]; of a map with names they are
        numbers of m.names.

        >>> m = besom.Map(1000, seed=bytes(16))
        >>> m.add_many(["ann", "bob"], [3, 7])
        >>> starts, values = m.candidates_many(["bob", "eve", "ann"])
        >>> list(starts), list(values)
        ([0, 1, 1, 2], [7, 3])
        """
        starts, values = self._filter._values_many(keys)
        try:
            import numpy
        except ImportError:
            return memoryview(starts).cast("Q"), memoryview(values).cast("Q")
        return numpy.frombuffer(starts, "u8"), numpy.frombuffer(values, "u8")

    # ---------------------------------------------------------------- whole maps

    @property
    def names(self):
        """The names of the values 0, 1, 2 and so on; None if values are numbers."""
        return None if self._names is None else tuple(self._names)

    def stats(self):
        """The statistics of the filter: see besom.Filter.stats. Keys are pairs."""
        return self._filter.stats()

    def grow(self):
        """Double the number of pairs that fit. No answer changes."""
        self._filter.grow()

    def merge(self, other):
        """Add all pairs of another map, which must have the same seed, hash and value_bits.

        Names must have the same numbers: one map's table is the beginning of the other's.
        IncompatibleError, else; FullError: no room, grow() the map first. Then it is unchanged.
        Reports of either map are kept if they hold for both.

        >>> monday, tuesday = (besom.Map(1000, seed=bytes(16)) for day in range(2))
        >>> monday.add("ann", 3); tuesday.add("ann", 7)
        >>> monday.merge(tuesday)
        >>> sorted(monday["ann"])
        [3, 7]
        """
        if not isinstance(other, Map):
            raise TypeError(f"a besom.Map is expected, not {type(other).__name__}")
        mine, others = self._filter._note(), other._filter._note()
        if (self._names is None) != (other._names is None):
            raise _besom.IncompatibleError("one of the maps has names, the other one numbers")
        if not (mine.startswith(_NAMES) and others.startswith(_NAMES)):
            self._filter |= other._filter
        elif mine.startswith(others):
            self._filter |= other._filter if mine == others else other._with_note(mine)
        elif others.startswith(mine):
            self._filter._set_note(others)
            try:
                self._filter |= other._filter
            except BaseException:
                self._filter._set_note(mine)
                raise
            self._start(self._filter)
        else:
            raise _besom.IncompatibleError("the maps have different names")

    def _with_note(self, note):
        copy = self._filter.copy()
        copy._set_note(note)
        return copy

    def rekey(self, keys, values, seed=None):
        """Rebuild the map under a new seed, a random one by default. Drops all reports.

        keys and values give every pair as often as it was added: as for add_many. All of them are
        held in memory.

        >>> m = besom.Map(1000)
        >>> m.add("ann", 3)
        >>> m.rekey(["ann"], [3])
        >>> m["ann"]
        {3}
        """
        if self._names is not None:
            values = [self._number(value) for value in values]
        self._filter._rekey_pairs(keys, values, seed)

    def save(self, path):
        """Write the map to a file, which `besom map` reads, too. See besom.Filter.save."""
        self._filter.save(path)

    @classmethod
    def load(cls, path):
        """The map of a saved file, copied into memory."""
        return cls._of(Filter.load(path))

    @classmethod
    def open(cls, path, check="all"):
        """The map of a saved file, mapped: read-only but for reports. See besom.Filter.open."""
        return cls._of(Filter.open(path, check))

    def to_bytes(self):
        """The saved map.

        >>> m = besom.Map(100)
        >>> m.add("ann", 3)
        >>> besom.Map.from_bytes(m.to_bytes())["ann"]
        {3}
        """
        return self._filter.to_bytes()

    @classmethod
    def from_bytes(cls, data):
        """The map of saved bytes. All of them are checked."""
        return cls._of(Filter.from_bytes(data))

    @classmethod
    def _of(cls, filter):
        if "maplet" not in filter.abilities:
            raise _besom.UnsupportedError("a filter without values: make a map by besom.Map")
        return cls.__new__(cls)._start(filter)

    def __reduce__(self):
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self):
        """
        >>> besom.Map(1000)
        <besom.Map: 0 of 1,... pairs, ...>
        """
        stats = self.stats()
        return (
            f"<besom.{type(self).__name__}: {stats.keys:,} of {stats.capacity:,} pairs,"
            f" {stats.bytes:,} bytes>"
        )

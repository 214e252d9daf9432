"""Filters: the part that needs no speed."""

import dataclasses

from . import _besom

_MMAP, _CHECKSUMS, _TRUSTED = 1, 2, 4
_CHECKS = {"all": 0, "checksums": _CHECKSUMS, "header": _TRUSTED}


@dataclasses.dataclass(frozen=True)
class Stats:
    """What a filter tells about itself; `counters` has what only some kinds count."""

    kind: str
    hash: str
    isa: str
    keys: int
    capacity: int
    slots: int
    width: int
    bytes: int
    bits_per_key: float
    load_factor: float
    expected_fpr: float
    fpr_at_capacity: float
    workload_fpr: float
    reserve_used: float
    counters: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of filter, and what it can do in its default form."""

    name: str
    summary: str
    abilities: frozenset


def kinds():
    """The kinds of filters.

    >>> [kind.name for kind in besom.kinds() if "report" in kind.abilities][:2]
    ['aqf', 'yesno']
    """
    return [Kind(*kind) for kind in _besom.kinds()]


class Filter(_besom.FilterBase):
    """A set that answers "no" or "perhaps", in about ten bits per key.

    kind          see besom.kinds() and docs/kinds.md; default "aqf"
    capacity      keys that it must hold
    fpr           target false-positive rate; default 1/256
    bits_per_key  instead of fpr
    max_capacity  grow() keeps the target false-positive rate up to here
    reserve       share of the memory for reports, up to 0.5; default 0.05
    no_capacity   room on the no list (no_add)
    value_bits    bits of a value per key (set_value)
    repeated, copies
                  the share of the keys that is added more than once, and how often
    options       of the kind: "name=value,name=value"
    hash, seed    "xxh3" or "sip"; 16 bytes. Filters with the same seed can be merged
    slots, width  instead of capacity and fpr

    >>> f = besom.Filter("aqf", capacity=1000, fpr=0.01)
    >>> f.add("apple")
    >>> "apple" in f, "pear" in f, len(f)
    (True, False, 1)
    """

    __slots__ = ()

    def stats(self):
        """The statistics of the filter, as a dataclass.

        >>> f = besom.Filter(capacity=1000, fpr=0.01)
        >>> f.stats().kind, f.stats().keys, f.stats().capacity >= 1000
        ('aqf', 0, True)
        """
        return Stats(**self._stats())

    def layers(self):
        """The statistics of the layers of a layered kind.

        >>> [layer.kind for layer in besom.Filter("scaling", capacity=1000).layers()]
        ['qf']
        """
        return [Stats(**layer) for layer in self._layers()]

    def grow(self):
        """Double the number of slots. No answer changes. See resize.

        >>> f = besom.Filter(capacity=1000, max_capacity=4000)
        >>> f.grow()
        >>> f.stats().capacity >= 2000
        True
        """
        self.resize(2 * self.stats().slots)

    def rekey(self, yes, no=(), seed=None):
        """Rebuild the filter under a new seed. Empties the reserve.

        yes gives all members, no absent keys that are reported. All keys are held in memory.

        >>> f = besom.Filter(capacity=1000)
        >>> f.add("apple")
        >>> f.rekey(["apple"], no=["pear"])
        >>> "apple" in f, "pear" in f
        (True, False)
        """
        self._rekey(yes, no, seed)

    def copy(self):
        """A filter with the same keys and reports, in memory.

        >>> f = besom.Filter(capacity=1000)
        >>> f.add("apple")
        >>> "apple" in f.copy()
        True
        """
        return type(self).from_bytes(self.to_bytes())

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        return type(self).from_bytes, (self.to_bytes(),)

    def __or__(self, other):
        if not isinstance(other, Filter):
            return NotImplemented
        return self._merge(other)

    def __repr__(self):
        stats = self._stats()
        return (
            f"<besom.{type(self).__name__} {stats['kind']}: {stats['keys']} of"
            f" {stats['capacity']} keys, fpr {stats['fpr_at_capacity']:.3g}, {stats['bytes']} bytes>"
        )

    def empty(self):
        """An empty filter of the same kind, geometry, hash and seed: the two can be merged.

        >>> f = besom.Filter(capacity=1000)
        >>> g = f.empty()
        >>> f.add("apple"); g.add("pear")
        >>> f |= g
        >>> f.contains_many(["apple", "pear"]).tolist()
        [True, True]
        """
        return self._like()

    def save(self, path):
        """Write the filter to a file. A failure or a crash leaves the old file or the new one.

        >>> import tempfile
        >>> directory = tempfile.TemporaryDirectory()
        >>> f = besom.Filter(capacity=1000)
        >>> f.add("apple")
        >>> f.save(directory.name + "/fruit.besom")
        >>> "apple" in besom.Filter.load(directory.name + "/fruit.besom")
        True
        """
        self._save(path)

    @classmethod
    def load(cls, path):
        """The filter of a saved file, copied into memory. All of it is checked. See save."""
        return cls._open(path, 0)

    @classmethod
    def open(cls, path, check="all"):
        """The filter of a saved file, mapped: read-only, and processes share its pages.

        check: "all" (hostile bytes are a CorruptError), "checksums" (finds accidents) or "header"
        (opening reads nothing else). The file may be replaced, as save does, but nobody may
        truncate it while it is mapped: as with mmap, the system would end the process.

        >>> import tempfile
        >>> directory = tempfile.TemporaryDirectory()
        >>> besom.build(["apple"]).save(directory.name + "/fruit.besom")
        >>> f = besom.Filter.open(directory.name + "/fruit.besom", check="header")
        >>> "apple" in f
        True
        >>> f.add("pear")
        Traceback (most recent call last):
            ...
        besom.ReadOnlyError: the filter or store is read-only: use Filter.load(path), ...
        """
        if check not in _CHECKS:
            raise ValueError(f"check is one of {', '.join(_CHECKS)}, not {check!r}")
        return cls._open(path, _MMAP | _CHECKS[check])

    def patch(self, data):
        """The newer filter that diff was given. This one must be the older one, bit for bit.

        >>> old = besom.build(range(1000), capacity=1100)
        >>> new = besom.build(range(1010), like=old)
        >>> old.patch(old.diff(new)).to_bytes() == new.to_bytes()
        True
        """
        return self._patch(data)


def build(yes, kind="aqf", *, no=None, like=None, progress=None, cls=Filter, **config):
    """Make a filter of all keys of an iterable or an array.

    yes        the members: an iterable of keys, or an array as for Filter.contains_many. If neither
               its length nor capacity is given, an iterator is copied to a tuple first
    no         keys that must be answered no: exact on both lists (kinds with the ability
               "build_no"). Kinds with "build_sample" take it as a sample of queries; a dict gives
               their weights
    like       a filter whose kind, geometry, hash and seed are used: for diff
    progress   called as progress(done, total); total may be 0. If it returns False, the build ends
               with CancelledError. KeyboardInterrupt ends it, too; nothing is left behind
    threads    that sort keys; default 1
    distinct   insert a repeated key once
    others     as Filter takes them; capacity is the number of keys by default

    >>> f = besom.build(["evil.example", "worse.example"], no=["good.example"])
    >>> [name in f for name in ("evil.example", "good.example")]
    [True, False]
    """
    return _besom.build(cls, yes, no, like, progress, {"kind": kind, **config})

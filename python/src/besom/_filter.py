"""Filters: the part that needs no speed."""

import dataclasses

from . import _besom

_NO_LIMIT = 2**44  # the capacity of scaling
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

    Filter(capacity, fpr), or Filter(kind, capacity, fpr), or all by name:

    kind          see besom.kinds() and docs/kinds.md; default "aqf"
    capacity      keys that it must hold
    fpr           target false-positive rate; default 1/256
    removable     keep every copy of a key, for remove, discard and count; see below
    bits_per_key  instead of fpr
    max_capacity  grow() keeps the target false-positive rate up to here
    reserve       share of the memory for reports, up to 0.5; default 0.05
    no_capacity   room on the no list (no_add)
    value_bits    bits of a value per key (set_value)
    repeated, copies
                  the share of the keys that is added more than once, and how often
    options       of the kind: "name=value,name=value"
    hash, seed    "xxh3" or "sip"; 16 bytes. Filters with the same arguments and seed can be merged
    slots, width  instead of capacity and fpr

    By default a filter is a set: add inserts only what is answered no, and a repeated key takes no
    room. A key that was a false positive when it was added is represented by the fingerprint of
    another key. To remove that key would deny this one, so a set has no remove. With removable=True
    the filter is a multiset: every add takes room and counts, and every copy can be removed. Kinds
    whose reports change fingerprints (exaf, broom, taf, utaf, yesno-dynamic) are multisets only.

    >>> f = besom.Filter(1000, 0.01)
    >>> f.add("apple"); f.add("apple")
    >>> "apple" in f, "pear" in f, len(f)
    (True, False, 1)
    >>> f.remove("apple")
    Traceback (most recent call last):
        ...
    besom.UnsupportedError: this filter is a set, which cannot remove keys: ... removable=True
    """

    __slots__ = ()

    @property
    def kind(self):
        """The name of its kind, as in besom.kinds()."""
        return self._stats()["kind"]

    @property
    def capacity(self):
        """The keys that it can hold: the next one may be a FullError."""
        return self._stats()["capacity"]

    @property
    def fpr(self):
        """The false-positive rate of the full filter: at most what was asked for."""
        return self._stats()["fpr_at_capacity"]

    @property
    def bits_per_key(self):
        """Its memory in bits, divided by its keys; by its capacity while it is empty.

        >>> f = besom.Filter(1_000_000, 0.01)
        >>> f.kind, f.capacity >= 1_000_000, f.fpr <= 0.01, f.bits_per_key < 12
        ('aqf', True, True, True)
        """
        stats = self._stats()
        return stats["bits_per_key"] or 8 * stats["bytes"] / stats["capacity"]

    @property
    def removable(self):
        """Whether keys can be removed: see Filter. False if it is mapped from a file."""
        return "remove" in self.abilities

    def update(self, *others):
        """Add the keys of iterables or arrays, as for add_many.

        >>> f = besom.Filter(1000)
        >>> f.update(["apple", "pear"], range(10))
        >>> len(f)
        12
        """
        for keys in others:
            if isinstance(keys, Filter):
                self |= keys
            else:
                self.add_many(keys)

    def union(self, *others):
        """A filter with the keys of this one and of the others: filters, iterables or arrays.

        Filters must have the same kind, geometry and seed: make them by empty(), or with one seed.

        >>> f = besom.Filter(1000)
        >>> g = f.empty()
        >>> f.add("apple"); g.add("pear")
        >>> both = f.union(g, ["plum"])
        >>> len(f), len(both)
        (1, 3)
        """
        result = self.copy()
        result.update(*others)
        return result

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
        """
        >>> f = besom.Filter(1000, 0.01)
        >>> f.update(range(500))
        >>> f
        <besom.Filter aqf: ... of ... keys (... %), fpr 0.00... now, 0.00... full, 1... KB>
        """
        stats = self._stats()
        return (
            f"<besom.{type(self).__name__} {stats['kind']}{', removable' if self.removable else ''}:"
            f" {_fill(stats)}, fpr {stats['expected_fpr']:.2g} now,"
            f" {stats['fpr_at_capacity']:.2g} full, {_size(stats['bytes'])}>"
        )

    def plot(self, ax=None):
        """Draw how full the filter is, and its false-positive rate. Needs matplotlib.

        ax: the axes of matplotlib to draw on; default new ones. Returns the axes.
        """
        from ._face import plot

        return plot(self, ax)

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
        besom.ReadOnlyError: the filter or store is read-only (key 'pear'): use Filter.load(path), ...
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


def _fill(stats):
    """How many keys there are, of how many that fit; scaling has no limit."""
    if stats["capacity"] >= _NO_LIMIT:
        return f"{stats['keys']:,} keys"
    share = 100 * stats["keys"] / max(1, stats["capacity"])
    return f"{stats['keys']:,} of {stats['capacity']:,} keys ({share:.0f} %)"


def _size(count):
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.3g} {unit}"
        count /= 1000


def build(yes, kind="aqf", *, no=None, like=None, progress=None, cls=Filter, **config):
    """Make a filter of all keys of an iterable or an array.

    yes        the members: an iterable of keys, or an array as for Filter.contains_many. If neither
               its length nor capacity is given, an iterator is copied to a tuple first
    no         keys that must be answered no: exact on both lists (kinds with the ability
               "build_no"). Kinds with "build_sample" take it as a sample of queries; a dict gives
               their weights
    like       a filter whose kind, geometry, hash and seed are used: for diff
    progress   called as progress(done, total); total may be 0. If it returns False, the build ends
               with CancelledError. KeyboardInterrupt ends it, too; nothing is left behind. True: a
               progress bar, if tqdm is installed
    threads    that sort keys; default 1
    distinct   with removable=True: insert a repeated key once. A set does that anyway
    others     as Filter takes them; capacity is the number of keys by default

    >>> f = besom.build(["evil.example", "worse.example"], no=["good.example"])
    >>> [name in f for name in ("evil.example", "good.example")]
    [True, False]
    >>> len(besom.build(["a", "a"]))
    1
    """
    arguments = cls, yes, no, like
    if progress is not True:
        return _besom.build(*arguments, progress, {"kind": kind, **config})
    from ._face import progress_bar

    with progress_bar() as tick:
        return _besom.build(*arguments, tick, {"kind": kind, **config})

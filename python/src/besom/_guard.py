"""Guards over databases: the part that needs no speed."""

import collections.abc
import contextlib
import dataclasses
import importlib
import os

from . import _besom

_ADAPT = {"always": 0, "second": 1, "never": 2}
_LAYOUT = {"merged": 0, "split": 1}
_DURABILITY = {"put": 0, "batch": 1, "sync": 2}
_PACKAGES = {"lmdb": "liblmdb0", "rocksdb": "librocksdb", "redis": "libhiredis"}


@dataclasses.dataclass(frozen=True)
class GuardStats:
    """What a guard has done since it was opened; see besom_guard.h."""

    queries: int
    filter_negatives: int
    store_reads: int
    true_positives: int
    false_positives: int
    repeated_false_positives: int
    adapted: int
    adapt_full: int
    puts: int
    replaced: int
    deletes: int
    put_reads: int
    delete_reads: int
    moved: int
    filter_reads: int
    queued: int
    queue_drops: int
    rekeys: int
    growths: int
    steps: int
    step_items: int
    largest_step: int
    failed_steps: int
    rebuilt: int
    keys: int
    filter_bytes: int
    store_bytes: int
    no_keys: int
    growths_refused: int
    rekeys_refused: int
    full_puts: int
    unwritten: int
    migrating: bool
    migration_pending: bool
    reserve_used: float
    observed_fpr: float
    window_fpr: float
    current_fpr: float


@dataclasses.dataclass(frozen=True)
class Offender:
    """A key that was often a false positive: its first 32 bytes; count - error to count times."""

    key: bytes
    count: int
    error: int


def _choice(name, value, choices):
    if value not in choices:
        raise ValueError(f"{name} is one of {', '.join(choices)}, not {value!r}")
    return choices[value]


def _open_store(path, store, options):
    if store == "memory":
        if path is not None or options:
            raise ValueError("a store in memory has no path and no options")
        return _besom.memory_store()
    _choice("store", store, {"memory": 0, **_PACKAGES})
    if path is None:
        raise ValueError(f"store {store!r} needs a path")
    try:
        module = importlib.import_module(f"besom._store_{store}")
    except ImportError as error:
        raise ImportError(
            f"besom was built without {store}, or its library is missing"
            f" (Debian: {_PACKAGES[store]}): {error}"
        ) from error
    result = module.open(*_store_arguments(path, store, dict(options or {})))
    if isinstance(result, tuple):
        status, errno, reason = result
        _besom.raise_status(status, errno, str(path) if errno else reason)
    return result


def _store_arguments(path, store, options):
    if store == "lmdb":
        arguments = path, options.pop("map_size", 0), options.pop("read_ahead", False)
    elif store == "rocksdb":
        arguments = path, options.pop("cache_bytes", 0), options.pop("direct_reads", False)
    else:
        arguments = (
            os.fspath(path),
            options.pop("prefix", "besom:"),
            options.pop("timeout_ms", 0),
            options.pop("password", None),
        )
    if options:
        raise ValueError(f"store {store!r} has no option {next(iter(options))!r}")
    return arguments


class Batch:
    """Changes that are kept all or none. See Guard.batch."""

    def __init__(self, guard):
        self._guard = guard

    def __enter__(self):
        self._guard._begin()
        return self._guard

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self._guard._commit()
        elif not self._guard.closed:
            self._guard._abort()


class Guard(_besom.GuardBase, collections.abc.MutableMapping):
    """A database behind an adaptive filter: a mapping from keys to bytes, with exact answers.

    path        the directory of the database; for redis "host:port" or a socket
    store       "lmdb", "rocksdb", "redis" or "memory"
    kind, capacity, fpr, ...
                the filter, as for besom.Filter. The guard enlarges it when needed
    layout      "merged", or "split" for scans in key order
    durability  "put": every change survives a power cut; "batch": every batch; "sync": changes are
                gathered, and written by sync or some thousand at a time
    adapt       to a false positive: "always", at the "second" one of a key, "never"
    max_filter_bytes
                limit of the memory of the filter; FullError if it would have to be exceeded
    grow_at, rekey_at, step_items, step_ns
                as in besom_guard.h
    store_options
                lmdb: map_size, read_ahead; rocksdb: cache_bytes, direct_reads; redis: prefix,
                timeout_ms, password
    progress    called while all keys are read, after a crash

    Keys are as those of a filter, and come back as bytes. Values are str, bytes or buffers, and
    come back as bytes. Threads may share a guard: gets run beside each other and beside one change.

    >>> with besom.Guard(store="memory", capacity=1000) as users:
    ...     users["ann"] = "Ann, Bonn"
    ...     users["ann"], users.get("bob"), len(users)
    (b'Ann, Bonn', None, 1)
    """

    __slots__ = ()

    def __new__(
        cls,
        path=None,
        store="lmdb",
        *,
        kind="aqf",
        capacity=100_000,
        layout="merged",
        durability="put",
        adapt="always",
        step_items=0,
        step_ns=0,
        max_filter_bytes=0,
        grow_at=0.0,
        rekey_at=0.0,
        store_options=None,
        progress=None,
        **filter,
    ):
        arguments = (
            _choice("adapt", adapt, _ADAPT),
            _choice("layout", layout, _LAYOUT),
            _choice("durability", durability, _DURABILITY),
        )
        if "slots" not in filter:
            filter["capacity"] = capacity
        capsule = _open_store(path, store, store_options)
        return super().__new__(
            cls, capsule, *arguments, step_items, step_ns, max_filter_bytes, grow_at, rekey_at,
            progress,
            {"kind": kind, **filter},
        )

    @staticmethod
    def wrap(lookup, keys=None, *, filter=None, absent=..., **config):
        """Any lookup behind an adaptive filter. See LookupGuard for the arguments.

        >>> calls = []
        >>> def slow(name):
        ...     calls.append(name)
        ...     return {"ann": 7}[name]
        >>> phone = besom.Guard.wrap(slow, keys=["ann"])
        >>> phone["ann"], phone.get("bob"), calls
        (7, None, ['ann'])
        """
        from ._wrap import LookupGuard

        return LookupGuard(lookup, keys, filter=filter, absent=absent, **config)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self.close()

    def __iter__(self):
        return iter(self._scan(None, None, False))

    def items(self, start=None, stop=None):
        """All keys and values, as they are now: a list. start and stop need layout "split".

        >>> with besom.Guard(store="memory", layout="split") as g:
        ...     g.update(a="1", b="2", c="3")
        ...     g.items("b")
        [(b'b', b'2'), (b'c', b'3')]
        """
        return self._scan(start, stop, True)

    def keys(self, start=None, stop=None):
        """All keys, as they are now: a list. start and stop need layout "split"."""
        return self._scan(start, stop, False)

    def values(self):
        """All values, as they are now: a list."""
        return [value for _, value in self.items()]

    def batch(self):
        """A context manager: the changes inside are kept all or none.

        Changes by other threads wait until it ends. An exception undoes it.

        >>> with besom.Guard(store="memory") as g:
        ...     with g.batch():
        ...         g["a"] = "1"
        ...         g["b"] = "2"
        ...     len(g)
        2
        """
        return Batch(self)

    def _own_batch(self):
        return contextlib.nullcontext() if self.in_batch else self.batch()

    def update(self, *args, **kwargs):
        """Store all items of a mapping or of pairs: in a batch, all or none."""
        items = dict(*args, **kwargs)
        with self._own_batch():
            for key, value in items.items():
                self[key] = value

    def clear(self):
        """Delete all keys: in a batch, all or none."""
        with self._own_batch():
            for key in self:
                del self[key]

    def stats(self):
        """The statistics of the guard, as a dataclass.

        >>> with besom.Guard(store="memory") as g:
        ...     "a" in g, g.stats().queries, g.stats().store_reads
        (False, 1, 0)
        """
        return GuardStats(**self._stats())

    def offenders(self):
        """The keys that were most often false positives, up to 16."""
        return [Offender(*offender) for offender in self._offenders()]

    def __repr__(self):
        if self.closed:
            return "<besom.Guard, closed>"
        return f"<besom.Guard: {len(self)} keys>"

    def __reduce__(self):
        raise TypeError("a besom.Guard cannot be pickled: open it again")

"""Any lookup behind an adaptive filter."""

import collections.abc
import dataclasses
import operator
import threading

from ._besom import Error
from ._filter import build

_ABSENT = object()


@dataclasses.dataclass
class LookupStats:
    """What a LookupGuard has done. not_reported: the filter could not adapt to a false positive."""

    queries: int = 0
    filter_negatives: int = 0
    lookups: int = 0
    false_positives: int = 0
    reported: int = 0
    not_reported: int = 0


class _Inside:
    """The calls for one key that are under way; `changed`: one of them changes it."""

    __slots__ = ("calls", "changed")

    def __init__(self):
        self.calls = 0
        self.changed = False


def _canonical(key):
    """Equal for keys that are the same to a filter."""
    if isinstance(key, str):
        return key.encode()
    try:
        return (operator.index(key) % 2**64).to_bytes(8, "little")
    except TypeError:
        return bytes(key)


class LookupGuard(collections.abc.MutableMapping):
    """A slow lookup (SQL, HTTP, S3 ...) behind an adaptive filter. Guard.wrap makes it.

    lookup  a mapping; or a function of a key, which returns its value, and raises KeyError or
            returns None if the key is absent
    keys    all present keys: an iterable, or a function that returns one. A mapping needs none
    filter  instead of keys: a besom.Filter that holds them
    others  as for besom.build. By default a full reserve forgets old reports (forget=yes)

    A lookup that finds nothing is a false positive and is reported, so that it is not repeated. The
    filter must know every present key. Keys that are stored through the guard are known. After a
    key was stored by other means, call add(key); after one was deleted, discard(key).

    Threads may share a guard, and asyncio programs may use it in executors. Lookups run beside each
    other and beside one change.

    >>> table = {"ann": 7}
    >>> guard = besom.Guard.wrap(table)
    >>> guard["bob"] = 8
    >>> guard["ann"], guard["bob"], guard.get("eve"), table
    (7, 8, None, {'ann': 7, 'bob': 8})
    """

    def __init__(self, lookup, keys=None, *, filter=None, **config):
        self._mapping = lookup if hasattr(lookup, "__getitem__") else None
        if self._mapping is None and not callable(lookup):
            raise TypeError("lookup is a mapping or a function")
        self._lookup = lookup
        self._keys = keys if keys is not None else self._mapping
        if filter is None:
            filter = self._build(config)
        elif config:
            raise TypeError("pass a filter or what to build it of, not both")
        self.filter = filter
        self._lock = threading.Lock()
        self._changes = threading.RLock()
        self._inside = {}
        self._stats = LookupStats()

    def _build(self, config):
        if self._keys is None:
            raise TypeError("pass keys, or a filter that holds them")
        if config.get("kind", "aqf") == "aqf":
            config.setdefault("options", "forget=yes")
        keys = self._all_keys()
        if not isinstance(keys, collections.abc.Sized):
            keys = tuple(keys)
        if "slots" not in config:
            config.setdefault("capacity", max(1000, 2 * len(keys)))  # room for later keys
        return build(keys, **config)

    def _all_keys(self):
        return self._keys() if callable(self._keys) else self._keys

    # ------------------------------------------------------------ queries

    def _enter(self, name, changes):
        with self._lock:
            inside = self._inside.setdefault(name, _Inside())
            inside.calls += 1
            inside.changed |= changes
            return inside

    def _leave(self, name, inside):
        with self._lock:
            inside.calls -= 1
            if not inside.calls:
                del self._inside[name]

    def _find(self, key):
        try:
            if self._mapping is not None:
                return self._mapping[key]
            value = self._lookup(key)
        except KeyError:
            return _ABSENT
        return _ABSENT if value is None else value

    def _ask(self, key):
        """The value of a key, or _ABSENT."""
        is_negative = key not in self.filter
        with self._lock:
            self._stats.queries += 1
            self._stats.filter_negatives += is_negative
            self._stats.lookups += not is_negative
        if is_negative:
            return _ABSENT
        name = _canonical(key)
        inside = self._enter(name, False)
        try:
            value = self._find(key)
            if value is _ABSENT:
                self._report(key, inside)
            return value
        finally:
            self._leave(name, inside)

    def _report(self, key, inside):
        """Not if the key changes meanwhile: it may be present by now."""
        with self._lock:
            self._stats.false_positives += 1
            if inside.changed:
                return
            try:
                self.filter.report(key)
                self._stats.reported += 1
            except Error:
                self._stats.not_reported += 1

    def __getitem__(self, key):
        value = self._ask(key)
        if value is _ABSENT:
            raise KeyError(key)
        return value

    def __call__(self, key):
        """The value of a key, or None: the guard can stand for the function that it guards."""
        value = self._ask(key)
        return None if value is _ABSENT else value

    def __contains__(self, key):
        return self._ask(key) is not _ABSENT

    # ------------------------------------------------------------ changes

    def add(self, key):
        """Tell the filter of a key that was stored by other means.

        >>> table = {}
        >>> guard = besom.Guard.wrap(table.get, keys=[])
        >>> table["ann"] = 7
        >>> guard.add("ann")
        >>> guard["ann"]
        7
        """
        self._change(key, lambda: self.filter.add(key))

    def discard(self, key):
        """Tell the filter of a key that was deleted by other means. It must have been present."""
        self._change(key, lambda: self.filter.discard(key))

    def _change(self, key, change):
        name = _canonical(key)
        with self._changes:
            inside = self._enter(name, True)
            try:
                change()
            finally:
                self._leave(name, inside)

    def _set(self, key, value):
        if key not in self.filter or self._find(key) is _ABSENT:
            self.filter.add(key)
        self._mapping[key] = value

    def _delete(self, key):
        if key not in self.filter:
            raise KeyError(key)
        del self._mapping[key]
        self.filter.discard(key)

    def _needs_mapping(self):
        if self._mapping is None:
            raise TypeError("the guard is over a function: store by its means, then call add(key)")

    def __setitem__(self, key, value):
        self._needs_mapping()
        self._change(key, lambda: self._set(key, value))

    def __delitem__(self, key):
        self._needs_mapping()
        self._change(key, lambda: self._delete(key))

    def __iter__(self):
        return iter(self._all_keys())

    def __len__(self):
        return len(self.filter) if self._mapping is None else len(self._mapping)

    def stats(self):
        """The statistics, as a dataclass."""
        with self._lock:
            return dataclasses.replace(self._stats)

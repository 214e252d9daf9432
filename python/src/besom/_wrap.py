"""Any lookup behind an adaptive filter."""

import collections.abc
import contextlib
import dataclasses
import functools
import inspect
import itertools
import operator
import threading

from ._besom import Error
from ._filter import Filter, build

_ABSENT = object()
_CHUNK = 10_000  # keys of a stream that are held in memory at once
_INVALIDATED = 10_000  # keys of which it is known that they have a copy in the filter

_FALSE = (
    "the lookup returned False for {!r}. If that means absent, pass absent=False, or absent= a"
    " function of the value; if False is a value of its own, pass absent=None"
)
_ASYNC = (
    "the lookup is a coroutine function, whose result cannot be looked at without await:"
    " use besom.AsyncGuard"
)


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


def _is_async(function):
    """Whether calling it gives a coroutine: also of functools.partial and of objects."""
    while isinstance(function, functools.partial):
        function = function.func
    call = getattr(type(function), "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _absent_test(absent):
    """A function of a value and its key: does the value say that the key is absent?"""
    if absent is ...:

        def test(value, key):
            if value is False:
                raise TypeError(_FALSE.format(key))
            return value is None

        return test
    if callable(absent):
        return lambda value, key: bool(absent(value))
    if absent is None:
        return lambda value, key: value is None
    return lambda value, key: value is None or value is absent or _are_equal(value, absent)


def _are_equal(value, absent):
    """Not 0 and False; and an array, whose comparison is an array, is a value."""
    if isinstance(value, bool) != isinstance(absent, bool):
        return False
    return (value == absent) is True


def _is_chunk(item):
    """Whether an element of `keys` is not a key but several: a list, an array, a Series."""
    if isinstance(item, (list, tuple)) or hasattr(item, "to_numpy"):
        return True
    return getattr(item, "ndim", 0) > 0 and hasattr(item, "dtype")


def _in_chunks(keys):
    """The keys in lists or arrays, of which each is dropped before the next one is read."""
    keys = iter(keys)
    for first in keys:
        if _is_chunk(first):
            yield first
        else:
            yield [first, *itertools.islice(keys, _CHUNK)]


def _is_stream(keys):
    """Whether the length is unknown, or the elements are chunks."""
    if not isinstance(keys, collections.abc.Sized):
        return True
    return isinstance(keys, (list, tuple)) and any(map(_is_chunk, keys[:1]))


def _build_of_stream(keys, config):
    """A filter of a stream, without a copy of it; of unknown size if capacity is not given."""
    if "capacity" not in config and "slots" not in config:
        if "kind" in config:
            return _build_of_keys([key for chunk in _in_chunks(keys) for key in chunk], config)
        options = [config.get("options"), "base=aqf"]
        config = {**config, "kind": "scaling", "options": ",".join(filter(None, options))}
        config["capacity"] = _CHUNK
    made = Filter(**config)
    for chunk in _in_chunks(keys):
        made.add_many(chunk)
    return made


def _build_of_keys(keys, config):
    if "slots" not in config:
        config.setdefault("capacity", max(1000, 2 * len(keys)))  # room for later keys
    return build(keys, **config)


class _Lookup:
    """What guards of plain and of coroutine functions share: the filter, and what is under way."""

    def __init__(self, keys, filter, absent, config):
        self._keys = keys
        self._is_absent = _absent_test(absent)
        if filter is None:
            filter = self._build(config)
        elif config:
            raise TypeError("pass a filter or what to build it of, not both")
        elif not isinstance(filter, Filter):
            raise TypeError(f"filter is a besom.Filter, not {type(filter).__name__}")
        self.filter = filter
        self._lock = threading.Lock()
        self._changes = threading.RLock()
        self._inside = {}
        self._invalidated = {}  # in the order of their copies
        self._stats = LookupStats()

    def _build(self, config):
        if self._keys is None:
            raise TypeError("pass keys, or a filter that holds them")
        if config.get("kind", "aqf") == "aqf":
            config.setdefault("options", "forget=yes")
        config.setdefault("removable", True)
        keys = self._all_keys()
        return (_build_of_stream if _is_stream(keys) else _build_of_keys)(keys, config)

    def _all_keys(self):
        return self._keys() if callable(self._keys) else self._keys

    # ------------------------------------------------------------ what is under way

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

    def _may_have(self, key):
        """What the filter says, counted."""
        is_negative = key not in self.filter
        with self._lock:
            self._stats.queries += 1
            self._stats.filter_negatives += is_negative
            self._stats.lookups += not is_negative
        return not is_negative

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

    # ------------------------------------------------------------ changes

    def _change(self, key, change):
        name = _canonical(key)
        with self._changes:
            inside = self._enter(name, True)
            try:
                change()
            finally:
                self._leave(name, inside)

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

    def invalidate(self, key):
        """The key may be present by now: the next query for it calls the lookup.

        For code that creates things and does not know whether the guard knows them. A removable
        filter gets a copy, even if it answers yes: that may be a false positive, and a later discard
        would take out the fingerprint of another key. Doing it again adds nothing. The copy takes
        room: a guard whose known keys are all invalidated needs twice the capacity.

        >>> table = {}
        >>> guard = besom.Guard.wrap(table.get, keys=[])
        >>> guard.get("ann")
        >>> table["ann"] = 7
        >>> guard.invalidate("ann"); guard.invalidate("ann")
        >>> guard["ann"]
        7
        """
        self._change(key, lambda: self._know(key))

    def _know(self, key):
        name, removable = _canonical(key), self.filter.removable
        if key in self.filter and (not removable or name in self._invalidated):
            return
        self.filter.add(key)
        if removable:
            self._invalidated[name] = None
        if len(self._invalidated) > _INVALIDATED:
            del self._invalidated[next(iter(self._invalidated))]

    def discard(self, key):
        """Tell the filter of a key that was deleted by other means. It must have been present.

        A filter that is not removable takes a report instead.
        """
        self._change(key, lambda: self._forget(key))

    def _forget(self, key):
        self._invalidated.pop(_canonical(key), None)
        if self.filter.removable:
            self.filter.discard(key)
        elif key in self.filter:
            with contextlib.suppress(Error):  # no room: the lookup finds nothing, which is right
                self.filter.report(key)

    def stats(self):
        """The statistics, as a dataclass."""
        with self._lock:
            return dataclasses.replace(self._stats)

    def __repr__(self):
        stats = self.stats()
        lookup = getattr(self._lookup, "__qualname__", type(self._lookup).__qualname__)
        return (
            f"<besom.{type(self).__name__} over {lookup}: {stats.queries:,} queries,"
            f" {stats.lookups:,} lookups, {self.filter!r}>"
        )


class LookupGuard(_Lookup, collections.abc.MutableMapping):
    """A slow lookup (SQL, HTTP, S3 ...) behind an adaptive filter. Guard.wrap makes it.

    lookup  a mapping, which raises KeyError for an absent key; or a function of a key, which returns
            its value, and raises KeyError or returns None if the key is absent
    keys    all present keys: an iterable, an array, or a function that returns one. A mapping needs
            none. A stream is read in chunks and not copied: give its capacity, or the filter is
            one that grows (kind scaling). Its elements may be chunks: lists, arrays, Series
    absent  what the function returns for an absent key besides None: a value, or a function of the
            value that tells. None: only None. Not given: None, and False is a TypeError, because it
            would be taken for a value
    filter  instead of keys: a besom.Filter that holds them
    others  as for besom.build. By default the filter is removable, and a full reserve forgets old
            reports (forget=yes)

    A lookup that finds nothing is a false positive and is reported, so that it is not repeated. The
    filter must know every present key. Keys that are stored through the guard are known. After a
    key was stored by other means, call add(key) or invalidate(key); after one was deleted,
    discard(key).

    Threads may share a guard, and asyncio programs may use it in executors. Lookups run beside each
    other and beside one change. For coroutine functions there is besom.AsyncGuard.

    >>> table = {"ann": 7}
    >>> guard = besom.Guard.wrap(table)
    >>> guard["bob"] = 8
    >>> guard["ann"], guard["bob"], guard.get("eve"), table
    (7, 8, None, {'ann': 7, 'bob': 8})
    >>> known = besom.Guard.wrap(lambda name: name in table, keys=table, absent=False)
    >>> known("ann"), known("eve")
    (True, None)
    """

    def __init__(self, lookup, keys=None, *, filter=None, absent=..., **config):
        self._mapping = lookup if hasattr(lookup, "__getitem__") else None
        if self._mapping is None and not callable(lookup):
            raise TypeError("lookup is a mapping or a function")
        if self._mapping is None and _is_async(lookup):
            raise TypeError(_ASYNC)
        self._values_tell = self._mapping is None or absent is not ...
        self._lookup = lookup
        super().__init__(keys if keys is not None else self._mapping, filter, absent, config)

    # ------------------------------------------------------------ queries

    def _find(self, key):
        try:
            value = self._lookup(key) if self._mapping is None else self._mapping[key]
        except KeyError:
            return _ABSENT
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise TypeError(_ASYNC)
        return _ABSENT if self._values_tell and self._is_absent(value, key) else value

    def _ask(self, key):
        """The value of a key, or _ABSENT."""
        if not self._may_have(key):
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

    def _set(self, key, value):
        if key not in self.filter or self._find(key) is _ABSENT:
            self.filter.add(key)
        self._mapping[key] = value

    def _delete(self, key):
        if key not in self.filter:
            raise KeyError(key)
        del self._mapping[key]
        self._forget(key)

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


class AsyncGuard(_Lookup):
    """A slow coroutine function behind an adaptive filter: as LookupGuard, for asyncio.

    `await guard(key)` is the value, or None if the key is absent; `await guard.get(key, default)`
    and `await guard.has(key)` are further forms. add, invalidate and discard are plain calls. Tasks
    of any number of event loops and threads may share the guard. Lookups run beside each other.

    >>> import asyncio
    >>> async def fetch(name):
    ...     return {"ann": 7}.get(name)
    >>> guard = besom.AsyncGuard(fetch, keys=["ann"])
    >>> async def main():
    ...     return await asyncio.gather(guard("ann"), guard("eve"), guard.has("ann"))
    >>> asyncio.run(main())
    [7, None, True]
    """

    def __init__(self, lookup, keys=None, *, filter=None, absent=..., **config):
        if not _is_async(lookup):
            raise TypeError("lookup is not a coroutine function: use besom.Guard.wrap")
        self._lookup = lookup
        super().__init__(keys, filter, absent, config)

    async def _ask(self, key):
        if not self._may_have(key):
            return _ABSENT
        name = _canonical(key)
        inside = self._enter(name, False)
        try:
            try:
                value = await self._lookup(key)
            except KeyError:
                value = _ABSENT
            if value is not _ABSENT and self._is_absent(value, key):
                value = _ABSENT
            if value is _ABSENT:
                self._report(key, inside)
            return value
        finally:
            self._leave(name, inside)

    async def __call__(self, key):
        return await self.get(key)

    async def get(self, key, default=None):
        """The value of a key, or the default."""
        value = await self._ask(key)
        return default if value is _ABSENT else value

    async def has(self, key):
        """Whether the lookup finds the key."""
        return await self._ask(key) is not _ABSENT


def guarded(keys=None, **arguments):
    """A decorator: a guard in front of a lookup function, plain or coroutine.

    The arguments are those of besom.Guard.wrap. The filter is made at the first call; if keys is a
    function, it is called then. The decorated function has the methods add, invalidate, discard and
    stats of its guard, which is its attribute `guard`.

    >>> table = {"ann": 7}
    >>> @besom.guarded(keys=table.keys)
    ... def phone(name):
    ...     return table.get(name)
    >>> phone("ann"), phone("eve")
    (7, None)
    >>> phone.guard.stats().queries
    2
    """
    if callable(keys) and not arguments and not hasattr(keys, "__self__"):
        _refuse_bare(keys)

    def decorate(function):
        if not callable(function):
            raise TypeError(f"a function is decorated, not {type(function).__name__}")
        guard, form = (AsyncGuard, _AsyncGuarded) if _is_async(function) else (LookupGuard, _Guarded)
        return form(lambda: guard(function, keys, **arguments), function)

    return decorate


def _refuse_bare(function):
    """@besom.guarded without parentheses: the function would be taken for the keys."""
    try:
        needed = [
            p
            for p in inspect.signature(function).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return
    if needed:
        raise TypeError("use @besom.guarded(keys=...): the guard must know all present keys")


class _Guarded:
    """The decorated function: makes its guard when it is needed first."""

    def __init__(self, make, function):
        self._make = make
        self._guard = None
        self._lock = threading.Lock()
        functools.update_wrapper(self, function)

    @property
    def guard(self):
        """The LookupGuard or AsyncGuard."""
        with self._lock:
            if self._guard is None:
                self._guard = self._make()
            return self._guard

    def __call__(self, key):
        return self.guard(key)

    def add(self, key):
        self.guard.add(key)

    def invalidate(self, key):
        self.guard.invalidate(key)

    def discard(self, key):
        self.guard.discard(key)

    def stats(self):
        return self.guard.stats()


class _AsyncGuarded(_Guarded):
    async def __call__(self, key):
        return await self.guard(key)

"""Membership filters that adapt to their false positives.

A filter answers "is this key in the set?" from about ten bits per key. A no is always right. A yes
may be wrong, at a rate that you choose. After a report, an adaptive filter answers no to that key:

>>> import besom
>>> f = besom.Filter(capacity=1000, fpr=0.01)
>>> f.add("apple")
>>> "apple" in f
True
>>> f.report("pear")        # not in the database: never a yes again
>>> "pear" in f
False

A guard is a filter in front of a database, with exact answers:

>>> with besom.Guard(store="memory") as users:
...     users["ann"] = "Ann, Bonn"
...     users["ann"], "bob" in users
(b'Ann, Bonn', False)

Keys are str (their UTF-8 bytes), bytes, buffers, and integers of 64 bits. "1", b"1" are the same
key; 1 is another one. The manual is docs/python.md.
"""

from ._besom import (
    AmbiguousError,
    BadOptionError,
    BusyError,
    CancelledError,
    CorruptError,
    DiskFullError,
    Error,
    FullError,
    IncompatibleError,
    InvalidError,
    IsMemberError,
    LockedError,
    NeedsStoreError,
    NewerVersionError,
    NotFoundError,
    ReadOnlyError,
    ReserveFullError,
    UnknownKindError,
    UnsupportedError,
)
from ._besom import version as _version
from ._filter import Filter, Kind, Stats, build, kinds
from ._guard import Batch, Guard, GuardStats, Offender
from ._map import Map
from ._published import Fixes, PublishedSet
from ._wrap import AsyncGuard, LookupGuard, LookupStats, guarded

__version__ = _version()
__all__ = [name for name in dir() if not name.startswith("_")]

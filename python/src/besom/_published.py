"""Copies of published sets, and fixes beside a list: the part that needs no speed."""

import datetime

from . import _besom
from ._filter import _CHECKS


class PublishedSet(_besom.PublishedSetBase):
    """The copy of a published set, which `besom sync` keeps up to date (docs/publish.md).

    directory     the copy, or the directory that `besom publish` writes
    check         "all", "checksums" or "header": see Filter.open

    `key in copy` is False only if the key is certainly not in this version of the set. An object
    stays the version that it was: after a sync, open the directory again. The signatures were
    verified by `besom sync`; `expires` is up to you.
    """

    __slots__ = ()

    def __new__(cls, directory, check="all"):
        if check not in _CHECKS:
            raise ValueError(f"check is one of {', '.join(_CHECKS)}, not {check!r}")
        return super().__new__(cls, directory, _CHECKS[check])

    @property
    def name(self):
        """The name of the set."""
        return self._info()["name"]

    @property
    def kind(self):
        """The kind that was published: "updated", "aqf", ..."""
        return self._info()["kind"]

    @property
    def sequence(self):
        """The number of this version."""
        return self._info()["sequence"]

    @property
    def expires(self):
        """When the publisher stops to vouch for this version: a datetime in UTC."""
        return datetime.datetime.fromtimestamp(self._info()["expires"], datetime.timezone.utc)

    @property
    def bytes(self):
        """The size of all shards."""
        return self._info()["bytes"]

    def __repr__(self):
        return f"<besom.PublishedSet {self.name}, version {self.sequence}: {len(self)} keys>"


class Fixes(_besom.FixesBase):
    """The reports of one client about a list that must keep its bytes (docs/lists.md).

    path   a file that `besom fix LIST --fixes FILE` wrote
    list   the file of the list, or the directory of the published set, that they are for

    fixes.contains(members, key) is `key in members`, but False if the key is fixed; `key in fixes`
    tells whether it is. The file must belong to you or to root, and nobody else may write it:
    otherwise PermissionError. If the list is not the one that the fixes were made for:
    IncompatibleError. Nothing reads such a file unless you name it.
    """

    __slots__ = ()

    def __new__(cls, path, list):
        return super().__new__(cls, path, list)

    @property
    def name(self):
        """The name of the list."""
        return self._info()[0]

    @property
    def version(self):
        """Which version of the list: "sha256=..." of its bytes, or "sequence=..." of a set."""
        return self._info()[1]

    def __repr__(self):
        return f"<besom.Fixes of {self.name}: {len(self)} keys>"

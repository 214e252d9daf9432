"""Drops the rows of a stream whose key was in an earlier row, chunk by chunk."""

from collections.abc import Iterable, Iterator

import besom
import pandas


def deduplicate(
    chunks: Iterable[pandas.DataFrame], column: str, capacity: int, fpr: float = 1e-6
) -> Iterator[pandas.DataFrame]:
    seen = besom.Filter(capacity, fpr)
    for chunk in chunks:
        chunk = chunk.drop_duplicates(column)
        fresh = chunk[~seen.contains_many(chunk[column])]  # a no is certain
        seen.add_many(fresh[column])
        yield fresh

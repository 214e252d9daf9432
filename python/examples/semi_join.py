"""The rows of a large CSV file whose key is in a smaller one, without an index of either."""

from collections.abc import Iterator

import besom
import pandas

CHUNK = 100_000  # rows


def columns(path: str, column: str) -> Iterator[pandas.Series]:
    for chunk in pandas.read_csv(path, usecols=[column], dtype=str, chunksize=CHUNK):
        yield chunk[column].dropna()


def semi_join(large: str, small: str, column: str, capacity: int) -> pandas.DataFrame:
    wanted = besom.Filter(capacity, 0.01)
    for part in columns(small, column):
        wanted.add_many(part)
    chunks = pandas.read_csv(large, dtype=str, chunksize=CHUNK)
    found = pandas.concat(chunk[wanted.contains_many(chunk[column])] for chunk in chunks)
    # Among these rows 1 % of the others are left: compare with the keys themselves.
    candidates = set(found[column])
    keys = {key for part in columns(small, column) for key in part if key in candidates}
    return found[found[column].isin(keys)]

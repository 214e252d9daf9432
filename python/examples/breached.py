"""Is a password in a list of breached ones? By a filter, and by k-anonymity ranges after a yes.

The ranges are those of Have I Been Pwned: the file or the answer for the first 5 hex digits of a
SHA-1 has lines "SUFFIX:COUNT" with the other 35 digits.
"""

import hashlib
import pathlib
from collections.abc import Callable, Iterator

import besom


def sha1(password: str) -> str:
    return hashlib.sha1(password.encode()).hexdigest().upper()


def hashes(ranges: pathlib.Path) -> Iterator[str]:
    for path in ranges.iterdir():
        for line in path.read_text().split():
            yield path.name + line.partition(":")[0]


def build_list(ranges: pathlib.Path, number: int) -> besom.Filter:
    return besom.build(hashes(ranges), capacity=number, fpr=0.001)


def is_breached(password: str, known: besom.Filter, fetch_range: Callable[[str], str]) -> bool:
    digest = sha1(password)
    if digest not in known:
        return False  # certain: nothing is sent
    suffixes = {line.partition(":")[0] for line in fetch_range(digest[:5]).split()}
    return digest[5:] in suffixes

"""The files of tests/vectors answer as in every language."""

import pathlib
import zlib

import pytest

import besom

VECTORS = pathlib.Path(__file__).parents[2] / "tests/vectors"
GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1
QUERIES = 1 << 14


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def key(n):
    """Key number n of vectors.h: an integer, or bytes."""
    r = mix((n + 1) * GOLDEN & MASK)
    if r % 4 == 0:
        return mix(r)
    length = (r >> 8) % 301
    words = (mix(r + k * GOLDEN & MASK) for k in range(1, (length + 7) // 8 + 1))
    return b"".join(word.to_bytes(8, "little") for word in words)[:length]


def query(i):
    s = mix(i ^ 0x76656374)
    return s // 2 % 3000 if s % 2 else 3000 + i


@pytest.fixture(scope="module")
def keys():
    return [key(query(i)) for i in range(QUERIES)]


def lines(name):
    return (VECTORS / name).read_text().splitlines() if VECTORS.exists() else []


@pytest.mark.parametrize("line", lines("expected.txt"), ids=lambda line: line.split()[0])
def test_answers(line, keys):
    name, crc, yes, _, _, _ = line.split()
    f = besom.Filter.open(VECTORS / name)
    answers = [k in f for k in keys]
    bitmap = bytes(sum(bit << i for i, bit in enumerate(answers[at:at + 8])) for at in range(0, QUERIES, 8))
    assert (sum(answers), f"{zlib.crc32(bitmap):08x}") == (int(yes), crc)


@pytest.mark.parametrize("line", lines("maps.txt"), ids=lambda line: line.split()[0])
def test_candidates(line, keys):
    name, crc, candidates, _, _ = line.split()
    starts, values = besom.Map.open(VECTORS / name).candidates_many(keys)
    answers = bytearray()
    for at, end in zip(starts, starts[1:]):
        answers.append(end - at)
        for value in values[at:end]:
            answers += int(value).to_bytes(2, "little")
    assert (len(values), f"{zlib.crc32(answers):08x}") == (int(candidates), crc)

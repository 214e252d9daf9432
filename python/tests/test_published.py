"""Published sets: besom.PublishedSet reads what the command publishes and syncs."""

import datetime
import os
import subprocess

import besom
import pytest

KEY = ("RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAKWmvLE61RyWhfukdaEJldCLgMN+73jfrRxDlwbIuhA"
       "5VEEGHzTKphbX2FHbiJEXLYaDQJpxtJG6ELsf0OwNcfAzgCMKDQNcNAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
PUBLIC = "RWQpaa8sTrVHJbX2FHbiJEXLYaDQJpxtJG6ELsf0OwNcfAzgCMKDQNcN"
COMMAND = os.path.join(os.path.dirname(besom.__file__), "bin", "besom")


def run(*words, **options):
    result = subprocess.run([COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            **options)
    if "built without libsodium" in result.stdout:
        pytest.skip("the command was built without libsodium")
    assert result.returncode == 0, result.stdout


def publish(directory, keys, sequence, *options):
    (directory / "set.key").write_text(f"untrusted comment: key of a test\n{KEY}\n")
    run("publish", directory / "www", "--key", directory / "set.key", "--name", "fruit", "--sequence", sequence, "--now",
        "2026-01-01", "--shards", 4, *options, input="\n".join(keys))
    run("sync", directory / "www", directory / "copy", "--verify", PUBLIC, "--now", "2026-01-02")
    return directory / "copy"


@pytest.mark.parametrize("kind", ["updated", "aqf"])
def test_a_copy_answers_what_was_published(tmp_path, kind):
    keys = [f"key{i}" for i in range(5000)]
    copy = besom.PublishedSet(publish(tmp_path, keys, 7, "--kind", kind))
    assert all(key in copy for key in keys)
    assert copy.contains_many(keys + ["x"])[:5000] == [True] * 5000
    assert (len(copy), copy.name, copy.kind, copy.sequence) == (5000, "fruit", kind, 7)
    assert copy.expires == datetime.datetime(2026, 1, 31, tzinfo=datetime.timezone.utc)
    assert copy.bytes > 5000 and "fruit" in repr(copy)
    absent = [f"absent{i}" for i in range(20000)]
    false = [key for key, yes in zip(absent, copy.contains_many(absent)) if yes]
    assert 20 < len(false) < 300 and all(key in copy for key in false)
    for key in false:
        copy.report(key)
    assert not any(copy.contains_many(false)) and all(copy.contains_many(keys))


def test_a_set_that_is_open_stays_when_a_sync_replaces_it(tmp_path):
    keys = [f"key{i}" for i in range(5000)]
    directory = publish(tmp_path, keys, 1)
    old = besom.PublishedSet(directory, check="header")
    publish(tmp_path, keys[10:] + ["new"], 2)
    assert old.sequence == 1 and all(old.contains_many(keys))
    new = besom.PublishedSet(directory)
    assert new.sequence == 2 and "new" in new and not all(new.contains_many(keys[:10]))


def test_what_is_no_copy_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        besom.PublishedSet(tmp_path)
    (tmp_path / "set.minisig").write_text("nothing")
    with pytest.raises(besom.CorruptError):
        besom.PublishedSet(tmp_path)
    with pytest.raises(ValueError):
        besom.PublishedSet(tmp_path, check="some")

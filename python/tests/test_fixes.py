"""Fixes beside a list: besom.Fixes."""

import hashlib
import os

import besom
import pytest


def false_positive(members):
    return next(key for key in (f"absent-{i}" for i in range(10**6)) if key in members)


@pytest.fixture
def listed(tmp_path):
    members = besom.Filter(1000, 1 / 4)
    members.update(f"member-{i}" for i in range(1000))
    members.save(tmp_path / "list.besom")
    return members, tmp_path / "list.besom"


def write(path, of, keys):
    version = hashlib.sha256(of.read_bytes()).hexdigest()
    lines = "".join(f"2026-01-02\t{key}\n" for key in keys)
    path.write_text(f"besom-fixes-1 sha256={version} name=list\n{lines}")
    path.chmod(0o600)
    return path


def test_a_fixed_key_is_answered_no_and_the_list_stays(listed, tmp_path):
    members, path = listed
    key, before = false_positive(members), path.read_bytes()
    fixes = besom.Fixes(write(tmp_path / "fixes", path, [key]), path)
    assert key in members and not fixes.contains(members, key)
    assert key in fixes and len(fixes) == 1 and fixes.name == "list"
    assert fixes.version == f"sha256={hashlib.sha256(before).hexdigest()}"
    assert all(fixes.contains(members, f"member-{i}") for i in range(1000))
    assert fixes.contains({key, "other"}, "other") and not fixes.contains({key}, key)
    assert path.read_bytes() == before
    assert "list" in repr(fixes)


def test_a_new_list_that_has_the_key_answers_yes(listed, tmp_path):
    members, path = listed
    key = false_positive(members)
    fixes = write(tmp_path / "fixes", path, [key])
    fresh = besom.Filter(1100, 1 / 4)
    fresh.update([key, *(f"member-{i}" for i in range(1000))])
    fresh.save(path)
    with pytest.raises(besom.IncompatibleError, match="--again"):
        besom.Fixes(fixes, path)
    assert key in besom.Filter.open(path)


def test_names_of_a_list_of_domains(tmp_path):
    members = besom.Filter(1000, 1e-6)
    members.add("ads.example.org")
    members.set_domains(3)
    members.save(tmp_path / "list")
    fixes = besom.Fixes(write(tmp_path / "fixes", tmp_path / "list", ["ads.example.org"]), tmp_path / "list")
    assert "x.ads.example.org" in members
    assert not fixes.contains(members, "X.ads.Example.org")
    members.add("example.org")
    assert fixes.contains(members, "x.ads.example.org")


def test_files_of_others_are_refused(listed, tmp_path):
    _, path = listed
    fixes = write(tmp_path / "fixes", path, [])
    assert len(besom.Fixes(fixes, path)) == 0
    fixes.chmod(0o620)
    with pytest.raises(PermissionError):
        besom.Fixes(fixes, path)
    if os.geteuid() == 0:
        fixes.chmod(0o600)
        os.chown(fixes, 12345, 12345)
        with pytest.raises(PermissionError):
            besom.Fixes(fixes, path)
    with pytest.raises(FileNotFoundError):
        besom.Fixes(tmp_path / "nothing", path)
    with pytest.raises(FileNotFoundError):
        besom.Fixes(write(tmp_path / "more", path, []), tmp_path / "nothing")
    path.chmod(0o600)
    with pytest.raises(besom.CorruptError, match="not a file of fixes"):
        besom.Fixes(path, path)


def test_wrong_arguments(listed, tmp_path):
    members, path = listed
    fixes = besom.Fixes(write(tmp_path / "fixes", path, []), path)
    with pytest.raises(TypeError):
        fixes.contains(members, object())
    with pytest.raises(TypeError):
        fixes.contains(5, "key")
    with pytest.raises(TypeError):
        besom.Fixes(5, path)

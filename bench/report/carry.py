#!/usr/bin/env python3
"""carry.py             carry records over to the present sources of their claims
carry.py REVISION    the same, and show first that each claim measures what it did at that revision

A record is valid while the measuring part of its claim is the same (measuring.py). A record that names another source is
compared with the versions of the claim's file in the history of git: if it was made with a version whose measuring part is
the present one, it gets the present fingerprint. The numbers stay as they are, and nothing is run. The exit code is 1 if a
claim has changed since the revision.
"""

import glob
import hashlib
import os
import re
import subprocess
import sys

import measuring
import records

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CLAIM = re.compile(r"^const claim \w+ = {", re.MULTILINE)
SOURCE = re.compile(r"^# source: (.*)$", re.MULTILINE)


def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def claim_files(root):
    """The source files of the claims by name."""
    files = glob.glob(os.path.join(root, "bench", "claims", "*.c"))
    return {os.path.basename(path)[:-2].replace("_", "-"): path for path in sorted(files) if CLAIM.search(read(path))}


def record_files(root, name):
    return sorted(glob.glob(os.path.join(root, "bench", "records", "*", f"{name}.c*")))  # .csv, .cut


def fingerprints(text):
    """What a record of this version of a file may have: records of before measuring.py have the hash of the whole file."""
    return measuring.fingerprint(text), hashlib.sha256(text.encode()).hexdigest()[:16]


def versions(root, path):
    """Yields (revision, text) of the committed versions of a file, the newest first, also from before it moved."""
    log = git(root, "log", "--follow", "--name-only", "--format=%h", "--", os.path.relpath(path, root)).split()
    for revision, name in zip(log[::2], log[1::2]):
        try:
            yield revision, git(root, "show", f"{revision}:{name}")
        except subprocess.CalledProcessError:  # removed there, and added again
            continue


def at_revision(root, revision, path):
    """The text of the file of this name in a directory "claims" at a revision; None if it is not there."""
    wanted = os.path.basename(path)
    names = [name for name in git(root, "ls-tree", "-r", "--name-only", revision).split("\n")
             if name.split("/")[-2:] == ["claims", wanted]]
    return git(root, "show", f"{revision}:{names[0]}") if names else None


def compare(root, revision):
    """Returns the claims that measure something else than at the revision, and prints how many do not."""
    claims = claim_files(root)
    before = {name: at_revision(root, revision, path) for name, path in claims.items()}
    changed = [name for name, path in claims.items()
               if before[name] is None or measuring.fingerprint(before[name]) != measuring.fingerprint(read(path))]
    print(f"{len(claims) - len(changed)} of {len(claims)} claims measure what they did at {revision}")
    for name in changed:
        print(f"{name}: {'its measuring part has changed' if before[name] else 'not there'} at {revision}")
    return changed


def carry(root):
    """Carries over what can be. Prints a line per record that named another source."""
    for name, path in claim_files(root).items():
        now = measuring.fingerprint(read(path))
        for file in record_files(root, name):
            text = read(file)
            had = SOURCE.search(text)
            if not had or had[1] == now:
                continue
            made_with = next(((r, t) for r, t in [("the work tree", read(path)), *versions(root, path)] if had[1] in fingerprints(t)), None)
            shown = os.path.relpath(file, root)
            if made_with is None:
                print(f"{shown}: stays: no version of its claim has the fingerprint {had[1]}")
            elif measuring.fingerprint(made_with[1]) != now:
                print(f"{shown}: stays: the measuring part of its claim has changed since {made_with[0]}")
            else:
                records.write(file, SOURCE.sub(f"# source: {now}", text, count=1))
                print(f"{shown}: carried over from {made_with[0]}")


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    changed = compare(ROOT, sys.argv[1]) if len(sys.argv) == 2 else []
    carry(ROOT)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())

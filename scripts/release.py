#!/usr/bin/env python3
"""release.py OUT [--key FILE] [--extra FILE...]: writes what a release publishes, from the commit that is checked out:

  besom-VERSION.tar.gz      the sources; the same bytes on every machine
  besom-VERSION.spdx.json   what is in them, and what is linked (SPDX 2.3)
  the extra files
  SHA256SUMS                and, with --key, SHA256SUMS.minisig

A key is the secret key of minisign. No key is made, and none is kept."""

import argparse
import datetime
import gzip
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys

# What the library and its tools are built with: name, license, who uses it.
LINKED = [("xxhash", "BSD-2-Clause", "the library, as a header"),
          ("lmdb", "OLDAP-2.8", "libbesom-lmdb"),
          ("rocksdb", "Apache-2.0 OR GPL-2.0-only", "libbesom-rocksdb"),
          ("hiredis", "BSD-3-Clause", "libbesom-redis, the command"),
          ("zlib", "Zlib", "the command"),
          ("zstd", "BSD-3-Clause", "the command"),
          ("libsodium", "ISC", "the command"),
          ("libidn2", "LGPL-3.0-or-later OR GPL-2.0-or-later", "the command"),
          ("sqlite3", "blessing", "the extension for SQLite")]


def git(*args):
    return subprocess.run(["git", *args], check=True, stdout=subprocess.PIPE).stdout


def version():
    text = pathlib.Path("include/besom.h").read_text()
    return ".".join(re.search(rf"^#define BESOM_VERSION_{part} (\d+)$", text, re.M).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


def write_archive(path, prefix):
    """git gives files the time of the commit; gzip gets no name and no time."""
    tar = git("archive", "--format=tar", f"--prefix={prefix}/", "HEAD")
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as out:
        out.write(tar)
    path.write_bytes(packed.getvalue())


def spdx_package(name, license_id, **more):
    return {"name": name, "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": license_id,
            "licenseDeclared": license_id, "copyrightText": "NOASSERTION", **more}


def write_sbom(path, archive, number):
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    seconds = int(git("log", "-1", "--format=%ct"))
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    ours = spdx_package("besom", "MIT", versionInfo=number, packageFileName=archive.name,
                        checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
    linked = [spdx_package(name, license_id, comment=f"linked by {user}; not in the archive")
              for name, license_id, user in LINKED]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"besom-{number}", "documentNamespace": f"urn:sha256:{digest}",
        "creationInfo": {"created": created, "creators": ["Tool: besom scripts/release.py"]},
        "packages": [ours, *linked],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": ours["SPDXID"]},
            *({"spdxElementId": ours["SPDXID"], "relationshipType": "DEPENDS_ON",
               "relatedSpdxElement": package["SPDXID"]} for package in linked)]}
    path.write_text(json.dumps(document, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--key", type=pathlib.Path)
    parser.add_argument("--extra", nargs="*", default=[], type=pathlib.Path)
    args = parser.parse_args()
    if git("status", "--porcelain", "--untracked-files=no"):
        sys.exit("release: commit your changes first: a release is made of a commit")
    for file in [*args.extra, *([args.key] if args.key else [])]:
        if not file.exists():
            sys.exit(f"release: {file} does not exist")

    number = version()
    shutil.rmtree(args.out, ignore_errors=True)
    args.out.mkdir(parents=True)
    archive = args.out / f"besom-{number}.tar.gz"
    write_archive(archive, f"besom-{number}")
    write_sbom(args.out / f"besom-{number}.spdx.json", archive, number)
    for file in args.extra:
        shutil.copy(file, args.out)
    sums = args.out / "SHA256SUMS"
    sums.write_text("".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
                            for file in sorted(args.out.iterdir())))
    if args.key:
        subprocess.run(["minisign", "-S", "-s", args.key, "-m", sums, "-t", f"besom {number}"], check=True)
    for file in sorted(args.out.iterdir()):
        print(file)


if __name__ == "__main__":
    main()

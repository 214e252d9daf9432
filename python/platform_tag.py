#!/usr/bin/env python3
"""The platform tag of a wheel, read from its files.

manylinux_2_34_x86_64 says: works with glibc 2.34 and later, and needs no library that such a system
may lack. The version is the highest one of all symbols that the modules, the command and the
bundled libraries use. If one of them needs another library, the tag is linux_x86_64.

usage: platform_tag.py WHEEL          prints the tag and the reasons
       platform_tag.py --check WHEEL  fails if the name of the wheel has another one
"""

import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

# Those that every system of that age has, after PEP 600; libz as in auditwheel's policies.
SYSTEM_LIBRARIES = re.compile(
    r"(libc|libm|libdl|librt|libpthread|libutil|libresolv|libgcc_s|libstdc\+\+|libz|ld-linux[-\w]*)\.so\.\d+"
)
LIBRARIES = "libs"  # the directory of bundled libraries in the package


def elf_files(package):
    for path in sorted(pathlib.Path(package).glob("**/*")):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            yield path


def _objdump(option, path):
    command = ["objdump", option, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_libraries(path):
    return re.findall(r"^ *NEEDED +(\S+)$", _objdump("-p", path), re.MULTILINE)


def foreign_libraries(path):
    """Those that a system may lack."""
    return [name for name in needed_libraries(path) if not SYSTEM_LIBRARIES.fullmatch(name)]


def glibc_version(path):
    """The highest version of glibc whose symbols the file uses; (2, 0) if it uses none."""
    versions = re.findall(r"\(?GLIBC_(\d+)\.(\d+)(?:\.\d+)?\)? ", _objdump("-T", path))
    return max([(int(major), int(minor)) for major, minor in versions], default=(2, 0))


def platform_tag(package, explain=lambda line: None):
    machine = sysconfig.get_platform().removeprefix("linux-").replace("-", "_").replace(".", "_")
    bundled = {path.name for path in (pathlib.Path(package) / LIBRARIES).glob("*")}
    highest, missing = (2, 5), set()
    for path in elf_files(package):
        version, others = glibc_version(path), set(foreign_libraries(path)) - bundled
        explain(f"{path.name}: GLIBC_{version[0]}.{version[1]} {' '.join(sorted(others))}".rstrip())
        highest = max(highest, version)
        missing |= others
    if missing:
        return f"linux_{machine}"
    return f"manylinux_{highest[0]}_{highest[1]}_{machine}"


def main(arguments):
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        sys.exit(__doc__)
    wheel = pathlib.Path(arguments[-1])
    with tempfile.TemporaryDirectory() as directory:
        zipfile.ZipFile(wheel).extractall(directory)
        tag = platform_tag(pathlib.Path(directory) / "besom", print)
    print(tag)
    if check and not wheel.name.endswith(f"-{tag}.whl"):
        sys.exit(f"{wheel.name} has another tag")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Builds the extension modules with CMake. An sdist has the C library in the directory library/.

CMAKE_ARGS are further arguments of CMake. With BESOM_BUNDLE=1 the package gets a copy of every
library that other systems may lack.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from platform_tag import LIBRARIES, elf_files, foreign_libraries, platform_tag  # noqa: E402

LIBRARY = HERE / "library" if (HERE / "library").exists() else HERE.parent
# What the library, the command and the extension modules are built from.
LIBRARY_FILES = ["CMakeLists.txt", "LICENSE", "cmake", "include", "src", "cli", "program"]
PYTHON_FILES = ["CMakeLists.txt", "ext", "src"]


def version():
    header = (LIBRARY / "include" / "besom.h").read_text()
    return ".".join(re.findall(r"#define BESOM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


def bundle(package):
    """Copies the libraries that the modules and the command need; those need no others."""
    (package / LIBRARIES).mkdir(exist_ok=True)
    for path in list(elf_files(package)):
        lines = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
        found = dict(re.findall(r"^\s*(\S+) => (\S+)", lines, re.MULTILINE))
        for name in foreign_libraries(path):
            if not (package / LIBRARIES / name).exists():
                shutil.copy2(found[name], package / LIBRARIES / name)
            if set(foreign_libraries(package / LIBRARIES / name)):
                raise SystemExit(f"{name} needs other libraries: it cannot be bundled")


class BuildWithCMake(build_ext):
    """Builds all extension modules that the installed databases allow, and the command."""

    def run(self):
        build = pathlib.Path(self.build_temp).resolve() / "cmake"
        options = [f"-DBESOM_{part}=OFF" for part in ("BENCH", "REDIS", "SQLITE", "EXAMPLES")]
        options += ["-DBESOM_PYTHON=ON", f"-DBESOM_PYTHON_INTERPRETER={sys.executable}"]
        options += [f"-DCMAKE_BUILD_RPATH=$ORIGIN/{LIBRARIES};$ORIGIN/../{LIBRARIES}"]
        options += os.environ.get("CMAKE_ARGS", "").split()
        subprocess.run(["cmake", "-S", LIBRARY, "-B", build, *options], check=True)
        subprocess.run(
            ["cmake", "--build", build, f"-j{os.cpu_count()}", "--target", "besom_python"],
            check=True,
        )
        made = build / "python" / "besom"
        package = (HERE / "src" if self.inplace else pathlib.Path(self.build_lib)) / "besom"
        (package / "bin").mkdir(parents=True, exist_ok=True)
        for module in made.glob("*.so"):
            shutil.copy2(module, package)
        shutil.copy2(made / "bin" / "besom", package / "bin")
        if os.environ.get("BESOM_BUNDLE") == "1":
            bundle(package)

    def get_outputs(self):
        package = pathlib.Path(self.build_lib) / "besom"
        return [str(path) for path in package.glob("**/*") if path.is_file()]


class SdistWithLibrary(sdist):
    """Adds the C sources."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        library = pathlib.Path(base_dir) / "library"
        for name in LIBRARY_FILES:
            self._copy(LIBRARY / name, library / name)
        for name in PYTHON_FILES:
            self._copy(HERE / name, library / "python" / name)
        self._copy(HERE / "platform_tag.py", pathlib.Path(base_dir) / "platform_tag.py")

    @staticmethod
    def _copy(source, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.so", "bin", "*.egg-info")
            shutil.copytree(source, target, ignore=ignore)
        else:
            shutil.copy2(source, target)


class StableAbiWheel(bdist_wheel):
    """One wheel for Python 3.11 and later, with the platform that its files need."""

    def get_tag(self):
        package = pathlib.Path(self.get_finalized_command("build").build_lib) / "besom"
        return "cp311", "abi3", platform_tag(package)


setup(
    version=version(),
    ext_modules=[Extension("besom._besom", sources=[], py_limited_api=True)],
    cmdclass={
        "build_ext": BuildWithCMake,
        "sdist": SdistWithLibrary,
        "bdist_wheel": StableAbiWheel,
    },
)

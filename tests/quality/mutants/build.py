"""A small build of the library and its tests, in a copy of the tree, for mutants.py.

The library is portable code only, one object per source, and one shared library with all symbols
visible, so that tests of internals link it, too. A mutant compiles the objects that contain it and
links this library again; the test programs stay as they are.
"""

import os
import pathlib
import re
import shutil
import subprocess

COPIED = ("src", "include", "tests/support", "tests/unit", "tests/laws", "tests/store",
          "tests/guard", "tests/golden")
DATABASES = {"lmdb": "lmdb", "rocksdb": "rocksdb", "redis": "hiredis"}
DATABASE_FLAGS = [f"-DBESOM_TEST_{name.upper()}" for name in DATABASES]
ARRAY_DB = re.compile(r'#include "(guard_commits|\.\./stores/array_db)\.h"')
STORE_LAWS = ("main", "subject", "model", "array_db", "data_laws", "process_laws", "thread_laws",
              "array_laws", "lmdb_laws", "rocksdb_laws", "redis_laws", "redis_server")


class BuildError(Exception):
    pass


def copy_changed(source, target):
    """Copies what differs, and removes what the source no longer has."""
    wanted = {p.relative_to(source) for p in source.rglob("*") if p.is_file()}
    for old in [p for p in target.rglob("*") if p.is_file()]:
        if old.relative_to(target) not in wanted:
            old.unlink()
    for name in wanted:
        to = target / name
        if not to.exists() or to.read_bytes() != (source / name).read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, to)


class Build:
    def __init__(self, source, directory):
        self.source, self.dir = pathlib.Path(source), pathlib.Path(directory)
        self.tree = self.dir / "tree"
        self.flags = ["-std=c11", "-O1", "-fPIC", "-fno-semantic-interposition", "-w", "-pthread",
                      "-DBESOM_ISA=portable", f'-DBESOM_SOURCE_DIR="{self.tree}"']
        self.flags += [f"-I{self.tree / d}" for d in ("include", "src", "tests", "tests/store")]
        self.objects = {}  # of the library: path of the object -> (source, further flags)
        self.database_objects = {}

    def prepare(self, say):
        for part in COPIED:
            copy_changed(self.source / part, self.tree / part)
        self.list_objects()
        self.compile_all(self.objects, say)
        self.compile_all(self.database_objects, say)
        self.link_library(self.dir, {})
        self.programs = self.build_programs(say)

    def list_objects(self):
        for path in sorted((self.tree / "src").rglob("*.c")):
            name = path.relative_to(self.tree / "src").as_posix()
            stem = path.stem.split("_")[0]
            if path.name == "partial_key_calls.c":
                for kind in ("cf", "vacuum"):
                    for form in ("WHOLE_BYTES", "LANES", "WIDE"):
                        calls = f"besom__{kind}_calls_portable_{form.lower()}"
                        more = [f"-DCALLS={calls}", f"-DALTERNATE={kind}_alternate", f"-DFORM={form}"]
                        self.objects[f"{calls}.o"] = (path, more)
            elif name.startswith("store/") and stem in DATABASES:
                self.database_objects[name[:-2] + ".o"] = (path, [])
            else:
                self.objects[name[:-2] + ".o"] = (path, [])

    def compile(self, source, to, more=()):
        to.parent.mkdir(parents=True, exist_ok=True)
        command = ["gcc", *self.flags, *more, "-MMD", "-c", source, "-o", to]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise BuildError(done.stderr)

    def preprocessed(self, name):
        """Equal for a mutant: its line is for another processor or compiler."""
        source, more = {**self.objects, **self.database_objects}[name]
        command = ["gcc", *self.flags, *more, "-E", "-P", source]
        return subprocess.run(command, capture_output=True, check=True).stdout

    def words_of(self, name):
        """All words of an object's source, and of sources that it includes, but not of headers."""
        files = self.dependencies(self.dir / "objects" / name) or []
        sources = [f for f in files if f.suffix != ".h"]
        return {word for f in sources for word in re.findall(r"\w+", f.read_text())}

    def dependencies(self, to):
        """The files that an object was compiled from; None if it was not."""
        made = to.with_suffix(".d")
        if not to.exists() or not made.exists():
            return None
        words = made.read_text().replace("\\\n", " ").split()[1:]
        return [pathlib.Path(w) for w in words if w.startswith(str(self.tree))]

    def is_current(self, to):
        files = self.dependencies(to)
        return files is not None and all(
            f.exists() and f.stat().st_mtime <= to.stat().st_mtime for f in files)

    def compile_all(self, objects, say):
        for i, (name, (source, more)) in enumerate(objects.items()):
            to = self.dir / "objects" / name
            if not self.is_current(to):
                say(f"compiling {i + 1}/{len(objects)} {name}")
                self.compile(source, to, more)

    def link(self, to, arguments):
        done = subprocess.run(["gcc", "-pthread", "-fuse-ld=lld", "-o", to, *arguments],
                              capture_output=True, text=True)
        if done.returncode:
            raise BuildError(done.stderr)

    def link_library(self, to, replaced):
        """Links both libraries into the directory `to`, with other objects for some."""
        for library, objects in (("besom", self.objects), ("stores", self.database_objects)):
            path = to / f"lib{library}.so"
            if replaced and not any(name in objects for name in replaced):
                if path.exists() or path.is_symlink():
                    path.unlink()
                path.symlink_to(self.dir / path.name)
                continue
            path.unlink(missing_ok=True)
            files = [replaced.get(name, self.dir / "objects" / name) for name in objects]
            needed = ["-lm"] if library == "besom" else [f"-l{d}" for d in DATABASES.values()]
            self.link(path, ["-shared", *files, *needed])

    def build_programs(self, say):
        """Returns the programs by name."""
        support = self.archive_support(say)
        wanted = {}
        for source in sorted((self.tree / "tests/unit").glob("*.c")):
            if not source.stem.endswith("_long"):
                wanted[source.stem] = [source]
                if ARRAY_DB.search(source.read_text()):
                    wanted[source.stem].append(self.tree / "tests/store/array_db.c")
        wanted["contract_tests"] = sorted((self.tree / "tests/laws").glob("*.c"))
        wanted["store_contract"] = [self.tree / f"tests/store/{s}.c" for s in STORE_LAWS]
        for name in ("lmdb", "rocksdb", "rocksdb_sidecar"):
            wanted[f"store_{name}_errors"] = [self.tree / f"tests/store/{name}_errors.c"]
        wanted["store_disk_faults"] = [self.tree / "tests/store/disk_faults.c"]
        for name in ("copies", "iterator", "reader", "small_map"):
            wanted[f"guard_{name}"] = [self.tree / f"tests/guard/{name}.c"]
        wanted["guard_redis"] = [self.tree / "tests/guard/redis.c",
                                 self.tree / "tests/store/redis_server.c"]
        for name in ("guards", "sidecars"):
            wanted[f"release_{name}"] = [self.tree / f"tests/releases/{name}.c"]
        wanted["sidecar_lmdb"] = [self.tree / "tests/guard/sidecar_lmdb.c"]
        programs = {}
        for name, sources in wanted.items():
            programs[name] = self.build_program(name, sources, support, say)
        return programs

    def archive_support(self, say):
        """A program gets only what it uses: some define functions of the support themselves."""
        objects = self.compile_tests(sorted((self.tree / "tests/support").glob("*.c")), say)
        archive = self.dir / "libsupport.a"
        if not archive.exists() or any(f.stat().st_mtime > archive.stat().st_mtime for f in objects):
            archive.unlink(missing_ok=True)
            subprocess.run(["ar", "rcs", archive, *objects], check=True)
        return archive

    def compile_tests(self, sources, say):
        """Returns the objects."""
        files = []
        for source in sources:
            part = source.relative_to(self.tree).with_suffix(".o")
            to = self.dir / "objects" / part
            if not self.is_current(to):
                say(f"compiling {part}")
                with_databases = source.parent.name in ("store", "guard", "releases")
                self.compile(source, to, DATABASE_FLAGS if with_databases else ())
            files.append(to)
        return files

    def build_program(self, name, sources, support, say):
        program = self.dir / "programs" / name
        files = [*self.compile_tests(sources, say), support]
        if not program.exists() or any(f.stat().st_mtime > program.stat().st_mtime for f in files):
            program.parent.mkdir(exist_ok=True)
            databases = []
            if "/unit/" not in str(sources[0]):
                databases = ["-lstores", *(f"-l{d}" for d in DATABASES.values())]
            self.link(program, [*files, f"-L{self.dir}", *databases, "-lbesom", "-lcmocka", "-lm"])
        return program

    def holders(self, file):
        """The objects that contain a file of the tree."""
        everything = {**self.objects, **self.database_objects}
        return [name for name in everything
                if file in (self.dependencies(self.dir / "objects" / name) or [])]

#!/usr/bin/env python3
"""analyze.py [--all] [--page] BUILD [FILE...]

Static analysis of the C sources of the library, the besom command, the module for Redis and the
extension for SQLite: gcc -fanalyzer and cppcheck; with --all also clang-tidy
(.clang-tidy lists its checks). BUILD is a build directory with compile_commands.json; each
source is analyzed once, as the portable code. Results are kept in BUILD/results.json: a file is
analyzed again when it or one of its headers changed.

A finding that is wrong is suppressed in place, by a comment on its line or on the line before:

    /* analysis: CHECK: why it cannot happen */

A suppression without a finding is an error, too. docs/trust/analysis.md lists them; --page writes
that file. Before anything else each tool must find the defects of planted.c.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = ROOT / "tests/quality/analysis"
PAGE = ROOT / "docs/trust/analysis.md"
ANALYZED = ("src", "cli", "program", "redis", "sqlite")
SUPPRESSION = re.compile(r"analysis: ([\w.-]+): ([^*]+?)\s*\*/")
FINDING = re.compile(r"^([^:\s][^:]*):(\d+):\d+: (?:error|warning|style|performance|portability): "
                     r"(.*) \[([\w.,=-]+)\]$", re.MULTILINE)
# What each tool must find in planted.c.
PLANTED = {
    "gcc": {"-Wanalyzer-malloc-leak", "-Wanalyzer-use-after-free", "-Wanalyzer-null-dereference"},
    "cppcheck": {"memleak", "arrayIndexOutOfBounds", "uninitvar"},
    "clang-tidy": {"bugprone-suspicious-memset-usage", "bugprone-integer-division"},
}

Finding = collections.namedtuple("Finding", "tool file line check message")


# ------------------------------------------------------------------ the tools


def gcc_command(compile_command, source, depends):
    # Warnings other than those of the analyzer are for the build.
    return ["gcc", *compile_command, "-O1", "-fanalyzer", "-fdiagnostics-plain-output",
            "-fdiagnostics-path-format=none", "-Wno-maybe-uninitialized", "-MMD", "-MF", depends,
            "-c", source, "-o", "/dev/null"]


def cppcheck_command(compile_command, source, depends):
    given = [a for a in compile_command if a[:2] in ("-I", "-D")]
    return ["cppcheck", "--quiet", "--std=c11", "--enable=warning,performance", "--max-configs=1",
            "-D__GNUC__=12", "-D__x86_64__", "-D__SIZEOF_INT128__=16",
            f"--library={HERE / 'cppcheck.cfg'}", "--suppress=toomanyconfigs",
            "--template={file}:{line}:{column}: {severity}: {message} [{id}]", *given, source]


def clang_tidy_command(compile_command, source, depends):
    given = [a for a in compile_command if a != "-fno-semantic-interposition"]
    return ["clang-tidy-14", "--quiet", f"--config-file={ROOT / '.clang-tidy'}", source, "--",
            *given]


TOOLS = {"gcc": gcc_command, "cppcheck": cppcheck_command, "clang-tidy": clang_tidy_command}


def relative(file):
    path = pathlib.Path(os.path.normpath(file))
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def prerequisites(rule):
    """The files of a rule for make, as the compiler writes it: spaces in names are escaped."""
    words = re.split(r"(?<!\\)\s+", rule.replace("\\\n", " ").strip())
    return [word.replace("\\ ", " ") for word in words[1:]]


def run_tool(tool, compile_command, source):
    """Returns (findings, files that were read)."""
    with tempfile.NamedTemporaryFile(suffix=".d") as depends:
        command = TOOLS[tool](compile_command, source, depends.name)
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        read = prerequisites(pathlib.Path(depends.name).read_text())
    output = done.stdout + (done.stderr if tool != "clang-tidy" else "")
    found = [Finding(tool, relative(file), int(line), check.split(",")[0], message)
             for file, line, message, check in FINDING.findall(output)]
    if not found and done.returncode:
        sys.exit(f"analyze.py: {shlex.join(map(str, command))} failed:\n{done.stderr}")
    return found, [relative(f) for f in read]


# ------------------------------------------------------------------ the sources


def compile_commands(build):
    """The command of each source: options without the compiler, the source and the object."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = relative(entry["file"])
        if file.split("/")[0] not in ANALYZED or file in commands:
            continue
        words = shlex.split(entry["command"])[1:]
        object_at = words.index("-o")
        del words[object_at:object_at + 2]
        commands[file] = [w for w in words if w not in ("-c", entry["file"], "-Werror")
                          and not w.startswith("-O") and w != "-DNDEBUG"]
    return commands


def digest_of(tool, command, files):
    """Of all that a result depends on: the tool's command, its settings, the files that it reads."""
    state = hashlib.sha256(repr(TOOLS[tool](command, "", "")).encode())
    for file in [*files, "tests/quality/analysis/cppcheck.cfg", ".clang-tidy"]:
        path = ROOT / file
        state.update(path.read_bytes() if path.exists() else b"missing")
    return state.hexdigest()


def analyze_one(tool, command, file, known):
    """Returns the entry of results.json for a tool and a file."""
    if known and known["digest"] == digest_of(tool, command, known["read"]):
        return known
    found, read = run_tool(tool, command, ROOT / file)
    # cppcheck and clang-tidy read what the compiler reads.
    if not read:
        listed = subprocess.run(["gcc", *command, "-MM", ROOT / file], capture_output=True, text=True)
        read = [relative(f) for f in prerequisites(listed.stdout)]
    own = sorted({f for f in read if not f.startswith("/")})
    return {"digest": digest_of(tool, command, own), "read": own, "found": [list(f) for f in found]}


def analyze(build, tools, wanted):
    path = build / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    commands = compile_commands(build)
    for file in wanted:
        if file not in commands:
            sys.exit(f"analyze.py: {file} is not among the sources of {build}")
    tasks = [(tool, file) for tool in tools for file in wanted or commands]
    tasks.sort(key=lambda task: -(ROOT / task[1]).stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        entries = pool.map(lambda t: analyze_one(t[0], commands[t[1]], t[1],
                                                 results.get(f"{t[0]} {t[1]}")), tasks)
        for (tool, file), entry in zip(tasks, entries):
            results[f"{tool} {file}"] = entry
    new = path.with_suffix(".new")  # an interrupt must not leave half of a file
    new.write_text(json.dumps(results))
    os.replace(new, path)
    return sorted({Finding(*f) for tool, file in tasks for f in results[f"{tool} {file}"]["found"]},
                  key=lambda f: (f.file, f.line, f.tool)), len(commands)


# ------------------------------------------------------------------ suppressions


def suppressions():
    """(file, line of the comment's end) -> (check, reason); a comment may have several lines."""
    found = {}
    for directory in ANALYZED:
        for path in sorted((ROOT / directory).rglob("*.[ch]")):
            text = path.read_text()
            for m in SUPPRESSION.finditer(text):
                line = text.count("\n", 0, m.end()) + 1
                reason = " ".join(w for w in m.group(2).split() if w != "*")
                found[(path.relative_to(ROOT).as_posix(), line)] = (m.group(1), reason)
    return found


def judge(findings, suppressed, tools):
    """Prints what is wrong. Returns whether nothing is."""
    used = set()
    open_ones = []
    for f in findings:
        place = next(((f.file, line) for line in (f.line, f.line - 1)
                      if suppressed.get((f.file, line), ("",))[0] == f.check), None)
        used.add(place)
        if not place:
            open_ones.append(f)
    for f in open_ones:
        print(f"{f.file}:{f.line}: {f.message} [{f.tool}: {f.check}]")
    unused = [(place, check) for place, (check, _) in suppressed.items()
              if place not in used and tool_of(check) in tools]
    for (file, line), check in unused:
        print(f"{file}:{line}: suppresses {check}, which no tool reports here: delete the comment")
    return not open_ones and not unused


def tool_of(check):
    if check.startswith("-W"):
        return "gcc"
    return "clang-tidy" if "-" in check else "cppcheck"


def find_planted(tools):
    """Each tool must be able to fail: it finds the defects of planted.c."""
    for tool in tools:
        found, _ = run_tool(tool, ["-std=c11", "-Wall"], HERE / "planted.c")
        missing = PLANTED[tool] - {f.check for f in found}
        if missing:
            sys.exit(f"analyze.py: {tool} does not find the planted {', '.join(sorted(missing))}")


# ------------------------------------------------------------------ the page


def page_of(suppressed):
    rows = [f"| `{file}` | `{check}` | {reason} |"
            for (file, _), (check, reason) in sorted(suppressed.items())]
    template = (HERE / "page.md").read_text()
    table = "\n".join(["| file | check | why it is no defect |", "|---|---|---|", *rows])
    return template.replace("SUPPRESSIONS", str(len(rows))).replace("TABLE", table)


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--all", action="store_true")
    options.add_argument("--page", action="store_true")
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("files", nargs="*")
    given = options.parse_args()
    suppressed = suppressions()
    if given.page:
        PAGE.write_text(page_of(suppressed))
        return 0
    tools = list(TOOLS) if given.all else ["gcc", "cppcheck"]
    find_planted(tools)
    findings, count = analyze(given.build, tools, given.files)
    clean = judge(findings, suppressed, [] if given.files else tools)
    if PAGE.read_text() != page_of(suppressed):
        print("docs/trust/analysis.md does not list the suppressions: run make analyze-page")
        clean = False
    print(f"{', '.join(tools)}: {given.files and len(given.files) or count} sources, "
          f"{len(suppressed)} suppressions{', no other finding' if clean else ''}")
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())

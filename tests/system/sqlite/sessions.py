"""sessions.py EXTENSION FILE...: runs sessions of the sqlite3 shell and compares the output.

A session is a text file, or the code blocks of a Markdown file. "$ sqlite3 FILE" starts a shell; the
lines after the prompts "sqlite> " and "   ...> " are its input, and the other lines the expected output.
A blank line of a text file, or a line that begins with "#", is ignored. All shells of a file run in
one empty directory, in which build/besom-sqlite.so is the extension. With UPDATE=1 the expected output
is rewritten instead: review the difference.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile

SHELL = "$ sqlite3"
PROMPTS = ("sqlite> ", "   ...> ")
MARK = "--end of output--"


def is_input(line):
    return line.startswith(SHELL) or line.startswith(PROMPTS)


def session_lines(path, lines):
    """For every line: does it belong to a session?"""
    if not path.endswith(".md"):
        return [True] * len(lines)
    result, start = [False] * len(lines), None
    for i, line in enumerate(lines):
        if line.startswith("```"):
            if start is not None and any(is_input(text) for text in lines[start:i]):
                result[start:i] = [True] * (i - start)
            start = i + 1 if start is None else None
    return result


def inputs_of(lines, in_session):
    """The inputs, each as its line numbers: statements may take several lines."""
    result = []
    for i, line in enumerate(lines):
        if not in_session[i] or not is_input(line):
            continue
        if line.startswith(PROMPTS[1]):
            result[-1].append(i)
        else:
            result.append([i])
    return result


def run_shell(command, statements, place):
    """The output of each statement in one shell."""
    script = "".join("%s\n.print %s\n" % (statement, MARK) for statement in statements)
    done = subprocess.run(["stdbuf", "-o0"] + command.split()[1:] + ["-batch"], cwd=place, input=script.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    parts = done.stdout.decode().split(MARK + "\n")
    assert len(parts) == len(statements) + 1, "the shell ended early: " + done.stdout.decode()
    return [re.sub(r" near line \d+:", ":", part).splitlines() for part in parts[:-1]]


def outputs_of(lines, inputs, place):
    """Runs all inputs; the output of each, by the number of its last line."""
    outputs, shells = {}, []
    for numbers in inputs:
        if lines[numbers[0]].startswith(SHELL):
            shells.append((lines[numbers[0]], []))
            outputs[numbers[-1]] = []
        else:
            shells[-1][1].append(numbers)
    for command, statements in shells:
        texts = ["\n".join(lines[i][len(PROMPTS[0]):] for i in numbers) for numbers in statements]
        for numbers, output in zip(statements, run_shell(command, texts, place)):
            outputs[numbers[-1]] = output
    return outputs


def run_file(path, extension):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    in_session = session_lines(path, lines)
    inputs = inputs_of(lines, in_session)
    assert inputs, "%s has no session" % path
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(os.path.join(place, "build"))
        os.symlink(os.path.abspath(extension), os.path.join(place, "build/besom-sqlite.so"))
        outputs = outputs_of(lines, inputs, place)
    result = []
    for i, line in enumerate(lines):
        if not in_session[i] or is_input(line) or not line or line.startswith("#"):
            result += [line] + outputs.get(i, [])
    if os.environ.get("UPDATE"):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(result) + "\n")
        return True
    difference = list(difflib.unified_diff(lines, result, path, "actual", lineterm=""))
    print("\n".join(difference))
    return not difference


def main(extension, paths):
    sys.exit(0 if all([run_file(path, extension) for path in paths]) else 1)


main(sys.argv[1], sys.argv[2:])

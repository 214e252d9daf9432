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


def blocks_of(path, lines):
    """Yields (first, last + 1) of the lines that are sessions."""
    if not path.endswith(".md"):
        yield 0, len(lines)
        return
    start = None
    for i, line in enumerate(lines):
        if line.startswith("```"):
            if start is not None and any(is_input(text) for text in lines[start:i]):
                yield start, i
            start = i + 1 if start is None else None


def inputs_of(lines):
    """The inputs of a session, each with its line numbers: statements may take several lines."""
    result = []
    for i, line in enumerate(lines):
        if line.startswith(PROMPTS[1]) and result:
            result[-1].append(i)
        elif is_input(line):
            result.append([i])
    return result


def text_of(line):
    return line if line.startswith(SHELL) else line[len(PROMPTS[0]):]


def run_shell(command, statements, place):
    """The output of each statement in one shell."""
    script = "".join("%s\n.print %s\n" % (statement, MARK) for statement in statements)
    done = subprocess.run(["stdbuf", "-o0"] + command.split()[1:] + ["-batch"], cwd=place, input=script.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    parts = done.stdout.decode().split(MARK + "\n")
    assert len(parts) == len(statements) + 1, "the shell ended early: " + done.stdout.decode()
    return [re.sub(r" near line \d+:", ":", part) for part in parts[:-1]]


def run_block(lines, state, place):
    """The lines with the actual output. state is the command of the current shell."""
    inputs, groups = inputs_of(lines), []
    for numbers in inputs:
        if lines[numbers[0]].startswith(SHELL):
            state["command"] = lines[numbers[0]]
            groups.append((state["command"], [], numbers))
        else:
            if not groups:
                groups.append((state["command"], [], None))
            groups[-1][1].append(numbers)
    actual = [line for line in lines[:inputs[0][0]]]
    for command, statements, start in groups:
        if start:
            actual.append(lines[start[0]])
        outputs = run_shell(command, ["\n".join(text_of(lines[i]) for i in numbers) for numbers in statements], place)
        for numbers, output in zip(statements, outputs):
            actual += [lines[i] for i in numbers] + output.splitlines()
            following = numbers[-1] + 1
            while following < len(lines) and not is_input(lines[following]):
                if not lines[following] or lines[following].startswith("#"):
                    actual.append(lines[following])
                following += 1
    return actual


def run_file(path, extension):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    state = {"command": SHELL + " test.db"}
    result, end = [], 0
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(os.path.join(place, "build"))
        os.symlink(os.path.abspath(extension), os.path.join(place, "build/besom-sqlite.so"))
        for first, last in blocks_of(path, lines):
            result += lines[end:first] + run_block(lines[first:last], state, place)
            end = last
    assert end, "%s has no session" % path
    result += lines[end:]
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

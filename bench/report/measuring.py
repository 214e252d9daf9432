"""The measuring part of a claim: the words of its source file that decide the numbers.

A full run takes hours, so its record is valid while the measuring part of its claim is the same. That is the source file
without comments and spaces, without #include lines (headers may move), and without what only the pages show: the texts of
the claim and its plots.
"""

import hashlib
import re

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<other>'(?:\\.|[^'\\])*'|\.?[0-9](?:[eEpP][+-]|[\w.])*|\w+|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.VERBOSE | re.DOTALL)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)
SHOWN = {"title", "source", "paper", "statement", "differs", "plots"}  # members of struct claim


def words_of(text):
    """The tokens. Strings that follow each other are one: where a long text is broken does not matter."""
    words, last = [], None
    for token in TOKEN.finditer(INCLUDE.sub("", text)):
        if token.lastgroup == "space":
            continue
        if token.lastgroup == last == "string":
            words[-1] = words[-1][:-1] + token.group()[1:]
        else:
            words.append(token.group())
        last = token.lastgroup
    return words


def end_of(words, start, ends):
    """The first of these words after start that is in no further brackets."""
    depth = 0
    for i in range(start, len(words)):
        if depth == 0 and words[i] in ends:
            return i
        depth += (words[i] in "([{") - (words[i] in ")]}")
    raise ValueError("a bracket of the claim is not closed")


def without_texts(words, start):
    """Yields the words of the initializer that begins after start, without the members that are only shown."""
    i = start
    while words[i] != "}":
        end = end_of(words, i, (",", "}"))
        if not (words[i] == "." and words[i + 1] in SHOWN):
            yield from words[i:end] + [","]
        i = end + (words[end] == ",")


def measuring_part(text):
    words, kept, i = words_of(text), [], 0
    while i < len(words):
        if words[i:i + 3] == ["static", "const", "plot"]:
            i = end_of(words, i, (";",)) + 1
        elif words[i:i + 2] == ["const", "claim"] and words[i + 3:i + 5] == ["=", "{"]:
            kept += [*words[i:i + 5], *without_texts(words, i + 5), "}"]
            i = end_of(words, i + 5, ("}",)) + 1
        else:
            kept.append(words[i])
            i += 1
    return "\n".join(kept)


def fingerprint(text):
    """What the record of a claim has in its line "# source: "."""
    return hashlib.sha256(measuring_part(text).encode()).hexdigest()[:16]

"""The places of C sources that can be mutated, and the draw among them, for mutants.py.

Only the bodies of functions are looked at: no comments, strings, preprocessor lines, declarations
or assertions at compile time. The sources are formatted by clang-format, so the spaces around
*, &, + and - tell the operators with two operands from the others.
"""

import collections
import hashlib
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "records"))
from functions import bodies, functions, name_before, tokens_of  # noqa: E402

# A place is one token, or one statement, and has one change. Its name is the function, the text of
# the line, the change, and `nth`, which counts equal changes of equal lines of the function. So it
# survives changes elsewhere, and the file may move. `line` and the offsets are those of today.
Place = collections.namedtuple("Place", "file function line text nth kind start end replacement")

COMPARISONS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&": "|", "|": "&", "^": "&",
             "<<": ">>", ">>": "<<", "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "|=": "&=",
             "&=": "|=", "^=": "&=", "<<=": ">>=", ">>=": "<<=", "++": "--", "--": "++", "!": ""}
AMBIGUOUS = {"+", "-", "*", "&"}
TYPES = {"const", "static", "struct", "union", "enum", "unsigned", "signed", "int", "char", "long",
         "short", "bool", "float", "double", "void", "volatile", "extern", "typedef", "_Atomic",
         "static_assert", "_Static_assert", "_Thread_local"}
NOT_DELETED = TYPES | {"if", "for", "while", "do", "else", "switch", "case", "default", "return",
                       "sizeof"}
# How often each sort of change is drawn, per place: there are fewer comparisons than constants.
WEIGHTS = {"comparison": 2.0, "operator": 1.0, "constant": 0.7, "statement": 1.0}

def users(headers, name):
    """The name, and all functions and macros of the headers that use it, also by each other."""
    parts = []
    for text in headers:
        parts += [(n, set(re.findall(r"\w+", text[a:b]))) for n, a, b in functions(text)]
        for m in re.finditer(r"^[ \t]*#\s*define\s+(\w+)((?:\\\n|[^\n])*)", text, re.MULTILINE):
            parts.append((m.group(1), set(re.findall(r"\w+", m.group(2)))))
    found = {name}
    while True:
        more = {n for n, words in parts if words & found} - found
        if not more:
            return found
        found |= more


def is_declaration(tokens, i):
    """Whether the statement that begins at token i declares something."""
    first, second = tokens[i], tokens[i + 1]
    if first.text in TYPES:
        return True
    if first.type != "word" or first.text in NOT_DELETED | {"goto", "break", "continue"}:
        return False
    pointer = second.text == "*" and tokens[i + 2].start == second.end and second.start > first.end
    return second.type == "word" or pointer


def end_of_statement(tokens, i):
    """The semicolon; None within the braces of an initializer, where there are no statements."""
    depth = 0
    while depth or tokens[i].text != ";":
        depth += tokens[i].text in "([{"
        depth -= tokens[i].text in ")]}"
        if depth < 0:
            return None
        i += 1
    return i


def starts_of_statements(tokens, first, last):
    """Yields the tokens that begin a statement."""
    heads, depth = [], 0  # parentheses of if, for, while, switch
    for i in range(first, last):
        before = tokens[i - 1].text
        if not depth and (before in "{};" or before in ("else", "do")
                          or (before == ")" and heads and heads[-1] == i - 1)
                          or (before == ":" and is_label(tokens, i - 1))):
            yield i
        text = tokens[i].text
        if text == "(":
            depth += 1
            if depth == 1:
                is_head = before in ("if", "for", "while", "switch")
        elif text == ")":
            depth -= 1
            if depth == 0 and is_head:
                heads.append(i)


def is_label(tokens, colon):
    return tokens[colon - 2].text == "case" or tokens[colon - 1].text == "default"


def other_number(text, choice):
    number = re.match(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)$", text)
    if not number:
        return None
    value = int(number.group(1), 0) if number.group(1)[0:2] in ("0x", "0X") else int(number.group(1))
    return f"{value - 1 if value and choice else value + 1}{number.group(2)}"


def is_binary(text, t):
    return text[t.start - 1] in " \n" and text[t.end] in " \n"


def changes(text, tokens, first, last):
    """Yields (kind, start, end, replacement) for the body tokens[first:last]."""
    for i in starts_of_statements(tokens, first, last):
        t = tokens[i]
        end = end_of_statement(tokens, i)
        if end is None:
            continue
        if is_declaration(tokens, i):
            # What is declared stays; the values that it gets can change.
            values = next((j for j in range(i, end) if tokens[j].text == "="), end)
            if t.text in ("static", "static_assert", "_Static_assert", "typedef", "enum"):
                values = end
            yield "declared", tokens[i].start, tokens[values].start, None
            continue
        plain = t.type == "word" and t.text not in NOT_DELETED or t.text in ("*", "(", "++", "--")
        if plain and tokens[i + 1].text != ":":
            yield "statement", t.start, tokens[end].start, ""
    for i in range(first, last):
        t = tokens[i]
        if t.type == "mark" and t.text in COMPARISONS:
            yield "comparison", t.start, t.end, COMPARISONS[t.text]
        elif t.type == "mark" and t.text in OPERATORS:
            if t.text not in AMBIGUOUS or is_binary(text, t):
                yield "operator", t.start, t.end, OPERATORS[t.text]
        elif t.type == "number":
            choice = int(hashlib.sha256(text[t.start - 20:t.end + 20].encode()).hexdigest(), 16) & 1
            other = other_number(t.text, choice)
            if other:
                yield "constant", t.start, t.end, other


def places_in(file, text, key_of):
    """key_of: from the name of a function to its key (Sources)."""
    tokens = tokens_of(text)
    lines = text.split("\n")
    seen = collections.Counter()
    for first, last in bodies(tokens):
        function = key_of(file, name_before(tokens, first).text)
        found = list(changes(text, tokens, first, last))
        declared = [(start, end) for kind, start, end, _ in found if kind == "declared"]
        for kind, start, end, replacement in found:
            if kind == "declared" or any(a <= start < b for a, b in declared):
                continue
            line = text.count("\n", 0, start)
            place = Place(file, function, line + 1, lines[line].strip(), 0, kind, start, end, replacement)
            same = spot_of(function, place.text, change_of(place, text))
            yield place._replace(nth=seen[same])
            seen[same] += 1


def change_of(place, text):
    """The change as it is shown and judged."""
    old = " ".join(text[place.start:place.end].split())
    if place.kind == "statement":
        return f"delete `{old}`"
    before = text[text.rfind("\n", 0, place.start) + 1:place.start]
    nth = sum(1 for t in tokens_of(before) if t.text == old) + 1
    ordinal = "" if nth == 1 else f" (no. {nth})"
    return f"`{old}` -> `{place.replacement}`{ordinal}"


CHANGE = re.compile(r"(?P<old>`[^`]*`) -> `(?P<new>[^`]*)`(?P<ordinal>.*)")


def spot_of(function, text, change):
    """What a change is made to. A constant may get one of two values there: a record says which."""
    parts = CHANGE.fullmatch(change)
    return function, text, parts["old"] + parts["ordinal"] if parts else change


def replacement_of(change):
    parts = CHANGE.fullmatch(change)
    return parts["new"] if parts else ""


def all_places(sources, files):
    """name -> place, where the name is (what spot_of returns, nth)."""
    found = {}
    for file in files:
        text = sources.files[file]
        for place in places_in(file, text, sources.key_of):
            found[spot_of(place.function, place.text, change_of(place, text)), place.nth] = place
    return found


def shuffle(sources, found, seed):
    """The places in random order: each has a random rank of its own, so a change of the sources leaves
    the order of all others as it is."""
    ranked = []
    for place in found:
        change = change_of(place, sources.files[place.file])
        name = f"{seed} {place.function} {place.text} {place.nth} {change}"
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") / 2**64.001
        ranked.append((-math.log(1 - number) / WEIGHTS[place.kind], name, place))
    return [place for _, _, place in sorted(ranked, key=lambda r: r[:2])]

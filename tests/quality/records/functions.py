"""The functions of the C sources, and the names by which records refer to them.

Records of tests (mutants, coverage, planted bugs) name a function, never a path or a line number, so
that a file can move without a change of the records. A function that is defined in one file only is
named alone: besom__aqf_save. One that several files define has the name of its file in front,
without directory and suffix: bloom:load. That form is always understood, and is written only where
it is needed.

The sources are read as tokens; nothing is compiled. Functions whose names macros make are not known
here: coverage, which has their names from the compiler, writes them with the name of the file.
"""

import collections
import functools
import hashlib
import pathlib
import re

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|\.?[0-9](?:[eEpP][+-]|[\w.])*)[uUlL]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.VERBOSE | re.DOTALL)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)

Token = collections.namedtuple("Token", "type text start end")
Function = collections.namedtuple("Function", "file name start end")  # from the line of its name on


def all_tokens(text):
    """Those of preprocessor lines, too."""
    return [Token(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(text)
            if m.lastgroup != "space"]


@functools.lru_cache(maxsize=None)
def tokens_of(text):
    return all_tokens(PREPROCESSOR.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text))


def bodies(tokens):
    """Yields (first, last) of the tokens between the braces of each function."""
    depth, start = 0, None
    for i, t in enumerate(tokens):
        if t.text == "{":
            if depth == 0 and i and tokens[i - 1].text == ")":
                start = i + 1
            depth += 1
        elif t.text == "}":
            depth -= 1
            if depth == 0 and start is not None:
                yield start, i
                start = None


def name_before(tokens, first):
    """The token that names the function whose body begins at this token: NAME, for NAME(x)(int a)."""
    depth, i = 0, first - 2
    while True:
        depth += (tokens[i].text == ")") - (tokens[i].text == "(")
        i -= 1
        if depth == 0 and tokens[i].text != ")":
            return tokens[i]


def functions(text):
    """Yields (name, start, end) of each function, from its name on."""
    tokens = tokens_of(text)
    for first, last in bodies(tokens):
        name = name_before(tokens, first)
        yield name.text, name.start, tokens[last].end


def stem_of(file):
    return pathlib.PurePath(file).stem


class Sources:
    """The C files below some directories of a tree. files: path -> text, instead of reading them."""

    def __init__(self, root=None, directories=("src",), files=None):
        if files is None:
            found = [p for d in directories for p in sorted((pathlib.Path(root) / d).rglob("*.[ch]"))]
            files = {p.relative_to(root).as_posix(): p.read_text() for p in found}
        self.files = files
        self.named = collections.defaultdict(list)  # name -> functions
        for file, text in files.items():
            for name, start, end in functions(text):
                self.named[name].append(Function(file, name, text.rfind("\n", 0, start) + 1, end))

    def key_of(self, file, name):
        """How records call the function of this name in this file."""
        files = {f.file for f in self.named.get(name, ())}
        return name if files == {file} else f"{stem_of(file)}:{name}"

    def find(self, key):
        """All definitions: several if #if chooses one, or if two files have the same name."""
        stem, _, name = key.rpartition(":")
        return [f for f in self.named.get(name, ()) if not stem or stem_of(f.file) == stem]

    def file_of(self, key):
        """The file of a function; None if no file has it, or several."""
        files = {f.file for f in self.find(key)}
        return files.pop() if len(files) == 1 else None

    def version_of(self, key):
        """A hash of the function's text. Spaces and comments do not count, nor does the place."""
        words = [t.text for f in self.find(key) for t in all_tokens(self.files[f.file][f.start:f.end])]
        return hashlib.sha256(" ".join(words).encode()).hexdigest()[:8]

"""C as amalgamate.py reads it: tokens, statements at file scope, the names that they declare."""
import re

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<directive>(?:(?<=\n)|\A)[ \t]*\#(?:/\*.*?\*/|\\\n|[^\n])*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<space>\s+)
  | (?P<other>->|\#\#|.)
""", re.S | re.X)


def tokens_of(text):
    return [(m.lastgroup, m.group()) for m in TOKEN.finditer(text)]


class Statement:
    """Text between two ends of statements at file scope: a declaration, definition or directive."""

    def __init__(self, tokens, condition):
        self.tokens = tokens
        self.condition = condition  # within #if, other than the include guard
        self.code = [t for t in tokens if t[0] not in ("comment", "space", "directive")]

    def text(self):
        return "".join(t for _, t in self.tokens)


def statements_of(text):
    """Splits a file at file scope. Directives inside a declaration stay inside it."""
    result, current, depth, conditions = [], [], 0, 0
    has_code = function = False
    previous = ""
    for kind, t in tokens_of(text):
        if kind == "directive" and not has_code:
            if current:
                result.append(Statement(current, conditions))
            word = re.match(r"\s*#\s*(\w+)", t).group(1)
            if word == "endif":
                conditions -= 1
            result.append(Statement([(kind, t)], conditions))
            if word in ("if", "ifdef", "ifndef"):
                conditions += 1
            current = []
            continue
        current.append((kind, t))
        if kind in ("comment", "space", "directive"):
            continue
        has_code = True
        if t == "{" and depth == 0:
            function = previous == ")"
        if t in ("{", "(", "["):
            depth += 1
        elif t in ("}", ")", "]"):
            depth -= 1
        previous = t
        # extern "C" { does not occur in src/.
        if depth == 0 and (t == ";" or (t == "}" and function)):
            result.append(Statement(current, conditions))
            current, has_code, function = [], False, False
    if depth or conditions:
        raise SystemExit("amalgamate.py: unbalanced braces or conditions")
    if current:
        result.append(Statement(current, 0))
    return result


KEYWORDS = set("""static inline const volatile struct union enum typedef extern unsigned signed char
    short int long float double void _Atomic _Thread_local _Alignas _Noreturn __attribute__ register
    _Bool restrict""".split())


class Names:
    def __init__(self):
        self.ordinary, self.tags, self.macros = set(), set(), []


def without_groups(code):
    """The tokens outside (), [] and {}; each group becomes one token, its opening bracket."""
    result, depth = [], 0
    for kind, t in code:
        if t in ("(", "[", "{"):
            if depth == 0:
                result.append((kind, t))
            depth += 1
        elif t in (")", "]", "}"):
            depth -= 1
        elif depth == 0:
            result.append((kind, t))
    return result


def enumerators(code):
    names, i = [], 0
    while i < len(code):
        if code[i][1] == "enum":
            j = i + 1
            if j < len(code) and code[j][0] == "name":
                j += 1
            if j < len(code) and code[j][1] == "{":
                depth, expect = 0, True
                for kind, t in code[j:]:
                    if t in "{([":
                        depth += 1
                    elif t in "})]":
                        depth -= 1
                        if depth == 0:
                            break
                    elif depth == 1 and t == ",":
                        expect = True
                    elif depth == 1 and expect and kind == "name":
                        names.append(t)
                        expect = False
        i += 1
    return names


def tags_defined(code):
    return [code[i + 1][1] for i in range(len(code) - 2)
            if code[i][1] in ("struct", "union", "enum") and code[i + 1][0] == "name"
            and code[i + 2][1] == "{"]


def declared(code):
    """The names that a declaration at file scope declares."""
    flat = without_groups(code)
    names, i = [], 0
    # A function pointer, static T (*const NAME[])(...), has its name inside a group.
    m = re.search(r"\( \*(?: const)? (\w+)(?: \[[^\]]*\])? \) \(", " ".join(t for _, t in code))
    if m and flat[-1][1] == ";" and ("name", m.group(1)) not in flat:
        return [m.group(1)]
    while i < len(flat):
        kind, t = flat[i]
        following = flat[i + 1][1] if i + 1 < len(flat) else ";"
        if t == "__attribute__":
            i += 2
            continue
        if kind == "name" and t not in KEYWORDS and flat[i - 1][1] not in ("struct", "enum", "union") \
                and following in ("(", "[", "=", ",", ";", "__attribute__"):
            names.append(t)
            if following in ("(", "="):
                # Skip the initializer or the parameters, up to the next declarator.
                while i < len(flat) and flat[i][1] not in (",", ";", "{"):
                    i += 1
                if following == "(":
                    break
        i += 1
    return names


def function_name(s):
    """The name of besom_* that a prototype declares, or None."""
    if not s.code or s.code[-1][1] != ";" or is_type(s):
        return None
    for (_, name), (_, following) in zip(s.code, s.code[1:]):
        if following == "(" and name.startswith("besom_"):
            return name
        if following in ("=", "{"):
            return None
    return None


def is_type(statement):
    code = [t for _, t in statement.code]
    if not code:
        return False
    if code[0] == "typedef":
        return True
    return code[0] in ("struct", "union", "enum") and "{" in code and \
        "(" not in code[:code.index("{")] and "=" not in without_text(code)


def without_text(code):
    return [t for _, t in without_groups([("other", t) for t in code])]


class Scan:
    """Finds the local names of a file. static_macros: macros that stand for `static ...`."""

    def __init__(self, static_macros):
        self.static_macros = static_macros

    def names(self, statements):
        found = Names()
        for s in statements:
            for kind, t in s.tokens:
                m = re.match(r"\s*#\s*define\s+(\w+)", t) if kind == "directive" else None
                if m and m.group(1) not in found.macros:
                    found.macros.append(m.group(1))
            self.add(found, s)
        return found

    def is_local(self, s):
        words = {t for _, t in without_groups(s.code)}
        return "static" in words or bool(words & self.static_macros)

    def add(self, found, s):
        if not s.code:
            return
        if s.code[0][1] == "typedef" or self.is_local(s):
            found.ordinary.update(declared(s.code))
        if s.code[0][1] in ("struct", "union", "enum", "typedef", "static"):
            found.tags.update(tags_defined(s.code))
            found.ordinary.update(enumerators(s.code))
        found.ordinary -= self.static_macros


def new_name(name, previous, in_struct, names, renamed):
    """The name of a token after `previous`: tags, members and all others are three name spaces."""
    if previous in ("struct", "union", "enum"):
        return renamed(name) if name in names.tags else name
    if previous in (".", "->") or in_struct:
        return name
    return renamed(name) if name in names.ordinary else name


def rename(tokens, names, renamed):
    """Renames local names. Members of structs keep their names."""
    result, previous, before = [], "", ""
    in_struct = [False]  # per open bracket: are the names there members?
    for kind, t in tokens:
        if kind == "directive":
            result.append(rename_directive(t, names, renamed))
            continue
        result.append(new_name(t, previous, in_struct[-1], names, renamed) if kind == "name" else t)
        if kind in ("comment", "space"):
            continue
        if t == "{":
            in_struct.append("struct" in (previous, before) or "union" in (previous, before))
        elif t == "[":
            in_struct.append(False)  # the size of an array
        elif t == "(":
            in_struct.append(in_struct[-1])  # (*member)(parameters)
        elif t in ("}", "]", ")"):
            in_struct.pop()
        before, previous = previous, t
    return "".join(result)


def rename_directive(text, names, renamed):
    head = re.match(r"\s*#\s*(\w+)", text)
    if head.group(1) in ("include", "pragma", "error"):
        return text
    result, previous = [head.group()], ""
    for kind, t in tokens_of(text[head.end():]):
        result.append(new_name(t, previous, False, names, renamed) if kind == "name" else t)
        if kind not in ("space", "comment"):
            previous = t
    return "".join(result)

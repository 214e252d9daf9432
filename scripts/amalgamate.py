#!/usr/bin/env python3
"""Writes the library as one source file and one header: OUT/besom.c and OUT/besom.h.

    amalgamate.py --source DIR --xxhash DIR --variants A.c,B.c --widths 7,8 --width-stems a,b OUT

The result has the core and all kinds; guards, stores and sidecars are left out. CMake passes the
lists, so that CMakeLists.txt is the only place that says which sources are compiled per instruction
set and per width.

How one translation unit holds what are many in the usual build:

- Names that are local to a source (static functions and objects, types, enumeration constants) get
  the prefix STEM__. Members keep their names: a name is not changed after "." and "->", nor where a
  struct declares it. Macros of a source end with it (#undef).
- Headers come first, each once.
- Sources that are compiled several times are sections, guarded by BESOM_SECTION. besom.c includes
  itself once per instruction set and width. A section has the inline functions of its headers
  again, because they depend on the instruction set. Within it each local name N stands for
  N_SUFFIX, with a suffix that differs per inclusion.
- clang does not define __AVX2__ and its like for a target attribute. They become BESOM__AVX2__.

The code has the form that clang-format gives it; anything that this script does not understand is
an error of the script or of the compiler, never silently different code.
"""
import argparse
import pathlib
import re
import sys

PUBLIC = ["besom.h", "besom_plan.h", "besom_reverse.h"]
LEFT_OUT = ("guard/", "store/", "sidecar/")
ISAS = {
    "avx2": ["avx2", "bmi", "bmi2", "lzcnt", "popcnt"],
    "avx512": ["avx2", "bmi", "bmi2", "lzcnt", "popcnt", "avx512f", "avx512bw", "avx512vl",
               "avx512dq"],
}
ISA_MACROS = {"avx2": ["__AVX2__", "__BMI__", "__BMI2__", "__LZCNT__", "__POPCNT__"],
              "avx512": ["__AVX512F__", "__AVX512BW__"]}
ISA_MACRO = re.compile(r"\b(__AVX2__|__BMI__|__BMI2__|__LZCNT__|__POPCNT__|__AVX512F__|"
                       r"__AVX512BW__)\b")
FEATURE_MACRO = re.compile(r"#define _(GNU|DEFAULT|POSIX_C)_SOURCE\b")
# Macros of a source that select what headers contain. They keep their names.
SETTINGS = {"UNSHARED", "BESOM_SHARED", "XXH_INLINE_ALL", "PATH_MAX"}

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


def new_name(name, previous, in_struct, names, prefix):
    """The name of a token after `previous`: tags, members and all others are three name spaces."""
    if previous in ("struct", "union", "enum"):
        return prefix + name if name in names.tags else name
    if previous in (".", "->") or in_struct:
        return name
    return prefix + name if name in names.ordinary else name


def rename(tokens, names, prefix):
    """Gives local names a prefix. Members of structs keep their names."""
    result, previous, before = [], "", ""
    in_struct = [False]  # per open bracket: are the names there members?
    for kind, t in tokens:
        if kind == "directive":
            result.append(rename_directive(t, names, prefix))
            continue
        result.append(new_name(t, previous, in_struct[-1], names, prefix) if kind == "name" else t)
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


def rename_directive(text, names, prefix):
    head = re.match(r"\s*#\s*(\w+)", text)
    if head.group(1) in ("include", "pragma", "error"):
        return text
    result, previous = [head.group()], ""
    for kind, t in tokens_of(text[head.end():]):
        result.append(new_name(t, previous, False, names, prefix) if kind == "name" else t)
        if kind not in ("space", "comment"):
            previous = t
    return "".join(result)


class Library:
    def __init__(self, source):
        self.root = source
        self.src = source / "src"
        self.texts, self.statements = {}, {}
        files = [p.relative_to(self.src).as_posix() for p in sorted(self.src.rglob("*.[ch]"))]
        self.files = [f for f in files if not f.startswith(LEFT_OUT)]
        self.sources = [f for f in self.files if f.endswith(".c")]
        statics = set()
        for f in self.files:
            text = (self.src / f).read_text()
            for m in re.finditer(r"^#define (\w+) static\b", text, re.M):
                statics.add(m.group(1))
            self.texts[f] = text
        self.scan = Scan(statics)

    def text(self, f):
        """A file without its include guard, feature macros and names of instruction sets."""
        text = self.texts[f]
        m = re.search(r"^#ifndef (BESOM_\w+_H)\n#define \1\n(.*)^#endif\n?\Z", text, re.M | re.S)
        if f.endswith(".h"):
            if not m:
                raise SystemExit(f"amalgamate.py: {f} has no include guard")
            text = text[:m.start()] + m.group(2)
        text = "".join(line for line in text.splitlines(True) if not FEATURE_MACRO.match(line))
        return ISA_MACRO.sub(r"BESOM\1", text)

    def parsed(self, f):
        if f not in self.statements:
            self.statements[f] = statements_of(self.text(f))
        return self.statements[f]

    def includes(self, f):
        return [i for i in re.findall(r'^#include "([^"]+)"', self.texts[f], re.M)
                if i.endswith(".h") and i not in PUBLIC]

    def headers(self, sources):
        """All headers of these sources, each after those that it includes."""
        order = []

        def visit(f):
            for i in self.includes(f):
                if i.endswith("besom_store.h") or i.startswith(LEFT_OUT):
                    raise SystemExit(f"amalgamate.py: {f} includes {i}, which is left out")
                visit(i)
            if f.endswith(".h") and f not in order:
                order.append(f)

        for s in sources:
            visit(s)
            for c in re.findall(r'^#include "([^"]+\.c)"', self.texts[s], re.M):
                visit(c)
        return order


    def shared_tags(self, f):
        """Tags that the headers of a source mention: the source defines them for others."""
        texts = [self.texts[h] for h in self.headers([f])]
        texts += [(self.root / "include" / h).read_text() for h in PUBLIC + ["besom_types.h"]]
        return set(re.findall(r"\b(?:struct|union|enum) (\w+)", "".join(texts)))


def strip_includes(text):
    return re.sub(r'^#include "[^"]*"[^\n]*\n', "", text, flags=re.M)


def title(text):
    return f"\n/* {'=' * 20} {text} {'=' * 20} */\n\n"


def system_includes(library):
    """Those without a condition. They come first: what follows is hidden (visibility)."""
    found = set()
    for f in library.files:
        for s in library.parsed(f):
            m = re.match(r"#include <(.*)>", s.text())
            if m and s.condition == 0 and m.group(1) != "xxhash.h":
                found.add(m.group(1))
    return found


def own_includes(text, done):
    """Drops includes of system headers that came first, and makes what others declare visible."""
    def replacement(m):
        if m.group(1) in done or m.group(1) == "xxhash.h":
            return ""
        return f"#pragma GCC visibility push(default)\n{m.group()}#pragma GCC visibility pop\n"

    return re.sub(r"^#include <([^>]+)>[^\n]*\n", replacement, text, flags=re.M)


def check_headers(library, headers):
    """Two headers that no source includes together must not share a name."""
    seen = {}
    for h in headers:
        names = library.scan.names(library.parsed(h))
        for group, some in (("", names.ordinary | set(names.macros)), ("struct ", names.tags)):
            for n in some:
                other = seen.setdefault(group + n, h)
                if other != h:
                    raise SystemExit(f"amalgamate.py: {group}{n} is defined in {other} and {h}")
    return set(seen)


def prefix_of(f):
    return pathlib.PurePath(f).stem + "__"


def plain_source(library, f, header_names):
    statements = library.parsed(f)
    names = library.scan.names(statements)
    names.tags -= library.shared_tags(f)
    own = [m for m in names.macros if m not in SETTINGS]
    clashing = [m for m in own if m in header_names]
    names.ordinary.update(clashing)
    body = "".join(rename(s.tokens, names, prefix_of(f)) for s in statements)
    undefs = "".join(f"#undef {prefix_of(f) if m in clashing else ''}{m}\n" for m in own)
    return title("src/" + f) + strip_includes(body).strip("\n") + "\n\n" + undefs


def of_section(tokens, inline):
    return rename(tokens, inline, "inline__")


def belongs_in_section(library, s, macros):
    """Definitions of functions do, and declarations of names that differ per section."""
    if is_type(s):
        return s.condition > 0
    if not s.code or library.scan.is_local(s):
        return True
    return any(name in macros for name in declared(s.code))


def section_headers(library, f):
    """What the headers of a source contribute to its section: names, macros and texts."""
    inline, macros, kept = Names(), [], {}
    for h in library.headers([f]):
        macros += library.scan.names(library.parsed(h)).macros
        kept[h] = [s for s in library.parsed(h) if belongs_in_section(library, s, macros)]
        local = library.scan.names(kept[h])
        inline.ordinary |= local.ordinary
        inline.tags |= local.tags
    texts = []
    for h, statements in kept.items():
        body = strip_includes("".join(of_section(s.tokens, inline) for s in statements))
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)  # they are above, once
        texts.append(f"/* src/{h} */\n" + re.sub(r"\n\s*\n+", "\n", body.strip("\n")) + "\n")
    return inline, [m for m in dict.fromkeys(macros) if m != "BESOM_WIDTH"], texts


def section(library, f, number):
    """A source that is compiled several times, with the inline functions of its headers."""
    inline, header_macros, texts = section_headers(library, f)
    renamed = sorted("inline__" + n for n in inline.ordinary | inline.tags)
    own_macros, body = [], ""
    for c in [f] + re.findall(r'^#include "([^"]+\.c)"', library.texts[f], re.M):
        names = library.scan.names(library.parsed(c))
        names.tags -= library.shared_tags(c)
        own_macros += names.macros
        renamed += sorted(prefix_of(c) + n for n in names.ordinary | names.tags)
        text = "".join(rename(s.tokens, names, prefix_of(c)) for s in library.parsed(c))
        body += of_section(tokens_of(text), inline)
    # What selects the contents of headers must precede them.
    setting = re.compile(r"^(?:#ifndef BESOM_SHARED\n)?#define (?:UNSHARED|BESOM_SHARED)\b"
                         r"(?:\\\n|[^\n])*\n(?:#endif\n)?", re.M)
    lines = [f"#elif BESOM_SECTION == {number}\n", title("section of src/" + f)]
    lines += [f"#undef {m}\n" for m in header_macros] + setting.findall(body)
    lines += [f"#define {n} BESOM_LOCAL({n})\n" for n in dict.fromkeys(renamed)] + texts
    lines += [strip_includes(setting.sub("", body)).strip("\n"), "\n\n"]
    lines += [f"#undef {n}\n" for n in dict.fromkeys(renamed + own_macros)]
    return "".join(lines)


def instance(number, suffix, **macros):
    lines = [f"#define BESOM_SECTION {number}\n", f"#define BESOM_SUFFIX {suffix}\n"]
    lines += [f"#define {k} {v}\n" for k, v in macros.items()]
    lines += ["#include BESOM_FILE\n", "#undef BESOM_SECTION\n", "#undef BESOM_SUFFIX\n",
              "#undef BESOM_WIDTH\n"]
    lines += [f"#undef {k}\n" for k in macros if k != "BESOM_WIDTH"]
    return "".join(lines)


def instances(args, sections, isa):
    lines = []
    for stem, number in sections.items():
        if stem == "partial_key_calls":
            for kind in ("cf", "vacuum"):
                for form in ("WHOLE_BYTES", "LANES", "WIDE"):
                    name = f"{kind}_{isa}_{form.lower()}"
                    lines.append(instance(number, f"{stem}_{name}", FORM=form,
                                          CALLS=f"besom__{kind}_calls_{isa}_{form.lower()}",
                                          ALTERNATE=f"{kind}_alternate"))
            continue
        lines.append(instance(number, f"{stem}_{isa}", BESOM_ISA=isa))
        if isa == "portable" or stem not in args.width_stems:
            continue
        for width in args.widths:
            if width != "8":
                lines.append("#ifndef BESOM_FEW_WIDTHS\n")
            lines.append(instance(number, f"{stem}_{isa}_{width}", BESOM_ISA=isa,
                                  BESOM_WIDTH=width))
            if width != "8":
                lines.append("#endif\n")
    return "".join(lines)


def isa_group(args, sections, isa):
    target = ",".join(ISAS[isa])
    macros = ISA_MACROS["avx2"] + (ISA_MACROS["avx512"] if isa == "avx512" else [])
    defines = "".join(f"#undef BESOM{m}\n#define BESOM{m} 1\n" for m in macros)
    return f"""{title("instruction set " + isa)}{defines}#ifdef __clang__
#pragma clang attribute push(__attribute__((target("{target}"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("{target}")
#endif
{instances(args, sections, isa)}#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
"""


HEAD = """/*
 * besom.c - besom {version} in one file, written by `make amalgamation`. Do not edit: change the
 * sources and write it again.
 *
 *   cc -std=c11 -O2 -c besom.c       (link with -lm -pthread)
 *
 * It has the core and all kinds of filters (besom.h); no guards, stores or sidecars. On x86-64 the
 * hot loops are compiled for AVX2 and AVX-512, too, and a filter chooses when it is created.
 *
 *   -DBESOM_PORTABLE     portable code only: compiles in less than half of the time
 *   -DBESOM_ALL_WIDTHS   specialised code for all frequent widths of slots, not only for 8 bits:
 *                        larger, and slower to compile
 *   -DBESOM_FILE='"x.c"' if this file has another name: it includes itself
 */
"""

PREAMBLE = """#ifndef BESOM_SECTION

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#ifndef BESOM_FILE
#define BESOM_FILE "besom.c"
#endif
#if defined(__x86_64__) && defined(__LP64__) && !defined(BESOM_PORTABLE)
#define BESOM_X86_VARIANTS 1
#include <immintrin.h>
#endif
#ifndef BESOM_ALL_WIDTHS
#define BESOM_FEW_WIDTHS 1
#endif

/* The instruction sets of the code that follows: at first those of the compiler's flags. */
{isa_macros}
/* clang wants the target of a function in its first declaration. */
#ifdef __clang__
{targets}#else
#define BESOM_TARGET_avx2
#define BESOM_TARGET_avx512
#endif

#define BESOM_PASTE_(name, suffix) name##_##suffix
#define BESOM_PASTE(name, suffix) BESOM_PASTE_(name, suffix)
#define BESOM_LOCAL(name) BESOM_PASTE(name, BESOM_SUFFIX)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#ifndef __clang__ /* it does not see that a filter that exists has statistics */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "besom.h"
"""


def with_targets(text):
    return re.sub(r"^(const struct \w+ \*besom__\w+_(avx2|avx512)\()", r"BESOM_TARGET_\2 \1", text,
                  flags=re.M)


def amalgamation(args, library):
    variants = [v.removeprefix("src/") for v in args.variants] + ["cuckoo/partial_key_calls.c"]
    plain = [f for f in library.sources if f not in variants]
    headers = library.headers(library.sources)
    header_names = check_headers(library, headers)
    isa_macros = "".join(f"#ifdef {m}\n#define BESOM{m} 1\n#endif\n"
                         for m in ISA_MACROS["avx512"] + ISA_MACROS["avx2"])
    targets = "".join(f'#define BESOM_TARGET_{isa} \\\n  __attribute__((target("{",".join(ISAS[isa])}")))\n'
                      for isa in ISAS)
    version = ".".join(re.findall(r"define BESOM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                                  (args.source / "include/besom.h").read_text()))
    out = [HEAD.replace("{version}", version), PREAMBLE.replace("{isa_macros}", isa_macros).replace("{targets}", targets)]
    included = system_includes(library)
    xxhash = (args.xxhash / "xxhash.h").read_text()
    out += ["\n", "".join(f"#include <{i}>\n" for i in sorted(included)), title("xxhash.h, under its own licence"), "#define XXH_INLINE_ALL\n", xxhash,
            "\n#pragma GCC visibility push(hidden)\n"]
    for h in headers:
        text = "".join(s.text() for s in library.parsed(h))
        text = own_includes(text.replace("#define XXH_INLINE_ALL\n", ""), included)
        out += [title("src/" + h), with_targets(strip_includes(text).strip("\n")), "\n"]
    for f in plain:
        text = plain_source(library, f, header_names)
        text = own_includes(text.replace("#define XXH_INLINE_ALL\n", ""), included)
        out.append(with_targets(text))
    sections = {pathlib.PurePath(v).stem: i + 1 for i, v in enumerate(variants)}
    out += ["\n#undef BESOM_WIDTH\n", title("portable"), instances(args, sections, "portable"),
            "\n#ifdef BESOM_X86_VARIANTS\n", isa_group(args, sections, "avx2"),
            isa_group(args, sections, "avx512"), "#endif\n\n#pragma GCC visibility pop\n",
            "#pragma GCC diagnostic pop\n\n"]
    for i, v in enumerate(variants):
        out.append(re.sub(r"^#(define|undef) XXH_INLINE_ALL\n|^#include <[^>]+>[^\n]*\n", "",
                          section(library, v, i + 1), flags=re.M))
    out.append("#endif\n")
    return "".join(out)


def public_header(args):
    done = []

    def expand(name):
        if name in done:
            return ""
        done.append(name)
        text = (args.source / "include" / name).read_text()
        return re.sub(r'^#include "([^"]+)"[^\n]*\n', lambda m: expand(m.group(1)), text,
                      flags=re.M)

    return "".join(expand(name) for name in PUBLIC)


def parse_arguments():
    commas = lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--xxhash", type=pathlib.Path, required=True)
    parser.add_argument("--variants", type=commas, required=True)
    parser.add_argument("--widths", type=commas, required=True)
    parser.add_argument("--width-stems", type=commas, required=True)
    parser.add_argument("out", type=pathlib.Path)
    return parser.parse_args()


def main():
    args = parse_arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "besom.h").write_text(public_header(args))
    (args.out / "besom.c").write_text(amalgamation(args, Library(args.source)))


if __name__ == "__main__":
    sys.exit(main())

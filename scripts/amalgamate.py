#!/usr/bin/env python3
"""Writes the library as one source file and one header: OUT/besom.c and OUT/besom.h.

    amalgamate.py --source DIR --xxhash DIR --variants A.c,B.c --widths 7,8 --width-stems a,b
                  [--without-papers] [--reader] [--all-variants] OUT

The result has the core and all kinds, or those without the published systems, or what reads saved
filters (amalgamate_reader.py); guards, stores, sidecars and the reader of published sets are left
out. CMake passes the lists, so that CMakeLists.txt is the only place that says which sources are
compiled per instruction set and per width.

How one translation unit holds what are many in the usual build:

- Headers come first, each once. Names keep their spelling. Only a name that is local to several
  sources (a static object, a type, an enumeration constant) gets the prefix STEM__. Members keep
  their names: a name is not changed after "." and "->", nor where a struct declares it. Macros of a
  source end with it (#undef).
- Sources that are compiled several times are there several times, with the inline functions of
  their headers, because those depend on the instruction set. Their local names get a suffix.
- Compiling is what users wait for. Without --all-variants there are only the copies that earn
  their time (docs/embedding.md): is_extra tells the others, and the name of each stands for one
  that is there (stand_ins). Portable code beside AVX2 is not inlined by force (BESOM_COMPACT).
- Sources that no query and no insert runs (all but HOT), and the portable code beside AVX2, are
  compiled with gcc -O1 if the flags say more.
- A function that other sources call is never inlined (apart), as in the usual build.
- clang does not define __AVX2__ and its like for a target attribute. They become BESOM__AVX2__.

The code has the form that clang-format gives it; anything that this script does not understand is
an error of the script or of the compiler, never silently different code.
"""
import argparse
import pathlib
import re
import sys

import amalgamate_reader as reader
from c_source import (Names, Scan, declared, function_name, is_type, rename, statements_of,
                      tokens_of)

PUBLIC = ["besom.h", "besom_map.h", "besom_plan.h", "besom_reverse.h"]
LEFT_OUT = ["guard/", "store/", "sidecar/", "published/"]
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


# Rooms and files whose code queries, inserts and builds spend their time in.
HOT = ("api/filter_hot.c", "api/filter_query.c", "bloom/", "build/bulk", "chains/", "core/hash.c",
       "core/partition.c", "core/sort.c", "cuckoo/", "exceptions/", "layers/", "lists/cascade.c",
       "lists/updated.c", "papers/", "partition/", "quotient/aqf/", "quotient/packed/",
       "quotient/table/", "ribbon/", "stacked/stacked.c")


class Library:
    def __init__(self, source, reads_only):
        self.root, self.reads_only = source, reads_only
        self.src = source / "src"
        self.texts, self.statements = {}, {}
        files = [p.relative_to(self.src).as_posix() for p in sorted(self.src.rglob("*.[ch]"))]
        self.files = [f for f in files if not f.startswith(tuple(LEFT_OUT))]
        self.sources = [f for f in self.files if f.endswith(".c")]
        statics = set()
        for f in self.files:
            text = (self.src / f).read_text()
            for m in re.finditer(r"^#define (\w+) static\b", text, re.M):
                statics.add(m.group(1))
            self.texts[f] = text
        if reads_only:
            self.texts["kinds.c"] = (source / reader.REGISTRY).read_text()
        self.scan = Scan(statics)

    def text_of(self, s):
        return reader.hidden(s, declared, is_type) if self.reads_only else s.text()

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
                if i.endswith("besom_store.h") or i.startswith(tuple(LEFT_OUT)):
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
        texts += [(self.root / "include" / h).read_text() for h in
                  [*PUBLIC, "besom_config.h", "besom_lists.h", "besom_types.h"]]
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


def repeated_names(library, files):
    """Names that are local to several of these files."""
    seen, result = Names(), Names()
    for f in files:
        found = library.scan.names(library.parsed(f))
        for all_, twice, own in ((seen.ordinary, result.ordinary, found.ordinary | set(found.macros)),
                                 (seen.tags, result.tags, found.tags)):
            twice |= all_ & own
            all_ |= own
    return result


def prefix_of(f):
    return pathlib.PurePath(f).stem + "__"


def plain_source(library, f, header_names, repeated):
    statements = library.parsed(f)
    names = library.scan.names(statements)
    names.tags = (names.tags - library.shared_tags(f)) & repeated.tags
    names.ordinary &= repeated.ordinary
    own = [m for m in names.macros if m not in SETTINGS]
    clashing = [m for m in own if m in header_names]
    names.ordinary.update(clashing)
    body = "".join(rename(tokens_of(library.text_of(s)), names, lambda n: prefix_of(f) + n)
                   for s in statements)
    undefs = "".join(f"#undef {prefix_of(f) if m in clashing else ''}{m}\n" for m in own)
    return title("src/" + f) + strip_includes(body).strip("\n") + "\n\n" + undefs


def belongs_in_section(library, s, macros):
    """Definitions of functions do, and declarations of names that differ per section."""
    if is_type(s):
        return s.condition > 0
    if not s.code or library.scan.is_local(s):
        return True
    return any(name in macros for name in declared(s.code))


def section_headers(library, f):
    """What the headers of a source contribute to a copy: names, macros and statements."""
    inline, macros, kept = Names(), [], {}
    for h in library.headers([f]):
        macros += library.scan.names(library.parsed(h)).macros
        kept[h] = [s for s in library.parsed(h) if belongs_in_section(library, s, macros)]
        local = library.scan.names(kept[h])
        inline.ordinary |= local.ordinary
        inline.tags |= local.tags
    return inline, [m for m in dict.fromkeys(macros) if m != "BESOM_WIDTH"], kept


def compact(text):
    """Without comments: they are in src/."""
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"/\*.*?\*/", "", text, flags=re.S).strip("\n")) + "\n"


def copy_of(library, f, suffix, **macros):
    """A source that is there several times, with the inline functions of its headers."""
    inline, header_macros, headers = section_headers(library, f)
    own_macros, body = [], ""
    for c in [f] + re.findall(r'^#include "([^"]+\.c)"', library.texts[f], re.M):
        names = library.scan.names(library.parsed(c))
        names.tags -= library.shared_tags(c)
        own_macros += names.macros
        inline.ordinary |= names.ordinary
        inline.tags |= names.tags
        body += "".join(library.text_of(s) for s in library.parsed(c))
    renamed = lambda n: f"{n}_{suffix}"
    # What selects the contents of headers must precede them.
    setting = re.compile(r"^(?:#ifndef BESOM_SHARED\n)?#define (?:UNSHARED|BESOM_SHARED)\b"
                         r"(?:\\\n|[^\n])*\n(?:#endif\n)?", re.M)
    lines = [title(f"src/{f}, {suffix}")] + [f"#define {k} {v}\n" for k, v in macros.items()]
    lines += [f"#undef {m}\n" for m in ["UNSHARED", *header_macros]] + setting.findall(body)
    texts = ["".join(library.text_of(s) for s in statements) for statements in headers.values()]
    for text in texts + [setting.sub("", body)]:
        lines.append(compact(strip_includes(rename(tokens_of(text), inline, renamed))))
    lines += [f"#undef {m}\n" for m in dict.fromkeys([*own_macros, *macros, "BESOM_WIDTH"])]
    return re.sub(r"^#(define|undef) XXH_INLINE_ALL\n|^#include <[^>]+>[^\n]*\n", "",
                  "".join(lines), flags=re.M)


# For width 8 there are copies of what most calls run. Cuckoo tables have no code for AVX2 that is
# faster, but for the instructions that count bits.
def is_extra(stem, isa, width):
    if isa == "avx512" or (isa == "avx2" and stem == "partial_key_calls"):
        return True
    return width is not None and (width != "8" or stem not in ("table_ops", "quotient_calls"))


def stand_ins(library):
    """Without --all-variants: names of what is extra, and of what is there."""
    names = set()
    for text in library.texts.values():
        names |= set(re.findall(r"\bbesom__\w+_avx512(?:_\w+)?\b|"
                                r"\bbesom__(?:cf|vacuum)_calls_avx2_\w+", text))
    there = {n: re.sub("avx512|avx2", "portable" if re.search("cf_calls|vacuum_calls", n) else "avx2", n)
             for n in names}
    for stem in ("qtable_ops_shared", "concurrent_calls", "merge_tables"):
        there[f"besom__{stem}_avx2_8"] = f"besom__{stem}_avx2_any"
    lines = [f"#define {n} {there[n]}\n" for n in sorted(there)]
    return "".join(["#define BESOM_FEW_WIDTHS 1\n#define BESOM_WITHOUT_AVX512 1\n", *lines])


# Cuckoo tables have only portable code.
def stands_back(stem, isa):
    return isa == "portable" and stem != "partial_key_calls"


def beside_avx2(text):
    """Portable code is not hot where there is code for AVX2."""
    begin, end = (f"#ifdef BESOM_COMPACT\n{macro}\n#endif\n"
                  for macro in ("BESOM_NOT_HOT", "BESOM_AS_FLAGS_SAY"))
    return f"\n{begin}{text}\n{end}"


def copies(args, library, isa):
    """The sources that are compiled per instruction set, for this one."""
    text = []

    def add(f, stem, width, suffix, **macros):
        if args.all_variants or not is_extra(stem, isa, width):
            copy = copy_of(library, f, f"{suffix}_{isa}" + (f"_{width}" if width else ""),
                           **macros, **({"BESOM_WIDTH": width} if width else {}))
            text.append(beside_avx2(copy) if stands_back(stem, isa) and not args.all_variants else copy)

    for f in args.variants:
        stem = pathlib.PurePath(f).stem
        if stem == "partial_key_calls":
            for kind in ("cf", "vacuum"):
                for form in ("WHOLE_BYTES", "LANES", "WIDE"):
                    add(f, stem, None, f"{stem}_{kind}_{form.lower()}", FORM=form,
                        CALLS=f"besom__{kind}_calls_{isa}_{form.lower()}",
                        ALTERNATE=f"{kind}_alternate")
            continue
        widths = args.widths if isa != "portable" and stem in args.width_stems else []
        for width in [None, *widths]:
            add(f, stem, width, stem, BESOM_ISA=isa)
    return "".join(text)


def isa_group(args, library, isa):
    target = ",".join(ISAS[isa])
    macros = ISA_MACROS["avx2"] + (ISA_MACROS["avx512"] if isa == "avx512" else [])
    defines = "".join(f"#undef BESOM{m}\n#define BESOM{m} 1\n" for m in macros)
    return f"""{title("instruction set " + isa)}{defines}#ifdef __clang__
#pragma clang attribute push(__attribute__((target("{target}"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("{target}")
#endif
{copies(args, library, isa)}#ifdef __clang__
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
 * It has {contents} (besom.h); no guards, stores, sidecars or published sets. On x86-64 the hot loops
 * are compiled for {sets}, too, and a filter chooses when it is created.
 *
 * -DBESOM_PORTABLE: portable code only. -DBESOM_WITHOUT_PAPERS: without the published systems.
 */
"""

PREAMBLE = """{papers}
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#if defined(__x86_64__) && defined(__LP64__) && !defined(BESOM_PORTABLE)
#define BESOM_X86_VARIANTS 1
#include <immintrin.h>
#endif
{stand_ins}#define BESOM_SMALL_CODE 1 /* until the hot loops */

/* The instruction sets of the code that follows: at first those of the compiler's flags. */
{isa_macros}
/* For code that is not hot: less optimized, to be compiled sooner. */
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && !defined(__clang__)
#define BESOM_NOT_HOT _Pragma("GCC push_options") _Pragma("GCC optimize(\\"O1\\")")
#define BESOM_AS_FLAGS_SAY _Pragma("GCC pop_options")
#else
#define BESOM_NOT_HOT
#define BESOM_AS_FLAGS_SAY
#endif

/* clang wants the target of a function in its first declaration. */
#ifdef __clang__
{targets}#else
#define BESOM_TARGET_avx2
#define BESOM_TARGET_avx512
#endif

#define BESOM_APART __attribute__((noinline))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#ifndef __clang__ /* it does not see that a filter that exists has statistics */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "besom.h"
"""


def apart(library, s):
    """A function that other sources call is not inlined, as in the usual build (flatten would)."""
    name = function_name(s)
    if not name or not name.startswith("besom__") or s.code[0][1] in ("static", "ALWAYS_INLINE"):
        return library.text_of(s)
    at = s.tokens.index(s.code[0])
    word = "static BESOM_APART " if library.reads_only else "BESOM_APART "
    return "".join(t for _, t in s.tokens[:at] + [("name", word)] + s.tokens[at:])


def with_targets(text):
    return re.sub(r"^(const struct \w+ \*besom__\w+_(avx2|avx512)\()", r"BESOM_TARGET_\2 \1", text,
                  flags=re.M)


def preamble(args, library):
    isa_macros = "".join(f"#ifdef {m}\n#define BESOM{m} 1\n#endif\n"
                         for m in ISA_MACROS["avx512"] + ISA_MACROS["avx2"])
    targets = "".join(f'#define BESOM_TARGET_{isa} \\\n  __attribute__((target("{",".join(ISAS[isa])}")))\n'
                      for isa in ISAS if isa == "avx2" or args.all_variants)
    if not args.all_variants:
        targets += "#define BESOM_TARGET_avx512 BESOM_TARGET_avx2\n"
    version = ".".join(re.findall(r"define BESOM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                                  (args.source / "include/besom.h").read_text()))
    text = (HEAD + PREAMBLE).replace("{version}", version)
    text = text.replace("{papers}", 
                        "#define BESOM_WITHOUT_PAPERS 1\n" * args.without_papers +
                        "#define BESOM_ONLY_READS 1\n" * args.reader)
    contents = "what reads saved filters" if args.reader else "the core and all kinds of filters"
    text = text.replace("{contents}", contents)
    text = text.replace("{isa_macros}", isa_macros).replace("{targets}", targets)
    text = text.replace("{sets}", "AVX2 and AVX-512" if args.all_variants else "AVX2")
    return text.replace("{stand_ins}", "" if args.all_variants else stand_ins(library))


def amalgamation(args, library, left_out):
    args.variants = [v.removeprefix("src/") for v in args.variants] + ["cuckoo/partial_key_calls.c"]
    plain = [f for f in library.sources if f not in args.variants]
    headers = library.headers(library.sources)
    header_names = check_headers(library, headers)
    included = system_includes(library)
    xxhash = (args.xxhash / "xxhash.h").read_text()
    out = [preamble(args, library), "\n", "".join(f"#include <{i}>\n" for i in sorted(included)),
           left_out, title("xxhash.h, under its own licence"), "#define XXH_INLINE_ALL\n", xxhash,
           "\n#pragma GCC visibility push(hidden)\n"]
    for h in headers:
        text = "".join(apart(library, s) for s in library.parsed(h))
        text = own_includes(text.replace("#define XXH_INLINE_ALL\n", ""), included)
        out += [title("src/" + h), with_targets(strip_includes(text).strip("\n")), "\n"]
    repeated = repeated_names(library, plain + headers)
    for f in plain:
        text = plain_source(library, f, header_names, repeated)
        text = own_includes(text.replace("#define XXH_INLINE_ALL\n", ""), included)
        text = with_targets(text)
        if not f.startswith(HOT):
            text = f"\nBESOM_NOT_HOT\n{text}BESOM_AS_FLAGS_SAY\n"
        if f.startswith("papers/"):
            text = f"#ifndef BESOM_WITHOUT_PAPERS\n{text}#endif\n"
        out.append(text)
    out.append("\n#undef BESOM_WIDTH\n#undef BESOM_SMALL_CODE\n")
    if not args.all_variants:
        out.append("#ifdef BESOM_X86_VARIANTS\n#define BESOM_COMPACT 1\n#endif\n")
    out += [copies(args, library, "portable"), "#undef BESOM_COMPACT\n\n#ifdef BESOM_X86_VARIANTS\n",
            isa_group(args, library, "avx2")]
    if args.all_variants:
        out.append(isa_group(args, library, "avx512"))
    out.append("#endif\n\n#pragma GCC visibility pop\n")
    if not args.reader:  # gcc looks at the end whether static functions are defined
        out.append("#pragma GCC diagnostic pop\n")
    return "".join(out)


def public_header(args):
    """The text of besom.h, and with --reader what is left out of it."""
    done, left_out = [], []

    def expand(name):
        if name in done:
            return ""
        done.append(name)
        text = (args.source / "include" / name).read_text()
        if args.reader:
            text, dropped = reader.split_header(text, statements_of, declared, is_type)
            left_out.append(dropped)
        return re.sub(r'^#include "([^"]+)"[^\n]*\n', lambda m: expand(m.group(1)), text,
                      flags=re.M)

    return "".join(expand(name) for name in PUBLIC), reader.hide("".join(left_out))


def parse_arguments():
    commas = lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--xxhash", type=pathlib.Path, required=True)
    parser.add_argument("--variants", type=commas, required=True)
    parser.add_argument("--widths", type=commas, required=True)
    parser.add_argument("--width-stems", type=commas, required=True)
    parser.add_argument("--without-papers", action="store_true")
    parser.add_argument("--reader", action="store_true")
    parser.add_argument("--all-variants", action="store_true")
    parser.add_argument("out", type=pathlib.Path)
    return parser.parse_args()


def main():
    args = parse_arguments()
    if args.without_papers:
        LEFT_OUT.append("papers/")
    args.out.mkdir(parents=True, exist_ok=True)
    header, left_out = public_header(args)
    library = Library(args.source, args.reader)
    (args.out / "besom.h").write_text(header)
    (args.out / "besom.c").write_text(amalgamation(args, library, left_out))


if __name__ == "__main__":
    sys.exit(main())

"""The form of the amalgamation that only reads saved filters (amalgamate.py --reader).

It has the kinds of web/wasm/reader_registry.c, which name the operations that reading needs. All
functions but those of CALLS are static, so that the compiler drops what no call reaches before it
spends time on it. The header declares the calls alone.
"""
import re

REGISTRY = "web/wasm/reader_registry.c"
CALLS = set("""besom_strerror besom_version besom_kinds besom_abilities besom_free besom_contains
    besom_contains_u64 besom_contains_digest besom_contains_many besom_contains_many_u64
    besom_contains_many_digest besom_hash besom_hash_u64 besom_stats_sized besom_stats besom_layer
    besom_validate besom_save besom_save_file besom_load besom_open_sized besom_open besom_patch
    besom_domain_labels besom_domain_contains besom_domain_contains_wire besom_get_values besom_note
    besom_u64
    besom_copy_struct""".split())

# The tables that a source has once per instruction set; their names are macros.
TABLE = r"^(?:extern )?(const struct \w+ \*?(?:NAME\(BESOM_ISA\)|\w*CALLS|\w+_NAME))(?=\W)"


def split_header(text, statements_of, declared, is_type):
    """The text of a public header, and what else the library's own sources need of it."""
    for_cpp = re.compile(r"#ifdef __cplusplus\n[^#]*#endif\n")  # half a block: no statement
    blocks = for_cpp.findall(text)
    kept, dropped = [], []
    for s in statements_of(for_cpp.sub("#pragma for_cpp\n", text)):
        names = [n for n in declared(s.code) if n.startswith("besom_")] if s.code else []
        left_out = len(names) == 1 and not is_type(s) and names[0] not in CALLS
        (dropped if left_out else kept).append(s)
    result = "".join(s.text() for s in kept)
    for block in blocks:
        result = result.replace("#pragma for_cpp\n", block, 1)
    return result, "".join(s.text() for s in dropped)


def hide(text):
    """Declarations of the header that become static."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = text.replace("BESOM_API ", "static ").replace("BESOM_INLINE ", "static inline ")
    return re.sub(r"\n\s*\n+", "\n", text)


def hidden(s, declared, is_type):
    """A statement at file scope whose function or object other sources use: static."""
    if re.search(TABLE, s.text(), re.M):  # macros that define functions may precede it
        return re.sub(TABLE, r"static \1", s.text(), flags=re.M)
    names = declared(s.code) if s.code and not is_type(s) else []
    words = {t for _, t in s.code}
    if not names or "static" in words or "typedef" in words or "BESOM_API" in words or \
            "ALWAYS_INLINE" in words or "NOINLINE" in words or "CALL" in words:
        return s.text()
    if names[0] in CALLS or not names[0].startswith("besom_"):
        return s.text()
    at = s.tokens.index(s.code[0])
    rest = s.tokens[at + 1:] if s.code[0][1] == "extern" else s.tokens[at:]
    return "".join(t for _, t in s.tokens[:at]) + "static " + \
        "".join(t for _, t in rest).lstrip()

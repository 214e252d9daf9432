/*
 * besom_config.h - what filter to make, the kinds and their options, and what they can do. besom.h
 * includes it.
 */
#ifndef BESOM_CONFIG_H
#define BESOM_CONFIG_H

#ifndef BESOM_H
#error "include besom.h instead"
#endif

/*
 * What filter to make. Zero means default: {.kind, .capacity, .fpr} is complete.
 *
 * kind          a name of besom_kinds. docs/kinds.md tells when to use which.
 * options       "name=value,name=value": options of the kind (besom_kind_option, docs/kinds.md).
 * hash          "xxh3" (default: XXH3-128 with a secret) or "sip" (SipHash-1-3, for patient
 *               adversaries).
 * seed          16 bytes that key the hash; NULL for random ones. An adversary who knows the seed
 *               can choose false positives. Fix it only for reproducible files and for filters to
 *               be merged.
 * capacity      keys that the filter must hold, 1 to 2^44. Required unless slots is given. Copies
 *               of a key take room, too: see repeated.
 * max_capacity  if above capacity: the filter can be resized to hold this many keys at the target
 *               FPR. Costs about log2(max_capacity / capacity) bits per key until then.
 * fpr           target false-positive rate of the full filter, in (0, 1); default 1/256.
 * bits_per_key  instead of fpr: bits per key of the full filter, including metadata.
 * slots, width  instead of capacity and fpr, quotient kinds: the number of slots and the bits of a
 *               remainder (1 to 64; aqf 2 to 64).
 * value_bits    bits of a value stored with every key, 0 to 32, for kinds that have values.
 * reserve       adaptive kinds: the share of the slots set aside for adaptation, in (0, 0.5];
 *               default 0.05. exaf, broom, taf and utaf have a fixed reserve and ignore it. Without
 *               a store a filter of any kind holds 0.625 * reserve * capacity reports, at least 64:
 *               by default one per 32 keys, 3.1 %. The option max_exceptions sets another limit.
 *               The memory is taken when it is needed.
 * no_capacity   room for this many no-list keys besides the reports; each takes as much memory as a
 *               report (besom_adapt).
 * build_memory  besom_build of kinds with BESOM_CAN_BUILD_SORTED: bytes it may use besides the
 *               filter; default 5 per key (17 if the FPR is below 1e-5 or so), twice that if the
 *               number of keys is unknown. With less, it sorts and inserts in parts: slower.
 * flags         BESOM_CONCURRENT: a concurrent filter (see Threads). 64 bytes per 4096 slots and 5
 *               KB more; a query takes 3 to 20 ns longer, an insert or a remove 6 to 40, up to 80
 *               in a large table that is almost full. BESOM_DISTINCT: besom_build inserts
 *               a repeated key once; 16 bytes per key while it builds, or 8 if the capacity is not
 *               given and the source can rewind. If build_memory is given, BESOM_DISTINCT has no
 *               effect on kinds that count. BESOM_SET: the keys are a set, see there.
 * allocator     NULL for the default.
 * threads       besom_build of kinds with BESOM_CAN_BUILD_SORTED, without BESOM_DISTINCT: threads
 *               that work on it, up to 64 and one per 65,536 keys; default 1: no thread is started.
 *               They hash, sort, and fill the table. Only the calling thread reads the source, so
 *               that more than 3 threads gain little; besom_input.parts and arrays of keys are read
 *               by all. Other callbacks and the allocator run in the calling thread only. Memory:
 *               100 KB per thread. The filter is the same, byte for byte. If a thread cannot be
 *               started, the others do its work.
 * repeated      qf, aqf, yesno-dynamic, and scaling and cached over these: the share of the keys, 0
 *               to 1, that will be inserted more than once; default 0. capacity, max_capacity and
 *               bits_per_key are of distinct keys then, and there is room for the copies. Other
 *               kinds: INVALID.
 * copies        how many copies such a key has at most, 2 to 2^32; default 2. With remainders of 8
 *               bits an aqf needs one slot more for 2 to 9 copies, two for 10 to 265, three for 266
 *               to 8457. A qf needs a slot per copy.
 * grouping      grouped: the group of a key (besom_grouping), instead of the option group. Other
 *               kinds: INVALID.
 */
typedef struct besom_config {
  const char *kind;
  const char *options;
  const char *hash;
  const uint8_t *seed;
  uint64_t capacity;
  uint64_t max_capacity;
  double fpr;
  double bits_per_key;
  uint64_t slots;
  uint32_t width;
  uint32_t value_bits;
  double reserve;
  uint64_t no_capacity;
  uint64_t build_memory;
  uint32_t flags;
  const besom_allocator *allocator;
  uint32_t threads;
  double repeated;
  uint64_t copies;
  const besom_grouping *grouping;
} besom_config;

/* config.flags */
#define BESOM_CONCURRENT 1u
#define BESOM_DISTINCT 2u
/*
 * A filter of a kind that keeps every copy of a key (BESOM_CAN_COUNT, BESOM_CAN_REMOVE) becomes a
 * set: insert adds only a key that is answered no, and is OK for any other. So a key that is
 * inserted again takes no room, and besom_build, besom_rekey and besom_merge keep it once; they
 * need no memory for that. statistics.keys counts what was added. An exception counts as absent,
 * and inserting its key removes it.
 *
 * A key that is skipped may have been a false positive. Then the fingerprint of another member
 * stands for it. To remove that member, or to extend its fingerprint in front of a store, would
 * deny the key. So a set has no remove, count or insert_count, cannot be bound, and has no call of
 * besom_reverse.h but iteration: UNSUPPORTED. besom_adapt and besom_no_add store exceptions, which
 * deny only their own key, so no member is ever denied by mistake, except as besom_adapt says. For
 * the same reason statistics.keys may be below the number of distinct keys, by the share of them
 * that are false positives when they are inserted.
 *
 * Saved with the filter, in version 2 of the format. A merge with a set is a set. exaf, broom, taf,
 * utaf, acf-* and yesno-dynamic, whose reports or no list change fingerprints, are UNSUPPORTED, and
 * so are layered kinds over them. With BESOM_CONCURRENT or repeated: INVALID; besom_share is
 * UNSUPPORTED. No effect on kinds that keep no copies: they are sets already.
 */
#define BESOM_SET 4u

/*
 * Checks a configuration without making a filter. On any status but BESOM_OK, text (may be NULL if
 * size is 0) gets one sentence: which member is wrong and what range it has. It needs no more than
 * 200 bytes. What depends on the keys (besom_build) is not checked, but capacity or slots must be
 * given. Cost: some trials with 64 KB of memory. Statuses: as besom_create; OK for kinds that can
 * only be built.
 */
BESOM_INLINE besom_status besom_config_check(const besom_config *config, char *text, size_t size);

/* What a kind, or a filter, can do. */
typedef enum besom_ability {
  BESOM_CAN_INSERT = 1 << 0,         /* insert; without it: besom_build only, or insert_at */
  BESOM_CAN_REMOVE = 1 << 1,         /* remove */
  BESOM_CAN_COUNT = 1 << 2,          /* count, insert_count: keys are a multiset */
  BESOM_CAN_MERGE = 1 << 3,          /* merge */
  BESOM_CAN_ITERATE = 1 << 4,        /* iter_next */
  BESOM_CAN_RESIZE = 1 << 5,         /* resize */
  BESOM_CAN_ADAPT = 1 << 6,          /* adapt */
  BESOM_CAN_BUILD_SORTED = 1 << 7,   /* besom_build from sorted digests */
  BESOM_CAN_VALUE = 1 << 8,          /* get_value, set_value if config.value_bits is not 0 */
  BESOM_CAN_MATCH = 1 << 9,          /* besom_reverse.h: matches, insert_at, remove_at, adapt_at */
  BESOM_CAN_REKEY = 1 << 10,         /* rekey */
  BESOM_CAN_SCALE = 1 << 11,         /* insert takes more memory instead of returning FULL */
  BESOM_FORGETS = 1 << 12,           /* adapt drops older reports (EVICTED) if it has no room */
  BESOM_CAN_BUILD_NO = 1 << 13,      /* besom_build with a no list */
  BESOM_CAN_NO_LIST = 1 << 14,       /* no_add, no_remove */
  BESOM_CAN_NO_LIST_AT = 1 << 15,    /* besom_reverse.h: no_add_at, no_matches, no_remove_at */
  BESOM_TAKES_SAMPLE = 1 << 16,      /* besom_build takes the no source as a sample of queries */
  BESOM_INSERTS_LATER = 1 << 17,     /* besom_build only, then insert while there is room */
  BESOM_STORES_EXCEPTIONS = 1 << 18, /* adapt stores an exception; else it extends fingerprints */
  BESOM_IS_SET = 1 << 19,            /* made with BESOM_SET: inserts only what is answered no */
  BESOM_IS_MAPLET = 1 << 20,         /* made with maplet=yes: the calls of besom_map.h */
} besom_ability;

typedef struct besom_kind_info {
  const char *name;
  const char *summary;
  unsigned abilities;  /* besom_ability, or-ed: of the kind in its default form */
  unsigned max_copies; /* kinds that count: of one key; one more is FULL. 0: no limit of its own */
} besom_kind_info;

/* The i-th kind in this build, from 0; NULL past the last. */
BESOM_API const besom_kind_info *besom_kinds(size_t i);

/* What the value of an option is. Numbers are never changed or reused. */
typedef enum besom_option_type {
  BESOM_OPTION_WORD = 0,
  BESOM_OPTION_NUMBER = 1,
  BESOM_OPTION_ODD = 2,   /* an odd number */
  BESOM_OPTION_POWER = 3, /* a power of two */
  BESOM_OPTION_KIND = 4,  /* of the layers: they get the options that this kind does not have */
  BESOM_OPTION_TEXT = 5,  /* must be the last option; may have commas */
} besom_option_type;

/* An option of a kind, in besom_config.options. */
typedef struct besom_option_info {
  const char *name;
  besom_option_type type;
  const char *words;    /* the words or kinds that it can be, with ", " between them, or NULL */
  uint64_t least, most; /* of numbers */
  const char *standard; /* a value, or a description; NULL: the first of the words */
  const char *meaning;  /* one line */
} besom_option_info;

/*
 * The i-th option of a kind, from 0; NULL past the last, or if there is no such kind. kind NULL:
 * those about reported keys, which every kind has.
 */
BESOM_API const besom_option_info *besom_kind_option(const char *kind, size_t i);

#endif

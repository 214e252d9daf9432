#include "subjects.h"

#include <stdio.h>
#include <string.h>

#include "filters.h"

enum { MAX_SUBJECTS_PER_KIND = 16 };

#define WINDOWS "layout=windows" /* a cf with it keeps half as many copies */

/*
 * The instruction set that a subject uses, or NULL if the kind or the machine does not support it.
 */
static const char *isa_of(const subject *s) {
  besom_config config = config_of(s, 10, 0);
  uint64_t key = 1;
  array_source source;
  source_of_u64(&source, &key, 1);
  besom_filter *f = NULL;
  besom_status status = can(s, CAN_BUILD)
                            ? besom_build(&config, &(besom_input){.yes = &source.api}, &f)
                            : besom_create(&config, &f);
  if (status != BESOM_OK) {
    if (status != BESOM_BAD_OPTION && status != BESOM_UNSUPPORTED)
      printf("creating a filter %s: %s\n", s->label, besom_strerror(status));
    return NULL;
  }
  besom_statistics stats = {.isa = NULL};
  besom_stats(f, &stats);
  besom_free(f);
  return stats.isa;
}

/* With other options a kind may be able to do more: layered kinds can do what their base can. */
static void find_abilities(subject *s, besom_kind_info *own) {
  besom_config config = config_of(s, 10, 0);
  besom_filter *f = NULL;
  *own = *s->kind;
  if (!s->options || besom_create(&config, &f) != BESOM_OK) return;
  own->abilities = besom_abilities(f);
  if (!strcmp(s->options, WINDOWS)) own->max_copies /= 2;
  s->kind = own;
  besom_free(f);
}

/* Without a subject whose option only names the instruction set that is the default anyway. */
static bool is_new(const subjects *all, size_t first, const char *isa) {
  for (size_t i = first; i < all->n; i++)
    if (all->list[i].same_format && !strcmp(isa_of(&all->list[i]), isa)) return false;
  return true;
}

/*
 * Options of some kinds; a kind is run with those that it knows. Layered kinds pass the options of
 * tables on to their inner filters, which are run with these options on their own.
 */
static const struct {
  const char *text;
  bool same_format;
  bool of_tables;
} all_options[] = {{"isa=portable", true, true},
                   {"isa=avx2", true, true},
                   {"isa=avx512", true, true},
                   {"heads=no", false, true},
                   {"heads=no,isa=portable", false, true},
                   {"selector_bits=1", false, true},
                   {"selector_bits=3", false, true},
                   {"bucket_slots=4", false, true},
                   {"form=published", false, false},
                   {WINDOWS, false, true},
                   {"base=aqf", false, false},
                   {"base=ribbon", false, false},
                   {"group=^(.)", false, false},
                   {"cache=topk,cache_bits=20000", false, false}};

/* Layouts that a kind has at a rate. */
static const struct {
  const char *kind, *golden, *text;
  double most_fpr;
} all_layouts[] = {{"pqf", "pqf-12-bits", ",12 bits", 0x1p-11}};

static subject subject_with(const besom_kind_info *kind, const char *options, const char *hash) {
  subject s = {.kind = kind, .options = options, .hash = hash, .same_format = !options};
  snprintf(s.label, sizeof s.label, "%s%s%s%s", kind->name, options ? "," : "",
           options ? options : "", strcmp(hash, "xxh3") ? ",sip" : "");
  return s;
}

static bool is_layered(const besom_kind_info *kind) {
  subject s = subject_with(kind, "base=qf", "xxh3");
  return isa_of(&s) != NULL;
}

/* The subjects of a kind, from this one on, with its other layouts, too. */
static void add_layouts(subjects *all, size_t first) {
  size_t end = all->n;
  for (size_t l = 0; l < sizeof all_layouts / sizeof *all_layouts; l++)
    for (size_t i = first; i < end; i++) {
      subject s = all->list[i];
      if (strcmp(s.kind->name, all_layouts[l].kind)) continue;
      s.most_fpr = all_layouts[l].most_fpr;
      s.golden = all_layouts[l].golden;
      strcat(s.label, all_layouts[l].text);
      all->list[all->n++] = s;
    }
}

static void add_kind(subjects *all, const besom_kind_info *kind) {
  subject with_defaults = subject_with(kind, NULL, "xxh3");
  bool layered = is_layered(kind);
  size_t first = all->n;
  with_defaults.is_default = true;
  all->list[all->n++] = with_defaults;
  /* This kind is aqf with another policy, and aqf is run with all options. */
  if (kind->abilities & BESOM_CAN_NO_LIST_AT) return;
  for (size_t i = 0; i < sizeof all_options / sizeof *all_options; i++) {
    subject s = subject_with(kind, all_options[i].text, "xxh3");
    if (layered && all_options[i].of_tables) continue;
    s.same_format = all_options[i].same_format;
    const char *isa = isa_of(&s);
    if (!isa || (s.same_format && !is_new(all, first, isa))) continue;
    find_abilities(&s, &all->kinds[all->n]);
    all->list[all->n++] = s;
  }
  /* The other kinds use the same code to hash. */
  if (layered || !first) all->list[all->n++] = subject_with(kind, NULL, "sip");
  subject concurrent = subject_with(kind, NULL, "xxh3");
  concurrent.flags = BESOM_CONCURRENT;
  concurrent.same_format = true;
  strcat(concurrent.label, ",concurrent");
  if (isa_of(&concurrent)) all->list[all->n++] = concurrent;
  add_layouts(all, first);
}

void find_subjects(subjects *all) {
  for (size_t i = 0; besom_kinds(i) && all->n + MAX_SUBJECTS_PER_KIND < MAX_SUBJECTS; i++)
    add_kind(all, besom_kinds(i));
}

const char *const *published_systems(void) {
  static const char *const names[] = {"yesno-dynamic",
                                      "exaf",
                                      "broom",
                                      "taf",
                                      "utaf",
                                      "acf-cyclic",
                                      "acf-swapping",
                                      "acf-cuckooing",
                                      "cached",
                                      "learned",
                                      "adaptive-stacked",
                                      NULL};
  return names;
}

bool is_published_system(const char *kind) {
  for (const char *const *name = published_systems(); *name; name++)
    if (!strcmp(*name, kind)) return true;
  return false;
}

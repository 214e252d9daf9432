/* The only list of kinds, in the order in which besom_kinds shows them. */
#include "kinds.h"

#ifdef BESOM_WITHOUT_PAPERS
#define PAPER(kind) NULL
#else
#define PAPER(kind) &kind
#endif

static const struct kind_row {
  const char *name;
  const struct besom_kind *kind; /* NULL: not in this build */
} rows[] = {
    {"aqf", &besom__aqf},
    {"yesno", &besom__yesno},
    {"yesno-dynamic", PAPER(besom__yesno_dynamic)},
    {"exaf", PAPER(besom__exaf)},
    {"broom", PAPER(besom__broom)},
    {"taf", PAPER(besom__taf)},
    {"utaf", PAPER(besom__utaf)},
    {"qf", &besom__qf},
    {"cf", &besom__cf},
    {"vacuum", &besom__vacuum},
    {"pqf", &besom__pqf},
    {"acf-cyclic", PAPER(besom__acf_cyclic)},
    {"acf-swapping", PAPER(besom__acf_swapping)},
    {"acf-cuckooing", PAPER(besom__acf_cuckooing)},
    {"bloom", &besom__bloom},
    {"blocked-bloom", &besom__blocked_bloom},
    {"fuse", &besom__fuse},
    {"ribbon", &besom__ribbon},
    {"scaling", &besom__scaling},
    {"cached", PAPER(besom__cached)},
    {"cascade", &besom__cascade},
    {"grouped", &besom__grouped},
    {"updated", &besom__updated},
    {"learned", PAPER(besom__learned)},
    {"stacked", &besom__stacked},
    {"adaptive-stacked", PAPER(besom__adaptive_stacked)},
};

static const struct kind_row *row_of_kind(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

const struct besom_kind *besom__kind_named(const char *name) {
  const struct kind_row *row = row_of_kind(name);
  return row ? row->kind : NULL;
}

bool besom__kind_is_left_out(const char *name) {
  const struct kind_row *row = row_of_kind(name);
  return row && !row->kind;
}

/* What besom_kinds tells. Abilities follow from operations, so it is filled when the library is
 * loaded, before other code can ask, and never changed. A WebAssembly command runs constructors
 * at each call from outside: they write the same again. */
static besom_kind_info infos[sizeof rows / sizeof *rows];
static size_t n_infos;

__attribute__((constructor(101))) static void fill_infos(void) {
  size_t n = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].kind) infos[n++] = besom__kind_info(rows[i].kind);
  n_infos = n;
}

const besom_kind_info *besom_kinds(size_t i) {
  return i < n_infos ? &infos[i] : NULL;
}

const besom_option_info *besom_kind_option(const char *name, size_t i) {
  const struct besom_kind *kind = name ? besom__kind_named(name) : NULL;
  const struct option_table *table = kind ? &kind->options : &besom__report_options;
  return (kind || !name) && i < table->n ? &table->rows[i].info : NULL;
}

/* The only list of kinds, in the order in which besom_kinds shows them. */
#include "filter.h"

extern const struct besom_kind besom__aqf, besom__yesno, besom__yesno_dynamic, besom__exaf,
    besom__broom, besom__taf, besom__utaf, besom__qf, besom__cf, besom__vacuum, besom__acf_cyclic,
    besom__acf_swapping, besom__acf_cuckooing, besom__bloom, besom__blocked_bloom, besom__fuse,
    besom__ribbon, besom__scaling, besom__cached, besom__cascade, besom__grouped, besom__updated,
    besom__learned, besom__stacked, besom__adaptive_stacked;

static const struct besom_kind *const kinds[] = {
    &besom__aqf,
    &besom__yesno,
    &besom__yesno_dynamic,
    &besom__exaf,
    &besom__broom,
    &besom__taf,
    &besom__utaf,
    &besom__qf,
    &besom__cf,
    &besom__vacuum,
    &besom__acf_cyclic,
    &besom__acf_swapping,
    &besom__acf_cuckooing,
    &besom__bloom,
    &besom__blocked_bloom,
    &besom__fuse,
    &besom__ribbon,
    &besom__scaling,
    &besom__cached,
    &besom__cascade,
    &besom__grouped,
    &besom__updated,
    &besom__learned,
    &besom__stacked,
    &besom__adaptive_stacked,
};

const struct besom_kind *besom__kind_named(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i]->info.name, name) == 0) return kinds[i];
  return NULL;
}

const besom_kind_info *besom_kinds(size_t i) {
  return i < sizeof kinds / sizeof *kinds ? &kinds[i]->info : NULL;
}

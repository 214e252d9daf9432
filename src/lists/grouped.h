/*
 * grouped: exact on a yes list and a no list whose keys come in groups, each planned at its own
 * proportion of yes keys (group_plan.h). The plan of Clubcard (Schanck, "Clubcards for the WebPKI",
 * 2025), with classes of groups.
 *
 * A key has a group, by a rule (group_rule.h) or by the caller's function. A retrieval (`names`)
 * tells the class of a group; a class is one of the forms of group_plan.h. One retrieval of one bit
 * (`last`) serves all classes. grouped.c has queries and files, grouped_build.c building.
 */
#ifndef BESOM_LAYERED_GROUPED_H
#define BESOM_LAYERED_GROUPED_H

#include "layers/layer.h"
#include "lists/group_plan.h"
#include "lists/group_rule.h"
#include "ribbon/retrieval.h"

struct grouped_class {
  enum class_form form;
  uint64_t groups;
  struct retrieval filter; /* fingerprints; if the form has none, it has no layers */
  retrieval_query has;
};

struct grouped {
  besom_filter head;
  struct group_rule rule;
  besom_grouping by; /* without rule; group_of is NULL if there are no groups or it is not bound */
  bool by_function;
  uint16_t classes, class_bits;
  struct grouped_class *class;
  struct retrieval names; /* of groups: the number of the class; if class_bits is 0, none */
  struct retrieval last;  /* of keys: 1 is yes; if no class needs it, none */
  uint64_t least_bits;    /* of any filter: the sum over groups */
};

#define GROUPED_ROWS 2
extern const struct option_row besom__grouped_rows[GROUPED_ROWS];

void besom__grouped_destroy(besom_filter *f);
besom_status besom__grouped_build(besom_filter *f, const besom_config *config,
                                  const besom_source *yes, const besom_source *no,
                                  const besom_progress *progress);

static inline bool class_has_filter(enum class_form form) {
  return form == CLASS_YES_KEYS || form == CLASS_NO_KEYS;
}

static inline bool class_has_bits(enum class_form form) {
  return form >= CLASS_BITS;
}

/* ------------------------------------------------------------------ digests */

/*
 * The group number of a key is kept in the last bits of its digest while the filter is built, so
 * these bits have no other use.
 */
#define GROUP_NUMBER_BITS 24

/* How filters and bits see a key. Its order is that of the digests. */
static inline besom_digest grouped_filter_digest(besom_digest d) {
  return (besom_digest){d.hi, mixed(d.lo >> GROUP_NUMBER_BITS)};
}

static inline besom_digest grouped_last_digest(besom_digest d) {
  return layer_digest(grouped_filter_digest(d), 1);
}

/* How `names` sees bit i of a class number. */
static inline besom_digest grouped_name_digest(besom_digest name, unsigned i) {
  return layer_digest(name, i);
}

static inline besom_digest digest_with_bit(besom_digest d, uint64_t bit) {
  return (besom_digest){d.hi, (d.lo & ~UINT64_C(1)) | bit};
}

/* The digest of a key's group. */
static inline besom_digest grouped_name(const struct grouped *g, const void *key, size_t len) {
  const struct hasher *hasher = &g->head.hasher;
  if (g->by.group_of) return hash_u64(hasher, g->by.group_of(g->by.ctx, key, len));
  besom_bytes name = {NULL, 0};
  if (g->rule.items) name = besom__group_rule_match(&g->rule, key, len);
  return hash_bytes(hasher, name.data, name.len);
}

#endif

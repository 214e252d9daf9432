/*
 * Which part of a key names its group: a regular expression with one capture group.
 *
 * The expression is saved with the filter, so that every reader finds the group of a key without
 * further help. A file may come from an adversary, so the matcher must not depend on what the
 * expression says: it allocates nothing, and looks at each byte of a key at most once per item.
 * Hence expressions are a subset of POSIX extended regular expressions, in which no choice is ever
 * taken back:
 *
 *   - a sequence of items, each a byte, . or a set [...], with *, +, ?, {n}, {n,}, {n,m} or nothing
 *     after it; \ before a special character; one pair of parentheses around some of the items;
 *   - it begins with ^, or ends with $, or both;
 *   - no item whose number of repetitions varies can match the byte that comes after it. If the
 *     expression ends with $ it is enough that none can match the byte before it.
 *
 * The result is that of POSIX (leftmost, longest). Bytes are bytes: no locale, no classes [:x:].
 * Unlike in POSIX a key may have bytes of value 0.
 */
#ifndef BESOM_LAYERED_GROUP_RULE_H
#define BESOM_LAYERED_GROUP_RULE_H

#include "kind.h"

#define MAX_RULE_ITEMS 32
#define MAX_RULE_BYTES 255 /* of the text */

struct rule_item {
  uint64_t set[4]; /* bytes that it matches, one bit each */
  uint32_t least, most;
};

struct group_rule {
  struct rule_item *items; /* and the text after them; NULL: there is no rule */
  uint16_t n, len;         /* items; bytes of the text */
  uint8_t from, to;        /* the items in parentheses: from .. to - 1 */
  bool backwards;          /* match from the end of a key to its beginning */
  bool whole;              /* the match must reach the other end */
};

/* Errors: BAD_OPTION (not such an expression), NO_MEMORY; the rule is empty then. */
besom_status besom__group_rule_new(struct group_rule *rule, const besom_allocator *allocator,
                                   const char *text, size_t len);
void besom__group_rule_free(struct group_rule *rule, const besom_allocator *allocator);

size_t besom__group_rule_bytes(const struct group_rule *rule);

static inline const char *group_rule_text(const struct group_rule *rule) {
  return (const char *)(rule->items + rule->n);
}

/* The part of the key in parentheses; no bytes if the expression does not match. */
besom_bytes besom__group_rule_match(const struct group_rule *rule, const void *key, size_t len);

#endif

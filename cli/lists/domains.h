/* Names of domains: one spelling for each, and queries that ask the parents, too. */
#ifndef CLI_DOMAINS_H
#define CLI_DOMAINS_H

#include "besom.h"

enum { DOMAIN_BYTES = 256 };

/*
 * Writes the spelling under which a name is listed: lower case, without "*.", without dots and
 * blanks at either end, other scripts as punycode. A "#" begins a comment. Returns its length; 0 if
 * the text is no name: empty, longer than 253 bytes, not valid in its script, or with other ASCII
 * characters than letters, digits, "-", "_" and ".". Fails if this program was built without
 * libidn2 and the name needs it.
 */
size_t domain_spelling(besom_bytes text, char name[DOMAIN_BYTES]);

unsigned domain_count_labels(besom_bytes name);

/* Without its first label; false if there is no other one. */
bool domain_parent(besom_bytes name, besom_bytes *parent);

/*
 * Asks a name and its parents. If the answer is yes, *entry is the part that is listed: a part of
 * the key, or of `name`, which receives the punycode if there is some.
 */
bool domain_query(const besom_filter *f, besom_bytes key, char name[DOMAIN_BYTES],
                  besom_bytes *entry);

#endif

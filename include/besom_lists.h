/*
 * besom_lists.h - what lists need that are shipped to other machines: exact on a yes list and a no
 * list, in groups, with updates and patches; lists of names of domains. besom.h includes it until
 * release 1.0: include it if you use it. docs/lists.md and docs/dns.md show how.
 */
#ifndef BESOM_LISTS_H
#define BESOM_LISTS_H

#include "besom.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- groups */

/*
 * A filter that was built with config.grouping and then loaded or mapped does not know the function
 * any more. Until it is bound again it answers yes wherever the group would decide. The struct is
 * copied; NULL unbinds. No other thread may use the filter meanwhile. Also for mapped filters.
 * Errors: INVALID (not built with config.grouping, or group_of is NULL).
 */
BESOM_API besom_status besom_bind_groups(besom_filter *f, const besom_grouping *grouping);

/* -------------------------------------------------------------- updates */

/*
 * Members of besom_input for a list that changes:
 *
 * update    a static list (ribbon, fuse, cascade, updated) that the new filter is an update of: of
 *           kind updated, with the layers of this one and one update more, so that besom_diff of
 *           both is little more than the change. yes and no are the whole new lists. config: NULL,
 *           or options = "universe=closed". Errors: UNSUPPORTED (other kinds), FULL (16 updates, or
 *           fewer of a Bloom cascade with more than 31 levels).
 * was       with update: keys that have been on the yes list. Those on neither list now are
 *           answered no. Without it, the filter goes on to answer yes to them.
 * was_digests  instead of was: as digests, in ascending order.
 * merge_updates  with update: the new update replaces the last so many ones. was must have every
 *           key that was on the yes list since they began.
 */

/* -------------------------------------------------------------- patches */

/*
 * diff writes the difference between two filters, for shipping updates of a list. It is as small as
 * the change of the set if besom_build made `fresh` like `old`. patch makes the filter that `fresh`
 * was from one that equals `old` bit for bit. Both take the memory of both filters; if `old` is
 * concurrent, patch takes that of `old` twice. diff_compact writes a patch that takes up to 40 %
 * fewer bytes for aqf, qf and yesno; releases up to 0.2 refuse it (NEWER_VERSION). A short patch
 * may make a large filter, if that has few keys: for patches that are not trusted, give `old` an
 * allocator that has a limit. Errors: UNSUPPORTED, NO_MEMORY, what the sink returned (diff);
 * INCOMPATIBLE (a patch for another filter), CORRUPT, NEWER_VERSION, NO_MEMORY (patch).
 */
BESOM_API besom_status besom_diff(const besom_filter *old, const besom_filter *fresh,
                                  const besom_sink *sink);
BESOM_API besom_status besom_diff_compact(const besom_filter *old, const besom_filter *fresh,
                                          const besom_sink *sink);
BESOM_API besom_status besom_patch(const besom_filter *old, const void *patch, size_t len,
                                   besom_filter **out);

/* -------------------------------------------------------------- lists of domains */

/*
 * In a list of domains a key is a name, such as "example.com", which stands for itself and for all
 * names below it. besom_contains and besom_contains_many then ask the name and its parents:
 * "www.example.com", "example.com", "com". They fold ASCII letters to lower case, and ignore "*."
 * at the beginning and dots at the end; other bytes are asked as they are, so names in other
 * scripts must be punycode. besom_adapt adapts for the parts of the name that are answered yes. All
 * other calls take single keys: list names in lower case, without dots at either end. Calls on
 * digests ask one key.
 *
 * The false-positive rate of a name is the rate of the filter times the labels that are asked. Put
 * on the no list, unless they are listed: the public suffixes (com, co.uk), since a false positive
 * for one of them is one for all names below it; and the parents of the names of the no list, which
 * are asked, too. besom build --domains divides the rate, and does both.
 *
 * A saved list of domains has format version 2. Versions of besom that do not know it refuse it.
 */

/* The list has exceptions: keys "!name". Of a name and its parents the longest that is listed or
 * excepted decides; a name that is both is listed. A false positive for an exception is a wrong no
 * for a name below a listed one, never for the listed name. */
#define BESOM_DOMAINS_EXCEPT 1u

/*
 * Makes a filter a list of domains. labels: the most labels of a listed name or an exception, 1 to
 * 127; parents with more are not asked. 0: the filter is no list of domains any more. Errors:
 * INVALID, READ_ONLY, BUSY, UNSUPPORTED (concurrent filters; kinds that look at the key itself:
 * learned, grouped).
 */
BESOM_API besom_status besom_set_domains(besom_filter *f, unsigned labels, unsigned flags);

/* The labels of besom_set_domains, 0 if the filter is no list of domains; flags may be NULL. */
BESOM_API unsigned besom_domain_labels(const besom_filter *f, unsigned *flags);

/*
 * As besom_contains, for any filter: asks the name and its parents. If the answer is yes and entry
 * is not NULL, *entry becomes the part of the name that is listed: it points into name.
 */
BESOM_API bool besom_domain_contains(const besom_filter *f, const void *name, size_t len,
                                     besom_bytes *entry);

/*
 * The same for a name as it is in a packet of DNS: labels, each after a byte with its length, up to
 * an empty one. No for what is none, and for a label with a dot in it. At most len bytes are read.
 */
BESOM_API bool besom_domain_contains_wire(const besom_filter *f, const void *name, size_t len);

#ifdef __cplusplus
}
#endif

#endif

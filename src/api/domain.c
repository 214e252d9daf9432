/*
 * Lists of domains. A query asks the name and its parents, from the longest to the shortest, as
 * keys of their own. No listed name has more labels than the mode says, so longer ones are not
 * asked. A key "!name" is an exception: it ends the search with a no. It is asked after the name,
 * so that a false positive for it denies no listed name.
 */
#include <string.h>

#include "api/filter_calls.h"
#include "exceptions/reports.h"

#define MOST_LABELS 127
#define MOST_LABEL_BYTES 63
#define MOST_BYTES 255 /* of a name that is listed */

/* A name in lower case: len bytes of the text, from `from` on. There is a byte before the first one
 * for the mark of an exception, and room to fold eight at once. */
struct domain_name {
  uint8_t text[1 + MOST_BYTES + 8];
  size_t from, len;
};

/* Without "*." and without dots at the end. */
static besom_bytes domain_trim(const void *name, size_t len) {
  const uint8_t *at = name;
  while (len && at[len - 1] == '.') len--;
  if (len >= 2 && at[0] == '*' && at[1] == '.') at += 2, len -= 2;
  return (besom_bytes){at, len};
}

/* The longest parent with at most `labels` labels that can be listed. */
static besom_bytes domain_longest(besom_bytes name, unsigned labels) {
  const uint8_t *text = name.data;
  size_t from = name.len, start = name.len;
  while (from && name.len - from < MOST_BYTES) {
    from--;
    if (from && text[from - 1] != '.') continue;
    start = from;
    if (!--labels) break;
  }
  return (besom_bytes){text + start, name.len - start};
}

/* 'A' to 'Z' in lower case; other bytes stay. */
static uint64_t domain_fold_8(uint64_t x) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  uint64_t low = x & (0x7f * ones);
  uint64_t upper = (low + (0x80 - 'A') * ones) & ~(low + (0x7f - 'Z') * ones) & ~x & (0x80 * ones);
  return x | upper >> 2;
}

static void domain_fold(struct domain_name *name) {
  for (size_t i = 0; i < name->len; i += 8) {
    uint64_t x;
    memcpy(&x, name->text + name->from + i, sizeof x);
    x = domain_fold_8(x);
    memcpy(name->text + name->from + i, &x, sizeof x);
  }
}

static void domain_copy(struct domain_name *to, besom_bytes name) {
  to->from = 1;
  to->len = name.len;
  if (name.len) memcpy(to->text + 1, name.data, name.len);
  domain_fold(to);
}

static bool domain_ask(const besom_filter *f, const uint8_t *key, size_t len) {
  besom_digest d = hash_bytes(&f->hasher, key, len);
  bool yes = f->kind->query.contains_key ? f->kind->query.contains_key(f, key, len, d)
                                         : f->kind->query.contains(f, d);
  return yes && !is_reported(f, d);
}

static bool domain_is_excepted(const besom_filter *f, uint8_t *part, size_t len) {
  uint8_t before = part[-1];
  part[-1] = '!';
  bool yes = domain_ask(f, part - 1, len + 1);
  part[-1] = before;
  return yes;
}

static unsigned domain_most_labels(const besom_filter *f) {
  return f->domains.labels ? f->domains.labels : MOST_LABELS;
}

/* Asks a name and its parents. Returns where in the name the one begins that is answered yes; the
 * length of the name if none is. */
static size_t domain_search(const besom_filter *f, struct domain_name *name) {
  for (size_t at = 0; at < name->len;) {
    uint8_t *part = name->text + name->from + at;
    size_t left = name->len - at;
    if (domain_ask(f, part, left)) return at;
    if (f->domains.excepts && domain_is_excepted(f, part, left)) break;
    const uint8_t *dot = memchr(part, '.', left);
    at = dot ? at + (size_t)(dot - part) + 1 : name->len;
  }
  return name->len;
}

bool besom__domain_contains(const besom_filter *f, const void *name, size_t len,
                            besom_bytes *entry) {
  struct domain_name folded;
  besom_bytes longest = domain_longest(domain_trim(name, len), domain_most_labels(f));
  domain_copy(&folded, longest);
  size_t at = domain_search(f, &folded);
  if (at == folded.len) return false;
  if (entry) *entry = (besom_bytes){(const uint8_t *)longest.data + at, folded.len - at};
  return true;
}

besom_status besom__domain_adapt(besom_filter *f, const void *name, size_t len) {
  struct domain_name folded;
  besom_bytes entry;
  besom_status status = BESOM_OK, worst = BESOM_OK;
  for (unsigned i = 0; i <= MOST_LABELS && besom__domain_contains(f, name, len, &entry); i++) {
    domain_copy(&folded, entry);
    status = besom__report(f, hash_bytes(&f->hasher, folded.text + 1, folded.len), true);
    if (status != BESOM_OK) worst = status;
    if (status != BESOM_OK && status != BESOM_EVICTED) break;
  }
  return worst;
}

/* Labels with their lengths as text, from the last `most` of them. False if it is no such name, or
 * if a label has a dot in it. */
static bool domain_from_wire(struct domain_name *to, const uint8_t *wire, size_t len,
                             unsigned most) {
  uint8_t lengths[MOST_LABELS + 1]; /* where they are */
  size_t at = 0, labels = 0;
  for (; at < len && wire[at]; at += 1 + wire[at]) {
    size_t label = wire[at];
    if (label > MOST_LABEL_BYTES || label >= len - at || at + label >= MOST_BYTES) return false;
    lengths[labels++] = (uint8_t)at;
  }
  if (at >= len || !labels) return false;
  memcpy(to->text, wire, at);
  for (size_t i = 0; i < labels; i++) to->text[lengths[i]] = 0;
  if (memchr(to->text, '.', at)) return false;
  for (size_t i = 1; i < labels; i++) to->text[lengths[i]] = '.';
  to->from = 1 + (size_t)(labels > most ? lengths[labels - most] : 0);
  to->len = at - to->from;
  domain_fold(to);
  return true;
}

/* -------------------------------------------------------------- public calls */

besom_status besom_set_domains(besom_filter *f, unsigned labels, unsigned flags) {
  if (!f || labels > MOST_LABELS || flags & ~BESOM_DOMAINS_EXCEPT || (flags && !labels))
    return BESOM_INVALID;
  if (f->snapshot || f->kind->query.contains_key || f->kind->map) return BESOM_UNSUPPORTED;
  struct reader r;
  besom_status status = besom__writer_enter(f, &r);
  if (status != BESOM_OK) return status;
  f->domains = (struct domain_mode){(uint8_t)labels, flags & BESOM_DOMAINS_EXCEPT};
  besom__choose_calls(f);
  return leave(r, BESOM_OK);
}

unsigned besom_domain_labels(const besom_filter *f, unsigned *flags) {
  if (flags) *flags = 0;
  if (!f) return 0;
  struct reader r = besom__reader_enter(f);
  struct domain_mode mode = r.filter->domains;
  besom__reader_leave(r);
  if (flags && mode.excepts) *flags = BESOM_DOMAINS_EXCEPT;
  return mode.labels;
}

bool besom_domain_contains(const besom_filter *f, const void *name, size_t len,
                           besom_bytes *entry) {
  if (entry) *entry = (besom_bytes){name, len};
  if (!f || (!name && len)) return true;
  struct reader r = besom__reader_enter(f);
  bool yes = besom__domain_contains(r.filter, name, len, entry);
  besom__reader_leave(r);
  return yes;
}

bool besom_domain_contains_wire(const besom_filter *f, const void *name, size_t len) {
  struct domain_name folded;
  if (!f || (!name && len)) return true;
  struct reader r = besom__reader_enter(f);
  bool yes = domain_from_wire(&folded, name, len, domain_most_labels(r.filter)) &&
             domain_search(r.filter, &folded) < folded.len;
  besom__reader_leave(r);
  return yes;
}

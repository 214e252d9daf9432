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

/* A name in lower case. There is a byte before its first one, for the mark of an exception. */
struct domain_name {
  uint8_t text[1 + MOST_BYTES];
  size_t len;
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

static void domain_fold(struct domain_name *to, besom_bytes name) {
  const uint8_t *text = name.data;
  to->len = name.len;
  for (size_t i = 0; i < name.len; i++) {
    bool upper = text[i] >= 'A' && text[i] <= 'Z';
    to->text[1 + i] = (uint8_t)(upper ? text[i] + ('a' - 'A') : text[i]);
  }
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

bool besom__domain_contains(const besom_filter *f, const void *name, size_t len,
                            besom_bytes *entry) {
  struct domain_name folded;
  unsigned labels = f->domains.labels ? f->domains.labels : MOST_LABELS;
  besom_bytes longest = domain_longest(domain_trim(name, len), labels);
  domain_fold(&folded, longest);
  for (size_t at = 0; at < folded.len;) {
    uint8_t *part = folded.text + 1 + at;
    size_t left = folded.len - at;
    if (domain_ask(f, part, left)) {
      if (entry) *entry = (besom_bytes){(const uint8_t *)longest.data + at, left};
      return true;
    }
    if (f->domains.excepts && domain_is_excepted(f, part, left)) return false;
    const uint8_t *dot = memchr(part, '.', left);
    at = dot ? at + (size_t)(dot - part) + 1 : folded.len;
  }
  return false;
}

besom_status besom__domain_adapt(besom_filter *f, const void *name, size_t len) {
  struct domain_name folded;
  besom_bytes entry;
  besom_status status = BESOM_OK, worst = BESOM_OK;
  for (unsigned i = 0; i <= MOST_LABELS && besom__domain_contains(f, name, len, &entry); i++) {
    domain_fold(&folded, entry);
    status = besom__report(f, hash_bytes(&f->hasher, folded.text + 1, folded.len), true);
    if (status != BESOM_OK) worst = status;
    if (status != BESOM_OK && status != BESOM_EVICTED) break;
  }
  return worst;
}

/* Labels with their lengths as text. Returns the length of the text; 0 if it is no such name. */
static size_t domain_from_wire(const uint8_t *wire, size_t len, uint8_t text[MOST_BYTES]) {
  size_t at = 0, to = 0;
  while (at < len && wire[at]) {
    size_t label = wire[at++];
    if (label > MOST_LABEL_BYTES || label >= len - at || to + 1 + label > MOST_BYTES) return 0;
    if (memchr(wire + at, '.', label)) return 0;
    if (to) text[to++] = '.';
    memcpy(text + to, wire + at, label);
    to += label;
    at += label;
  }
  return at < len ? to : 0;
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
  uint8_t text[MOST_BYTES];
  if (!f || (!name && len)) return true;
  size_t size = domain_from_wire(name, len, text);
  return size && besom_domain_contains(f, text, size, NULL);
}

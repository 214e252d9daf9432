#include "lists/group_rule.h"

#include "core/system/memory.h"

#define NO_LIMIT UINT32_MAX
#define MAX_REPEATS 255 /* as in POSIX */

/* ------------------------------------------------------------------ sets of bytes */

static void set_add(struct rule_item *item, unsigned first, unsigned last) {
  for (unsigned c = first; c <= last; c++) item->set[c / 64] |= UINT64_C(1) << (c % 64);
}

static bool set_has(const struct rule_item *item, uint8_t c) {
  return item->set[c / 64] >> (c % 64) & 1;
}

static bool sets_overlap(const struct rule_item *a, const struct rule_item *b) {
  uint64_t common = 0;
  for (int i = 0; i < 4; i++) common |= a->set[i] & b->set[i];
  return common;
}

/* ------------------------------------------------------------------ reading an expression */

struct rule_reader {
  const char *at, *end;
  struct rule_item items[MAX_RULE_ITEMS];
  unsigned n, from, to;
  bool opened, closed;         /* the parentheses */
  bool at_begin, at_end_of_it; /* ^, $ */
};

static bool next_is(struct rule_reader *r, char c) {
  if (r->at == r->end || *r->at != c) return false;
  r->at++;
  return true;
}

static bool group_rule_read_number(struct rule_reader *r, uint32_t *out) {
  const char *first = r->at;
  for (*out = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9' && *out <= MAX_REPEATS; r->at++)
    *out = *out * 10 + (uint32_t)(*r->at - '0');
  return r->at > first && *out <= MAX_REPEATS;
}

/* What follows {. */
static bool read_interval(struct rule_reader *r, struct rule_item *item) {
  if (!group_rule_read_number(r, &item->least)) return false;
  item->most = item->least;
  if (next_is(r, ',')) {
    item->most = NO_LIMIT;
    if (r->at < r->end && *r->at != '}' && !group_rule_read_number(r, &item->most)) return false;
  }
  return next_is(r, '}') && item->least <= item->most && item->most;
}

static bool read_repeats(struct rule_reader *r, struct rule_item *item) {
  item->least = item->most = 1;
  if (next_is(r, '{')) return read_interval(r, item);
  if (next_is(r, '?')) item->least = 0;
  if (next_is(r, '*')) item->least = 0, item->most = NO_LIMIT;
  if (next_is(r, '+')) item->most = NO_LIMIT;
  return r->at == r->end || !strchr("*+?{", *r->at); /* a second one has no agreed meaning */
}

/* What follows [. As in POSIX, ] is a byte of the set if it comes first, and \ is a plain byte. */
static bool read_set(struct rule_reader *r, struct rule_item *item) {
  bool negated = next_is(r, '^');
  for (bool first = true; r->at < r->end && (first || *r->at != ']'); first = false) {
    uint8_t low = (uint8_t)*r->at++, high = low;
    if (low == '[' && r->at < r->end && strchr(":.=", *r->at)) return false;
    if (r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']') {
      high = (uint8_t)r->at[1];
      r->at += 2;
      if (high == '[' || high < low) return false;
    }
    set_add(item, low, high);
  }
  for (int i = 0; negated && i < 4; i++) item->set[i] = ~item->set[i];
  return next_is(r, ']');
}

static bool read_item(struct rule_reader *r) {
  if (r->n == MAX_RULE_ITEMS) return false;
  struct rule_item *item = &r->items[r->n++];
  uint8_t c = (uint8_t)*r->at++;
  bool right = true;
  if (c == '[') {
    right = read_set(r, item);
  } else if (c == '.') {
    set_add(item, 0, 255);
  } else if (c == '\\') {
    right = r->at < r->end && strchr("^.[]$()|*+?{}\\", *r->at);
    if (right) set_add(item, (uint8_t)*r->at, (uint8_t)*r->at), r->at++;
  } else {
    right = !strchr("^$|*+?{", c); /* each has another meaning here, or none */
    set_add(item, c, c);
  }
  return right && read_repeats(r, item);
}

static bool read_parenthesis(struct rule_reader *r) {
  if (*r->at++ == '(') {
    if (r->opened) return false;
    r->opened = true;
    r->from = r->n;
    return true;
  }
  if (!r->opened || r->closed) return false;
  r->closed = true;
  r->to = r->n;
  return r->at == r->end || !strchr("*+?{", *r->at);
}

static bool read_rule(struct rule_reader *r) {
  r->at_begin = next_is(r, '^');
  while (r->at < r->end) {
    if (*r->at == '$' && r->at + 1 == r->end) {
      r->at_end_of_it = true;
      break;
    }
    if (!(*r->at == '(' || *r->at == ')' ? read_parenthesis(r) : read_item(r))) return false;
  }
  return r->closed && r->from < r->to && (r->at_begin || r->at_end_of_it);
}

/* ------------------------------------------------------------------ no choice is taken back */

/*
 * Whether the number of repetitions of every item follows from the bytes alone, if items are
 * matched in steps of `step`, as often as possible: the items that can come next have other bytes.
 */
static bool is_certain(const struct rule_reader *r, int step) {
  for (int i = 0; i < (int)r->n; i++) {
    if (r->items[i].least == r->items[i].most) continue;
    for (int j = i + step; j >= 0 && j < (int)r->n; j += step) {
      if (sets_overlap(&r->items[i], &r->items[j])) return false;
      if (r->items[j].least) break;
    }
  }
  return true;
}

static bool choose_direction(const struct rule_reader *r, struct group_rule *rule) {
  bool forwards = r->at_begin && is_certain(r, 1);
  rule->backwards = !forwards && r->at_end_of_it && is_certain(r, -1);
  rule->whole = r->at_begin && r->at_end_of_it;
  return forwards || rule->backwards;
}

/* ------------------------------------------------------------------ rules */

size_t besom__group_rule_bytes(const struct group_rule *rule) {
  return rule->items ? rule->n * sizeof *rule->items + rule->len : 0;
}

besom_status besom__group_rule_new(struct group_rule *rule, const besom_allocator *allocator,
                                   const char *text, size_t len) {
  struct rule_reader r = {.at = text, .end = text + len};
  *rule = (struct group_rule){.items = NULL};
  if (len > MAX_RULE_BYTES || memchr(text, 0, len) || !read_rule(&r)) return BESOM_BAD_OPTION;
  if (!choose_direction(&r, rule)) return BESOM_BAD_OPTION;
  rule->n = (uint16_t)r.n;
  rule->len = (uint16_t)len;
  rule->from = (uint8_t)r.from;
  rule->to = (uint8_t)r.to;
  rule->items = besom__allocate(allocator, r.n * sizeof *rule->items + len);
  if (!rule->items) return BESOM_NO_MEMORY;
  memcpy(rule->items, r.items, r.n * sizeof *rule->items);
  memcpy(rule->items + r.n, text, len);
  return BESOM_OK;
}

void besom__group_rule_free(struct group_rule *rule, const besom_allocator *allocator) {
  besom__release(allocator, rule->items, besom__group_rule_bytes(rule));
  rule->items = NULL;
}

/* ------------------------------------------------------------------ matching */

/* How often the item matches from position `at` on, in steps of `step`. */
static uint32_t count_matches(const struct rule_item *item, const uint8_t *key, int64_t at,
                              int64_t len, int step) {
  uint32_t n = 0;
  while (at >= 0 && at < len && n < item->most && set_has(item, key[at])) {
    at += step;
    n++;
  }
  return n;
}

besom_bytes besom__group_rule_match(const struct group_rule *rule, const void *key, size_t len) {
  const besom_bytes none = {NULL, 0};
  if (!len) return none;
  int step = rule->backwards ? -1 : 1;
  int64_t at = rule->backwards ? (int64_t)len - 1 : 0, begin = at, end = at;
  unsigned first = rule->backwards ? rule->n - 1 : 0;
  unsigned opens = rule->backwards ? rule->to - 1 : rule->from;
  unsigned closes = rule->backwards ? rule->from : rule->to - 1;
  for (unsigned i = first; i < rule->n; i += (unsigned)step) {
    const struct rule_item *item = &rule->items[i];
    if (i == opens) begin = at;
    uint32_t n = count_matches(item, key, at, (int64_t)len, step);
    if (n < item->least) return none;
    at += step * (int64_t)n;
    if (i == closes) end = at;
  }
  if (rule->whole && at != (rule->backwards ? -1 : (int64_t)len)) return none;
  const uint8_t *bytes = key;
  return rule->backwards ? (besom_bytes){bytes + end + 1, (size_t)(begin - end)}
                         : (besom_bytes){bytes + begin, (size_t)(end - begin)};
}

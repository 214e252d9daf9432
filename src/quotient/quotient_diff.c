/*
 * A diff lists the runs that differ. Each is: the distance of its quotient from that of the last
 * one listed, the number of slots at the beginning that the two runs share, the number of further
 * slots in the new run, and these slots. An insert moves the slots of a whole cluster but changes
 * one run. So the diff of two tables is as small as that of their sets.
 */
#include "quotient/quotient_diff.h"

#include "quotient/table/appender.h"
#include "quotient/table/cursor.h"

#define RICE_BITS 6 /* for the parameter of the Rice code of gaps */

/* Iterates over the runs of a table. */
struct runs {
  struct qtable_cursor next; /* the first fingerprint of the next run */
  bool more;
  uint64_t quotient;
  struct run run; /* after the last: empty, and quotient is the table's slots */
};

static void quotient_diff_next_run(struct runs *r) {
  if (!r->more) {
    r->quotient = r->next.table->slots;
    r->run = (struct run){0, 0};
    return;
  }
  r->quotient = r->next.quotient;
  r->run.start = r->next.position;
  do {
    r->run.end = r->next.position + r->next.slots;
    r->more = besom__qtable_next(&r->next);
  } while (r->more && r->next.quotient == r->quotient);
}

static struct runs first_run(const struct qtable *t) {
  struct runs r = {.more = false};
  besom__qtable_first(t, &r.next);
  r.more = besom__qtable_next(&r.next);
  quotient_diff_next_run(&r);
  return r;
}

/* Everything that a slot holds. */
struct slot {
  uint64_t content, value;
  bool head;
};

static struct slot slot_at(const struct qtable *t, uint64_t position) {
  const uint8_t *block = block_at(t, position / 64);
  unsigned i = position % 64;
  bool head = !t->has_heads || (block_heads(t, block) >> i & 1);
  return (struct slot){slot_remainder(t, block, i, t->width), slot_value(t, position), head};
}

static bool slots_alike(struct slot a, struct slot b) {
  return a.content == b.content && a.value == b.value && a.head == b.head;
}

/* ------------------------------------------------------------------ writing a diff */

bool besom__qtable_comparable(const struct qtable *a, const struct qtable *b) {
  return a->slots == b->slots && a->width == b->width && a->value_bits == b->value_bits &&
         a->has_heads == b->has_heads && a->code == b->code && has_slots_alone(a);
}

static uint64_t common_slots(const struct qtable *from, struct run a, const struct qtable *to,
                             struct run b) {
  uint64_t n = 0;
  while (a.start + n < a.end && b.start + n < b.end &&
         slots_alike(slot_at(from, a.start + n), slot_at(to, b.start + n)))
    n++;
  return n;
}

static void write_slot(const struct qtable *t, struct bit_writer *w, struct slot slot) {
  if (t->has_heads) write_bits(w, slot.head, 1);
  write_bits(w, slot.content, t->width);
  write_bits(w, slot.value, t->value_bits);
}

/* The runs of two tables that differ, in the order of their quotients. */
struct run_pairs {
  const struct qtable *from, *to;
  struct runs a, b;
  uint64_t quotient;
  struct run old, now; /* may be empty */
};

static struct run_pairs run_pairs_of(const struct qtable *from, const struct qtable *to) {
  return (struct run_pairs){.from = from, .to = to, .a = first_run(from), .b = first_run(to)};
}

/* Returns false if no more runs differ. */
static bool quotient_diff_next_pair(struct run_pairs *p) {
  static const struct run none = {0, 0};
  while (p->a.quotient < p->from->slots || p->b.quotient < p->to->slots) {
    p->quotient = p->a.quotient < p->b.quotient ? p->a.quotient : p->b.quotient;
    p->old = p->a.quotient == p->quotient ? p->a.run : none;
    p->now = p->b.quotient == p->quotient ? p->b.run : none;
    if (p->a.quotient == p->quotient) quotient_diff_next_run(&p->a);
    if (p->b.quotient == p->quotient) quotient_diff_next_run(&p->b);
    uint64_t common = common_slots(p->from, p->old, p->to, p->now);
    if (common < p->old.end - p->old.start || common < p->now.end - p->now.start) return true;
  }
  return false;
}

static void write_slots(const struct qtable *t, uint64_t start, uint64_t n, struct bit_writer *w) {
  for (uint64_t position = start; position < start + n; position++)
    write_slot(t, w, slot_at(t, position));
}

void besom__qtable_diff(const struct qtable *from, const struct qtable *to, struct bit_writer *w) {
  struct run_pairs p = run_pairs_of(from, to);
  for (uint64_t listed = 0; quotient_diff_next_pair(&p); listed = p.quotient) {
    uint64_t common = common_slots(from, p.old, to, p.now), more = p.now.end - p.now.start - common;
    write_gamma(w, p.quotient - listed);
    write_gamma(w, common);
    write_gamma(w, more);
    write_slots(to, p.now.start + common, more, w);
  }
  write_gamma(w, to->slots); /* a distance past the end: no more runs */
}

/* ------------------------------------------------------------------ the compact form */

/* How a run comes from the old one: `removed` slots after the first `kept` ones are replaced by
 * `inserted` new ones. */
struct splice {
  uint64_t kept, removed, inserted;
};

static struct splice splice_of(const struct run_pairs *p) {
  uint64_t old = p->old.end - p->old.start, now = p->now.end - p->now.start,
           kept = common_slots(p->from, p->old, p->to, p->now), same = 0; /* at the end */
  while (
      kept + same < old && kept + same < now &&
      slots_alike(slot_at(p->from, p->old.end - 1 - same), slot_at(p->to, p->now.end - 1 - same)))
    same++;
  return (struct splice){kept, old - kept - same, now - kept - same};
}

/* Most splices insert a slot, or remove one. */
static void write_splice(struct splice s, uint64_t old_slots, struct bit_writer *w) {
  bool one_in = !s.removed && s.inserted == 1, one_out = s.removed == 1 && !s.inserted;
  if (old_slots) write_gamma(w, s.kept);
  write_bits(w, !one_in, 1);
  if (!one_in) write_bits(w, !one_out, 1);
  if (one_in || one_out) return;
  write_gamma(w, s.removed);
  write_gamma(w, s.inserted);
}

static struct splice read_splice(uint64_t old_slots, struct bit_reader *r) {
  struct splice s = {old_slots ? read_gamma(r) : 0, 0, 1};
  if (!read_bits(r, 1)) return s;
  s.removed = 1;
  s.inserted = 0;
  if (!read_bits(r, 1)) return s;
  s.removed = read_gamma(r);
  s.inserted = read_gamma(r);
  return s;
}

void besom__qtable_diff_compact(const struct qtable *from, const struct qtable *to,
                                struct bit_writer *w) {
  uint64_t n = 0;
  struct run_pairs p = run_pairs_of(from, to);
  while (quotient_diff_next_pair(&p)) n++;
  unsigned k = 63 - (unsigned)__builtin_clzll(to->slots / (n + 1) | 1);
  write_bits(w, k, RICE_BITS);
  write_gamma(w, n);
  p = run_pairs_of(from, to);
  for (uint64_t next = 0; quotient_diff_next_pair(&p); next = p.quotient + 1) {
    struct splice s = splice_of(&p);
    write_rice(w, p.quotient - next, k);
    write_splice(s, p.old.end - p.old.start, w);
    write_slots(to, p.now.start + s.kept, s.inserted, w);
  }
}

/* ------------------------------------------------------------------ applying a diff */

static besom_status append_slot(struct qtable_appender *out, uint64_t quotient, struct slot slot) {
  unsigned width = out->table.width;
  besom_status status = slot.head ? qtable_append(out, quotient, slot.content, width)
                                  : qtable_append_further(out, slot.content, width);
  if (status == BESOM_OK && out->table.value_bits) qtable_append_value(out, slot.value);
  return status;
}

static besom_status quotient_diff_copy_slots(struct qtable_appender *out, uint64_t quotient,
                                             const struct qtable *from, struct run run) {
  besom_status status = BESOM_OK;
  for (uint64_t i = run.start; i < run.end && status == BESOM_OK; i++)
    status = append_slot(out, quotient, slot_at(from, i));
  return status;
}

static struct slot read_slot(const struct qtable *t, struct bit_reader *r) {
  bool head = !t->has_heads || read_bits(r, 1);
  uint64_t content = read_bits(r, t->width);
  return (struct slot){content, read_bits(r, t->value_bits), head};
}

/* A further slot of this content may be in a run of the table. */
static bool may_be_further(const struct qtable *t, uint64_t content) {
  return content || t->code == WHOLE_SLOTS;
}

/* Reads the run of a quotient that the diff lists. The old run may be empty. */
static besom_status quotient_diff_read_run(struct qtable_appender *out, uint64_t quotient,
                                           const struct qtable *from, struct run old,
                                           struct bit_reader *r) {
  uint64_t common = read_gamma(r), more = read_gamma(r);
  if (r->failed || common > old.end - old.start || more > from->room) return BESOM_CORRUPT;
  besom_status status =
      quotient_diff_copy_slots(out, quotient, from, (struct run){old.start, old.start + common});
  for (uint64_t i = 0; i < more && status == BESOM_OK; i++) {
    struct slot slot = read_slot(from, r);
    bool unsound = !slot.head && (!may_be_further(from, slot.content) || (!i && !common));
    if (r->failed || unsound) return BESOM_CORRUPT;
    status = append_slot(out, quotient, slot);
  }
  return status;
}

/* Copies the runs before a quotient. Then *old is its run, or empty. */
static besom_status copy_runs_before(struct qtable_appender *out, const struct qtable *from,
                                     struct runs *a, uint64_t quotient, struct run *old) {
  besom_status status = BESOM_OK;
  for (; a->quotient < quotient && status == BESOM_OK; quotient_diff_next_run(a))
    status = quotient_diff_copy_slots(out, a->quotient, from, a->run);
  *old = (struct run){0, 0};
  if (status == BESOM_OK && quotient < from->slots && a->quotient == quotient) {
    *old = a->run;
    quotient_diff_next_run(a);
  }
  return status;
}

besom_status besom__qtable_patch(const struct qtable *from, struct bit_reader *r,
                                 struct qtable *to) {
  struct qtable_appender out = qtable_append_start(to);
  struct runs a = first_run(from);
  besom_status status = BESOM_OK;
  for (uint64_t listed = 0, gap; status == BESOM_OK && !r->failed; listed += gap) {
    gap = read_gamma(r);
    bool last = gap >= from->slots - listed;
    uint64_t quotient = last ? from->slots : listed + gap;
    struct run old;
    status = copy_runs_before(&out, from, &a, quotient, &old);
    if (last || status != BESOM_OK) break;
    status = quotient_diff_read_run(&out, quotient, from, old, r);
  }
  qtable_append_finish(&out, to);
  return r->failed ? BESOM_CORRUPT : status;
}

/* Appends a slot of a run. */
static besom_status append_checked(struct qtable_appender *out, uint64_t quotient, struct slot slot,
                                   bool *is_first) {
  if (!slot.head && (*is_first || !may_be_further(&out->table, slot.content))) return BESOM_CORRUPT;
  *is_first = false;
  return append_slot(out, quotient, slot);
}

static besom_status quotient_diff_apply_splice(struct qtable_appender *out, uint64_t quotient,
                                               const struct qtable *from, struct run old,
                                               struct bit_reader *r) {
  uint64_t slots = old.end - old.start;
  struct splice s = read_splice(slots, r);
  if (r->failed || s.kept > slots || s.removed > slots - s.kept || s.inserted > from->room)
    return BESOM_CORRUPT;
  bool is_first = true;
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < s.kept && status == BESOM_OK; i++)
    status = append_checked(out, quotient, slot_at(from, old.start + i), &is_first);
  for (uint64_t i = 0; i < s.inserted && status == BESOM_OK; i++) {
    struct slot slot = read_slot(from, r);
    status = r->failed ? BESOM_CORRUPT : append_checked(out, quotient, slot, &is_first);
  }
  for (uint64_t i = s.kept + s.removed; i < slots && status == BESOM_OK; i++)
    status = append_checked(out, quotient, slot_at(from, old.start + i), &is_first);
  return status;
}

besom_status besom__qtable_patch_compact(const struct qtable *from, struct bit_reader *r,
                                         struct qtable *to) {
  struct qtable_appender out = qtable_append_start(to);
  struct runs a = first_run(from);
  struct run old;
  unsigned k = (unsigned)read_bits(r, RICE_BITS);
  uint64_t n = read_gamma(r), next = 0;
  besom_status status = BESOM_OK;
  for (uint64_t i = 0; i < n && status == BESOM_OK && !r->failed; i++) {
    uint64_t gap = read_rice(r, k);
    if (gap >= from->slots - next) {
      status = BESOM_CORRUPT;
      break;
    }
    status = copy_runs_before(&out, from, &a, next + gap, &old);
    if (status == BESOM_OK) status = quotient_diff_apply_splice(&out, next + gap, from, old, r);
    next += gap + 1;
  }
  if (status == BESOM_OK) status = copy_runs_before(&out, from, &a, from->slots, &old);
  qtable_append_finish(&out, to);
  return r->failed ? BESOM_CORRUPT : status;
}

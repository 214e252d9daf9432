/*
 * A diff lists the runs that differ. Each is: the distance of its quotient from that of the last
 * one listed, the number of slots at the beginning that the two runs share, the number of further
 * slots in the new run, and these slots. An insert moves the slots of a whole cluster but changes
 * one run. So the diff of two tables is as small as that of their sets.
 */
#include "quotient/quotient_diff.h"

#include "quotient/appender.h"
#include "quotient/cursor.h"

/* Iterates over the runs of a table. */
struct runs {
  struct qtable_cursor next; /* the first fingerprint of the next run */
  bool more;
  uint64_t quotient;
  struct run run; /* after the last: empty, and quotient is the table's slots */
};

static void next_run(struct runs *r) {
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
  next_run(&r);
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
  return (struct slot){slot_remainder(t, block, i, t->width), slot_value(t, block, i), head};
}

static bool slots_alike(struct slot a, struct slot b) {
  return a.content == b.content && a.value == b.value && a.head == b.head;
}

/* ------------------------------------------------------------------ writing a diff */

bool besom__qtable_comparable(const struct qtable *a, const struct qtable *b) {
  return a->slots == b->slots && a->width == b->width && a->value_bits == b->value_bits &&
         a->has_heads == b->has_heads && a->code == NO_CODE && b->code == NO_CODE;
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

/*
 * Writes a run of the new table, which may be empty, without the slots it shares with the old run.
 */
static void write_run(const struct qtable *to, struct run b, uint64_t gap, uint64_t common,
                      struct bit_writer *w) {
  write_gamma(w, gap);
  write_gamma(w, common);
  write_gamma(w, b.end - b.start - common);
  for (uint64_t position = b.start + common; position < b.end; position++)
    write_slot(to, w, slot_at(to, position));
}

void besom__qtable_diff(const struct qtable *from, const struct qtable *to, struct bit_writer *w) {
  struct runs a = first_run(from), b = first_run(to);
  static const struct run none = {0, 0};
  for (uint64_t listed = 0; a.quotient < from->slots || b.quotient < to->slots;) {
    uint64_t quotient = a.quotient < b.quotient ? a.quotient : b.quotient;
    struct run old = a.quotient == quotient ? a.run : none,
               now = b.quotient == quotient ? b.run : none;
    uint64_t common = common_slots(from, old, to, now);
    if (common < old.end - old.start || common < now.end - now.start) {
      write_run(to, now, quotient - listed, common, w);
      listed = quotient;
    }
    if (a.quotient == quotient) next_run(&a);
    if (b.quotient == quotient) next_run(&b);
  }
  write_gamma(w, to->slots); /* a distance past the end: no more runs */
}

/* ------------------------------------------------------------------ applying a diff */

static besom_status append_slot(struct qtable_appender *out, uint64_t quotient, struct slot slot) {
  unsigned width = out->table.width;
  besom_status status = slot.head ? qtable_append(out, quotient, slot.content, width)
                                  : qtable_append_further(out, slot.content, width);
  if (status == BESOM_OK && out->table.value_bits) qtable_append_value(out, slot.value);
  return status;
}

static besom_status copy_slots(struct qtable_appender *out, uint64_t quotient,
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

/* Reads the run of a quotient that the diff lists. The old run may be empty. */
static besom_status read_run(struct qtable_appender *out, uint64_t quotient,
                             const struct qtable *from, struct run old, struct bit_reader *r) {
  uint64_t common = read_gamma(r), more = read_gamma(r);
  if (r->failed || common > old.end - old.start || more > from->room) return BESOM_CORRUPT;
  besom_status status =
      copy_slots(out, quotient, from, (struct run){old.start, old.start + common});
  for (uint64_t i = 0; i < more && status == BESOM_OK; i++) {
    struct slot slot = read_slot(from, r);
    if (r->failed || (!slot.head && (!slot.content || (!i && !common)))) return BESOM_CORRUPT;
    status = append_slot(out, quotient, slot);
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
    for (; a.quotient < quotient && status == BESOM_OK; next_run(&a))
      status = copy_slots(&out, a.quotient, from, a.run);
    if (last || status != BESOM_OK) break;
    struct run old = {0, 0};
    if (a.quotient == quotient) {
      old = a.run;
      next_run(&a);
    }
    status = read_run(&out, quotient, from, old, r);
  }
  qtable_append_finish(&out, to);
  return r->failed ? BESOM_CORRUPT : status;
}

#include "quotient/table/table_resize.h"

#include "quotient/fingerprint/multislot.h"

void besom__qtable_resize_start(struct qtable_resizing *r, const struct qtable *from,
                                struct qtable *into) {
  *r = (struct qtable_resizing){.from = from, .into = into, .out = qtable_append_start(into)};
  besom__qtable_first(from, &r->at);
  r->run = r->at;
}

/*
 * Appends the cursor's fingerprint under a new quotient and remainder, with its value and further
 * slots. If its count would take more slots than that many separate fingerprints, appends these
 * instead: growing must not take slots from future keys.
 */
static besom_status append_resized(struct qtable_resizing *r, uint64_t quotient,
                                   uint64_t remainder) {
  unsigned width = r->into->width;
  if (LIKELY(r->at.slots == 1 && !r->into->value_bits)) {
    besom_status status = qtable_append(&r->out, quotient, remainder, width);
    if (r->hooks.placed && status == BESOM_OK)
      r->hooks.placed(r->hooks.into, &r->at, r->out.position - 1);
    return status;
  }
  struct fingerprint fp = besom__fingerprint_read(r->from, r->at.quotient, r->at.position);
  bool plain = fp.count == 1 && !fp.extension_bits;
  unsigned payload = further_payload_of(r->into);
  if (!plain && !payload) return BESOM_INVALID; /* a damaged table */
  fp.quotient = quotient;
  fp.remainder = remainder;
  uint64_t copies = 1;
  if (fp.count > 1 && member_slots_of(fp.count, payload) > fp.count)
    copies = fp.count, fp.count = 1;
  besom_status status = BESOM_OK;
  for (; copies && status == BESOM_OK; copies--) {
    r->extension_slots += extension_slots_of(&fp, payload);
    status = besom__fingerprint_append(&r->out, &fp);
  }
  return status;
}

/* The next fingerprint, with the remainder that the hook gives. False if there is none left. */
static bool next_to_resize(struct qtable_resizing *r, besom_status *status) {
  if (!besom__qtable_next(&r->at)) return false;
  if (r->hooks.remainder) *status = r->hooks.remainder(r->hooks.from, &r->at, &r->at.remainder);
  return true;
}

/* Handles one fingerprint. False if there is none left. */
static bool halve_one(struct qtable_resizing *r, besom_status *status) {
  if (!next_to_resize(r, status)) return false;
  if (*status != BESOM_OK) return true;
  uint64_t remainder = (r->at.quotient & 1) << r->from->width | r->at.remainder;
  *status = append_resized(r, r->at.quotient / 2, remainder);
  return true;
}

static bool double_one(struct qtable_resizing *r, besom_status *status) {
  uint64_t quotient = r->run.next_quotient;
  unsigned width = r->from->width;
  if (quotient >= r->from->slots || !next_to_resize(r, status)) return false;
  if (*status != BESOM_OK) return true;
  if (r->at.remainder >> (width - 1) == r->first_bit)
    *status =
        append_resized(r, 2 * quotient + r->first_bit, r->at.remainder & bits_below(width - 1));
  if (r->at.next_quotient != quotient) { /* the end of the run */
    if (r->first_bit)
      r->run = r->at;
    else
      r->at = r->run;
    r->first_bit ^= 1;
  }
  return true;
}

besom_status besom__qtable_resize_step(struct qtable_resizing *r, uint64_t max, bool *finished) {
  besom_status status = BESOM_OK;
  bool grow = r->into->slots > r->from->slots;
  *finished = false;
  for (; max && status == BESOM_OK; max--)
    if (!(grow ? double_one(r, &status) : halve_one(r, &status))) {
      qtable_append_finish(&r->out, r->into);
      *finished = true;
      break;
    }
  return status;
}

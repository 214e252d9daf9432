#include "quotient/fingerprint/quotient_geometry.h"

#include <math.h>

#include "kind.h"
#include "quotient/fingerprint/multislot.h"

#define MIN_COUNTING_WIDTH 3 /* in narrower slots a second copy takes as many slots as the first */

uint64_t besom__quotient_capacity(uint64_t slots, double reserve) {
  uint64_t taken = (slots + 19) / 20 + (uint64_t)(reserve * (double)slots);
  return taken < slots ? slots - taken : 1;
}

static uint64_t slots_for(uint64_t capacity, double reserve) {
  uint64_t slots = (uint64_t)((double)capacity / (0.95 - reserve));
  while (besom__quotient_capacity(slots, reserve) < capacity) slots++;
  return slots;
}

double besom__quotient_fpr(uint64_t items, uint64_t slots, unsigned width) {
  return -expm1(-ldexp((double)items / (double)slots, -(int)width));
}

unsigned besom__quotient_width(uint64_t items, uint64_t slots, double rate, unsigned width) {
  while (width <= 64 && besom__quotient_fpr(items, slots, width) > rate) width++;
  return width;
}

/* The widest remainder within the given bits per key; 0 if there is none. */
static unsigned quotient_geometry_width_for_bits(const besom_config *config, size_t head_bytes,
                                                 struct qtable_shape shape) {
  double budget = config->bits_per_key * (double)config->capacity / 8;
  for (shape.width = 64; shape.width; shape.width--) {
    uint64_t bytes = besom__qtable_bytes(&shape);
    if (bytes && (double)bytes + (double)head_bytes <= budget) break;
  }
  return shape.width;
}

static uint64_t halved(uint64_t slots, unsigned times) {
  return (slots + (UINT64_C(1) << times) - 1) >> times;
}

/*
 * How many times the final table of a growing filter can be halved and still hold the first
 * `capacity` keys.
 */
static unsigned halvings_of(uint64_t last_slots, uint64_t capacity, double reserve) {
  unsigned times = 0;
  while (halved(last_slots, times) > 1 &&
         besom__quotient_capacity(halved(last_slots, times + 1), reserve) >= capacity)
    times++;
  return times;
}

static struct qtable_shape plan_slots(const besom_config *config, double reserve,
                                      struct qtable_shape shape, double rate, unsigned min_width) {
  shape.slots = config->slots;
  shape.width = config->width;
  uint64_t capacity = besom__quotient_capacity(shape.slots, reserve);
  if (!shape.width) shape.width = besom__quotient_width(capacity, shape.slots, rate, min_width);
  return shape;
}

besom_status besom__quotient_geometry(const besom_config *config, size_t head_bytes, double reserve,
                                      struct qtable_shape *shape) {
  unsigned min_width = shape->width ? shape->width : 1;
  double rate = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (config->slots) {
    *shape = plan_slots(config, reserve, *shape, rate, min_width);
    return shape->width >= min_width && shape->width <= 64 ? BESOM_OK : BESOM_INVALID;
  }
  /*
   * A filter that will grow starts as its final table, halved: it has all remainder bits that
   * growing will take.
   */
  uint64_t last = config->max_capacity ? config->max_capacity : config->capacity;
  unsigned halvings = last > config->capacity
                          ? halvings_of(slots_for(last, reserve), config->capacity, reserve)
                          : 0;
  shape->slots = halved(slots_for(last, reserve), halvings);
  shape->width =
      config->bits_per_key != 0
          ? quotient_geometry_width_for_bits(config, head_bytes, *shape)
          : halvings + besom__quotient_width(last, shape->slots << halvings, rate, min_width);
  return shape->width >= halvings + min_width && shape->width <= 64 ? BESOM_OK : BESOM_INVALID;
}

/* ------------------------------------------------------------------ keys with copies */

/* The slots of a key with copies. */
static double slots_of_repeated(const struct repetition *r, unsigned width) {
  return (double)(r->counted ? besom__slots_of_copies(r->copies, width) : r->copies);
}

/* The mean number of slots per distinct key. */
static double slots_per_key(const struct repetition *r, unsigned width) {
  return r->share > 0 ? 1 + r->share * (slots_of_repeated(r, width) - 1) : 1;
}

/* Rounded up, but exact products may come out a little too high. */
static double slots_for_keys(double keys, double per_key) {
  return ceil(keys * per_key * (1 - 0x1p-50));
}

uint64_t besom__keys_within(const struct repetition *r, uint64_t slots, unsigned width) {
  double per_key = slots_per_key(r, width), keys = floor((double)slots / per_key);
  if (per_key == 1) return slots;
  if (slots_for_keys(keys + 1, per_key) <= (double)slots) keys++;
  return keys < 1 ? 1 : (uint64_t)keys;
}

/*
 * The configuration of a table in which every slot has a key of its own: the same memory and the
 * same false-positive rate, to which only one slot of a key contributes. INVALID if it is too
 * large.
 */
static besom_status without_copies(const besom_config *config, double per_key, besom_config *out) {
  double capacity = slots_for_keys((double)config->capacity, per_key),
         max_capacity = slots_for_keys((double)config->max_capacity, per_key),
         rate = config->fpr != 0 ? config->fpr : DEFAULT_FPR;
  if (fmax(capacity, max_capacity) > (double)MAX_CAPACITY) return BESOM_INVALID;
  *out = *config;
  out->capacity = (uint64_t)capacity;
  out->max_capacity = (uint64_t)max_capacity;
  if (config->bits_per_key != 0)
    out->bits_per_key *= (double)config->capacity / capacity;
  else
    out->fpr = fmin(-expm1(per_key * log1p(-rate)), 1 - 0x1p-53);
  return BESOM_OK;
}

/* The remainder width after all growing: that of the smallest table for max_capacity. */
static unsigned last_width(const besom_config *config, const struct qtable_shape *shape,
                           double reserve) {
  unsigned width = shape->width;
  for (uint64_t slots = shape->slots;
       besom__quotient_capacity(slots, reserve) < config->max_capacity && width > 1; slots *= 2)
    width--;
  return width;
}

/*
 * Slots that come in groups of mean square m2 and mean m spill over the end of the table as far as
 * m2 / m times single ones: more than k slots with a probability of exp(-2 k (1 - load) m / m2).
 * Whether the tail is long enough for that.
 */
static bool tail_is_enough(const struct repetition *r, double keys,
                           const struct qtable_shape *shape) {
  double repeated = slots_of_repeated(r, shape->width), mean = slots_per_key(r, shape->width),
         mean_square = 1 + r->share * (repeated * repeated - 1), slots = (double)shape->slots,
         tail = (double)(besom__qtable_room(shape->slots) - shape->slots);
  return 2 * tail * (1 - keys * mean / slots) * mean / mean_square >= 8;
}

/*
 * Narrower remainders need more slots for counters, and more slots may allow narrower remainders:
 * repeats until both agree. Lowers the load factor if long runs could overflow the tail, to half of
 * it at most: kinds without counters are not made for many copies of a key.
 */
besom_status besom__counting_geometry(const besom_config *config, size_t head_bytes, double reserve,
                                      bool counted, struct qtable_shape *shape,
                                      struct repetition *r) {
  *r = (struct repetition){.share = config->repeated, .counted = counted};
  if (!(r->share > 0)) return besom__quotient_geometry(config, head_bytes, reserve, shape);
  r->copies = config->copies ? config->copies : 2;
  if (counted && shape->width < MIN_COUNTING_WIDTH) shape->width = MIN_COUNTING_WIDTH;
  double per_key = slots_per_key(r, 64), spread = 1;
  for (;;) {
    besom_config slots;
    struct qtable_shape planned = *shape;
    besom_status status = without_copies(config, per_key * spread, &slots);
    if (status == BESOM_OK)
      status = besom__quotient_geometry(&slots, head_bytes, reserve, &planned);
    if (status != BESOM_OK) return status;
    double needed = slots_per_key(r, last_width(&slots, &planned, reserve));
    if (needed > per_key) {
      per_key = needed;
    } else if (config->slots || spread > 2 ||
               tail_is_enough(r, (double)config->capacity, &planned)) {
      *shape = planned;
      return BESOM_OK;
    } else {
      spread *= 1.05;
    }
  }
}

/* ------------------------------------------------------------------ for planners */

double besom__quotient_bits_per_key(double keys, double *rate, struct qtable_shape shape) {
  if (!(keys >= 1 && keys <= (double)MAX_CAPACITY)) return 0;
  shape.slots = slots_for((uint64_t)keys, 0);
  shape.width = besom__quotient_width((uint64_t)keys, shape.slots, *rate, 1);
  if (shape.width > 64) return 0;
  *rate = besom__quotient_fpr((uint64_t)keys, shape.slots, shape.width);
  return 8 * (double)besom__qtable_bytes(&shape) / keys;
}

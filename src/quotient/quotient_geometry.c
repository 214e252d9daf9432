#include "quotient/quotient_geometry.h"

#include <math.h>

#include "filter.h"

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
static unsigned width_for_bits(const besom_config *config, size_t head_bytes,
                               struct qtable_shape shape) {
  double budget = config->bits_per_key * (double)config->capacity / 8;
  for (shape.width = 64; shape.width; shape.width--) {
    size_t bytes = besom__qtable_bytes(&shape);
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
          ? width_for_bits(config, head_bytes, *shape)
          : halvings + besom__quotient_width(last, shape->slots << halvings, rate, min_width);
  return shape->width >= halvings + min_width && shape->width <= 64 ? BESOM_OK : BESOM_INVALID;
}

double besom__quotient_bits_per_key(double keys, double *rate, struct qtable_shape shape) {
  if (!(keys >= 1 && keys <= (double)MAX_CAPACITY)) return 0;
  shape.slots = slots_for((uint64_t)keys, 0);
  shape.width = besom__quotient_width((uint64_t)keys, shape.slots, *rate, 1);
  if (shape.width > 64) return 0;
  *rate = besom__quotient_fpr((uint64_t)keys, shape.slots, shape.width);
  return 8 * (double)besom__qtable_bytes(&shape) / keys;
}

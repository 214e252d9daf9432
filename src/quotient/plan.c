#include "quotient/plan.h"

#include <math.h>

#include "filter.h"

uint64_t besom__quotient_capacity(uint64_t slots) {
  uint64_t capacity = slots - (slots + 19) / 20;
  return capacity ? capacity : 1;
}

static uint64_t slots_for(uint64_t capacity) {
  uint64_t slots = (capacity * 20 + 18) / 19;
  while (besom__quotient_capacity(slots) < capacity) slots++;
  return slots;
}

double besom__quotient_rate(uint64_t items, uint64_t slots, unsigned width) {
  return -expm1(-ldexp((double)items / (double)slots, -(int)width));
}

static unsigned width_for_rate(uint64_t items, uint64_t slots, double rate) {
  unsigned width = 1;
  while (width < 64 && besom__quotient_rate(items, slots, width) > rate) width++;
  return width;
}

/* The widest remainder within the budget of bits; 0 if none is. */
static unsigned width_for_bits(const besom_config *config, size_t head_bytes, struct qtable_shape shape) {
  double budget = config->bits * (double)config->capacity / 8;
  for (shape.width = 64; shape.width; shape.width--) {
    size_t bytes = besom__qtable_bytes(&shape);
    if (bytes && (double)bytes + (double)head_bytes <= budget) break;
  }
  return shape.width;
}

besom_status besom__quotient_plan(const besom_config *config, size_t head_bytes, struct qtable_shape *shape) {
  if (config->slots) {
    shape->slots = config->slots;
    uint64_t capacity = besom__quotient_capacity(shape->slots);
    shape->width = config->width;
    if (!shape->width)
      shape->width = width_for_rate(capacity, shape->slots, config->rate != 0 ? config->rate : DEFAULT_RATE);
    return BESOM_OK;
  }
  /* A table that is to grow begins as the last one, halved: what it will need of bits is there from the start. */
  uint64_t last = config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
  uint64_t last_slots = slots_for(last);
  unsigned doublings = 0;
  while (besom__quotient_capacity((last_slots + (UINT64_C(2) << doublings) - 1) >> (doublings + 1)) >= config->capacity &&
         last > config->capacity && (last_slots >> (doublings + 1)) > 0)
    doublings++;
  shape->slots = (last_slots + (UINT64_C(1) << doublings) - 1) >> doublings;
  if (config->bits != 0)
    shape->width = width_for_bits(config, head_bytes, *shape);
  else
    shape->width =
        doublings + width_for_rate(last, shape->slots << doublings, config->rate != 0 ? config->rate : DEFAULT_RATE);
  return shape->width > doublings && shape->width <= 64 ? BESOM_OK : BESOM_INVALID;
}

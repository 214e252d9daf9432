/* Sizes and offsets of the structs of besom.h, which a test compares with those of src/lib.rs. */
#include "besom.h"

#define SIZE(type) sizeof(type)
#define AT(type, member) offsetof(type, member)

size_t besom_sys_layout(size_t i) {
  static const size_t numbers[] = {
      SIZE(besom_config),
      AT(besom_config, capacity),
      AT(besom_config, fpr),
      AT(besom_config, flags),
      AT(besom_config, threads),
      AT(besom_config, grouping),
      SIZE(besom_input),
      AT(besom_input, like),
      AT(besom_input, merge_updates),
      SIZE(besom_statistics),
      AT(besom_statistics, width),
      AT(besom_statistics, reserve_used),
      SIZE(besom_open_options),
      SIZE(besom_bytes),
      SIZE(besom_source),
      SIZE(besom_progress),
      SIZE(besom_sink),
      SIZE(besom_counter),
      SIZE(besom_kind_info),
      SIZE(besom_digest),
  };
  return i < sizeof numbers / sizeof *numbers ? numbers[i] : 0;
}

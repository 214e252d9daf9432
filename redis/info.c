/* AF.CARD and AF.INFO. */
#include "command.h"
#include "counters.h"

int card_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  (void)argc;
  struct af *af;
  enum lookup found = lookup_for_read(ctx, argv[1], &af);
  if (found == MISSING) return RedisModule_ReplyWithLongLong(ctx, 0);
  if (found != FOUND) return reply_lookup_error(ctx, found);
  return RedisModule_ReplyWithLongLong(ctx, (long long)af->items);
}

/* ------------------------------------------------------------------ AF.INFO */

/* A field is a string, an integer or a fraction. */
struct field {
  const char *name;
  const char *string;
  uint64_t number;
  double fraction;
  bool is_fraction;
};

static int reply_field(RedisModuleCtx *ctx, const struct field *field) {
  if (field->string) return RedisModule_ReplyWithCString(ctx, field->string);
  if (field->is_fraction) return RedisModule_ReplyWithDouble(ctx, field->fraction);
  return RedisModule_ReplyWithLongLong(ctx, (long long)field->number);
}

static int reply_fields(RedisModuleCtx *ctx, const struct field *fields, size_t n,
                        RedisModuleString *only) {
  if (!only) RedisModule_ReplyWithMap(ctx, (long)n);
  for (size_t i = 0; i < n; i++) {
    if (only && is_word(only, fields[i].name)) return reply_field(ctx, &fields[i]);
    if (only) continue;
    RedisModule_ReplyWithCString(ctx, fields[i].name);
    reply_field(ctx, &fields[i]);
  }
  return only ? RedisModule_ReplyWithError(ctx,
                                           "ERR no such field: AF.INFO without a field lists them")
              : REDISMODULE_OK;
}

/*
 * A value without a filter: AF.LOADCHUNK has not received all chunks, or it is marked incomplete.
 */
static int reply_incomplete_info(RedisModuleCtx *ctx, const struct af *af, enum lookup found,
                                 RedisModuleString *only) {
  const struct field fields[] = {
      {"state", .string = found == MARKED ? "incomplete" : "loading"},
      {"size", .number = af_bytes(af)},
  };
  return reply_fields(ctx, fields, sizeof fields / sizeof *fields, only);
}

static uint64_t counter_or_zero(const struct af *af, const char *name) {
  besom_filter *view = af_view(af);
  uint64_t n = view ? counter_of(view, name) : 0;
  af_end_view(af, view);
  return n;
}

int info_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
  struct af *af;
  if (argc > 3) return RedisModule_WrongArity(ctx);
  enum lookup found = lookup_for_read(ctx, argv[1], &af);
  if (found == INCOMPLETE || found == MARKED)
    return reply_incomplete_info(ctx, af, found, argc == 3 ? argv[2] : NULL);
  if (found != FOUND) return reply_lookup_error(ctx, found);
  besom_statistics stats = af_stats(af);
  struct shape shape = af_shape(af);
  static const struct frozen no_layers = {0};
  const struct frozen *frozen = af->frozen ? af->frozen : &no_layers;
  const struct field fields[] = {
      {"state", .string = "complete"},
      {"kind", .string = shape.kind},
      {"hash", .string = af_has_filter(af) ? stats.hash : "none"},
      {"capacity", .number = shape.capacity},
      {"maxcapacity", .number = shape.expansion ? af->max_capacity : shape.capacity},
      {"expansion", .number = shape.expansion},
      {"layers", .number = shape.layers},
      {"items", .number = af->items},
      {"size", .number = af_bytes(af)},
      {"slots", .number = stats.slots},
      {"width", .number = stats.width},
      {"expected-fpr", .fraction = stats.expected_fpr, .is_fraction = true},
      {"fpr-at-capacity", .fraction = stats.fpr_at_capacity, .is_fraction = true},
      {"reports", .number = af->reports},
      {"fixed", .number = af->fixed},
      {"refused", .number = af->refused},
      {"forgotten", .number = counter_or_zero(af, "forgotten") + frozen->exceptions.forgotten},
      {"exceptions", .number = counter_or_zero(af, "exceptions") + frozen->exceptions.count},
      {"reserve-used", .fraction = stats.reserve_used, .is_fraction = true},
      {"report-policy", .string = shape.forgets_reports ? "forget" : "refuse"},
      {"frozen-layers", .number = frozen->layers},
      {"frozen-items", .number = frozen->items},
  };
  return reply_fields(ctx, fields, sizeof fields / sizeof *fields, argc == 3 ? argv[2] : NULL);
}

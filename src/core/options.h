/*
 * Options, "name=value,name=value" of besom_config.options. The table of a kind (kind.h) says which
 * it has, and where a value goes in the struct that the kind reads them into: a uint64_t, or
 * besom_bytes if the type is KIND or TEXT. What besom_kind_option tells is the same table.
 */
#ifndef BESOM_CORE_OPTIONS_H
#define BESOM_CORE_OPTIONS_H

#include "core/cpu.h"
#include "core/explain.h"

struct option {
  besom_bytes name, value;
};

/*
 * Reads the next option and advances *text. Returns OK, END (no more options), or BAD_OPTION (not
 * of the form name=value). An empty or NULL text has no options.
 */
besom_status besom__option_next(const char **text, struct option *option);

/* Whether a name or a value is this word. */
bool besom__says(besom_bytes text, const char *word);

/* Appends an option to a text in a buffer of so many bytes. False: it does not fit. */
bool besom__option_append(char *text, size_t size, const struct option *option);

/* -------------------------------------------------------------- tables */

/*
 * Of an option that is not given: the default (of a word: its place in `words`, from 0); if that is
 * no such value, this, or an empty text.
 */
#define OPTION_UNSET UINT64_MAX

struct option_row {
  besom_option_info info;
  size_t at;
};

extern const char besom__isa_words[];

/* The member of the values has the name of the option. */
#define OPTION_ROW(values, option, ...) \
  { {#option, __VA_ARGS__}, offsetof(struct values, option) }
#define OPTION_WORDS(values, option, list, text) \
  OPTION_ROW(values, option, BESOM_OPTION_WORD, .words = (list), .meaning = (text))
#define OPTION_NUMBER(values, option, form, low, high, by_default, text)          \
  OPTION_ROW(values, option, BESOM_OPTION_##form, .least = (low), .most = (high), \
             .standard = (by_default), .meaning = (text))
#define OPTION_ISA(values)                                                                  \
  OPTION_ROW(values, isa, BESOM_OPTION_WORD, .words = besom__isa_words, .standard = "best", \
             .meaning = "instruction set")

#define OPTION_ROWS(list) .rows = (list), .n = sizeof(list) / sizeof *(list)

struct option_table {
  const struct option_row *rows;
  size_t n;
  bool passes_on;      /* options of other names are for the kind of the layers */
  bool passes_reports; /* those for reports, too */
  /* Optional: says why the values exclude each other, or returns NULL. */
  const char *(*conflict)(const void *values);
};

/* The most bytes that the values of a kind take. */
#define OPTION_VALUES_BYTES 128

/* The options of every kind that concern reported keys (exceptions/reports.h). */
struct report_values {
  uint64_t max_exceptions, forget, exceptions;
};
extern const struct option_table besom__report_options;

/* The table of a kind that has the option isa alone, as its only value. */
struct isa_values {
  uint64_t isa;
};
extern const struct option_row besom__isa_row[1];
#define ISA_ONLY \
  { OPTION_ROWS(besom__isa_row) }

/* -------------------------------------------------------------- reading */

struct option_reader {
  const struct option_table *table;
  void *values;                  /* NULL: options are only checked; with reports, names are not */
  struct report_values *reports; /* NULL: they are accepted, but not read */
  char *others;                  /* Gets the options for layers, if the table passes them on. */
  size_t others_size;
  const char *kind; /* for explanations */
  struct explanation *why;
};

/* Errors: BAD_OPTION. */
besom_status besom__options_read_all(struct option_reader *r, const char *text);

/* The values of a kind without layers. Errors: BAD_OPTION. */
besom_status besom__options_read(const struct option_table *table, const char *text, void *values);

/* The instruction set that such a value means: of this machine the best, if it is not given. */
static inline enum isa isa_of_option(uint64_t value) {
  return value == OPTION_UNSET ? besom__isa_best() : (enum isa)value;
}

/* Of a kind whose table is ISA_ONLY. Errors: BAD_OPTION. */
besom_status besom__option_isa(const struct option_table *table, const char *text, enum isa *isa);

#endif

#include "core/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char besom__isa_words[] = "portable, avx2, avx512"; /* in the order of enum isa */
const struct option_row besom__isa_row[] = {OPTION_ISA(isa_values)};

static const struct option_row report_rows[] = {
    OPTION_NUMBER(report_values, max_exceptions, NUMBER, 1, UINT64_C(1) << 40,
                  "0.625 * reserve * capacity, at least 64",
                  "the most exceptions, besides `no_capacity`"),
    OPTION_WORDS(report_values, forget, "no, yes",
                 "at the limit: forget old exceptions, instead of RESERVE_FULL"),
    OPTION_ROW(report_values, exceptions, BESOM_OPTION_WORD, .words = "short, full",
               .standard = "short; full if the seed is often public",
               .meaning = "store 60 bits beyond the fingerprint, or the whole digest"),
};
const struct option_table besom__report_options = {OPTION_ROWS(report_rows)};

/* -------------------------------------------------------------- the text */

besom_status besom__option_next(const char **text, struct option *option) {
  if (!*text || !**text) return BESOM_END;
  size_t len = strcspn(*text, ",");
  const char *sign = memchr(*text, '=', len);
  if (!sign || sign == *text || sign == *text + len - 1) return BESOM_BAD_OPTION;
  if ((*text)[len] == ',' && !(*text)[len + 1]) return BESOM_BAD_OPTION; /* a trailing comma */
  option->name = (besom_bytes){*text, (size_t)(sign - *text)};
  option->value = (besom_bytes){sign + 1, len - option->name.len - 1};
  *text += len + ((*text)[len] == ',');
  return BESOM_OK;
}

static bool equals(besom_bytes bytes, const char *text, size_t len) {
  return len == bytes.len && memcmp(text, bytes.data, bytes.len) == 0;
}

bool besom__says(besom_bytes text, const char *word) {
  return equals(text, word, strlen(word));
}

/* Name, sign and value stand together in the text. */
static size_t option_length(const struct option *option) {
  return option->name.len + 1 + option->value.len;
}

bool besom__option_append(char *text, size_t size, const struct option *option) {
  size_t len = strlen(text), more = option_length(option) + (len > 0);
  if (len + more >= size) return false;
  if (len) text[len++] = ',';
  memcpy(text + len, option->name.data, option_length(option));
  text[len + option_length(option)] = 0;
  return true;
}

/* -------------------------------------------------------------- values */

/* The place of a word in a list with ", " between them. */
static bool find_word(const char *words, besom_bytes word, uint64_t *place) {
  for (*place = 0;; ++*place) {
    size_t len = strcspn(words, ",");
    if (equals(word, words, len)) return true;
    if (!words[len]) return false;
    words += len + 2;
  }
}

static bool read_number(besom_bytes text, uint64_t *out) {
  const char *digits = text.data;
  *out = 0;
  for (size_t i = 0; i < text.len; i++) {
    if (digits[i] < '0' || digits[i] > '9' || *out > (UINT64_MAX - 9) / 10) return false;
    *out = *out * 10 + (uint64_t)(digits[i] - '0');
  }
  return true;
}

/* Whether the option may have this value; *number: its place, if it is a word. */
static bool accepts(const besom_option_info *o, besom_bytes value, uint64_t *number) {
  if (o->type == BESOM_OPTION_TEXT || (o->type == BESOM_OPTION_KIND && !o->words)) return true;
  if (o->words)
    return find_word(o->words, value, number) &&
           (o->words != besom__isa_words || *number <= besom__isa_best());
  return read_number(value, number) && *number >= o->least && *number <= o->most &&
         (o->type != BESOM_OPTION_ODD || *number % 2) &&
         (o->type != BESOM_OPTION_POWER || !(*number & (*number - 1)));
}

/* value: NULL data if there is none. */
static void keep_value(const struct option_row *row, besom_bytes value, uint64_t number,
                       void *values) {
  bool is_text = row->info.type == BESOM_OPTION_KIND || row->info.type == BESOM_OPTION_TEXT;
  if (is_text)
    memcpy((char *)values + row->at, &value, sizeof value);
  else
    memcpy((char *)values + row->at, &number, sizeof number);
}

static bool read_value(const struct option_row *row, besom_bytes value, void *values) {
  uint64_t number = 0;
  if (!accepts(&row->info, value, &number)) return false;
  if (values) keep_value(row, value, number, values);
  return true;
}

static void set_defaults(const struct option_table *table, void *values) {
  for (size_t i = 0; i < table->n; i++) {
    const struct option_row *row = &table->rows[i];
    const char *standard = row->info.standard, *words = row->info.words;
    besom_bytes text = {standard ? standard : words,
                        standard ? strlen(standard) : strcspn(words, ",")};
    if (row->info.type == BESOM_OPTION_TEXT || !read_value(row, text, values))
      keep_value(row, (besom_bytes){NULL, 0}, OPTION_UNSET, values);
  }
}

/* -------------------------------------------------------------- explanations */

enum { SHOWN_BYTES = 60, SENTENCE_BYTES = 400 };

static int shown(size_t len) {
  return (int)(len < SHOWN_BYTES ? len : SHOWN_BYTES);
}

static besom_status explain_value(const struct option_reader *r, const struct option *option,
                                  const besom_option_info *o) {
  static const char *const forms[] = {[BESOM_OPTION_NUMBER] = "a number",
                                      [BESOM_OPTION_ODD] = "an odd number",
                                      [BESOM_OPTION_POWER] = "a power of two"};
  char range[SENTENCE_BYTES];
  if (o->words)
    snprintf(range, sizeof range, "%s %s",
             o->words == besom__isa_words ? "what this machine has of" : "one of", o->words);
  else if (o->most == UINT64_MAX)
    snprintf(range, sizeof range, "%s, %" PRIu64 " or more", forms[o->type], o->least);
  else
    snprintf(range, sizeof range, "%s, %" PRIu64 " to %" PRIu64, forms[o->type], o->least, o->most);
  return besom__explain(r->why, BESOM_BAD_OPTION, "option \"%.*s\" of kind \"%s\": %s is %s",
                        shown(option_length(option)), (const char *)option->name.data, r->kind,
                        o->name, range);
}

static void list_names(const struct option_table *table, char list[SENTENCE_BYTES]) {
  for (size_t i = 0, len = strlen(list); i < table->n; i++)
    len += (size_t)snprintf(list + len, SENTENCE_BYTES - len, "%s%s", len ? ", " : "",
                            table->rows[i].info.name);
}

static besom_status explain_name(const struct option_reader *r, const struct option *option) {
  char names[SENTENCE_BYTES] = "";
  list_names(r->table, names);
  if (!r->table->passes_reports) list_names(&besom__report_options, names);
  return besom__explain(r->why, BESOM_BAD_OPTION, "option \"%.*s\": kind \"%s\" has only %s",
                        shown(option_length(option)), (const char *)option->name.data, r->kind,
                        names);
}

/* -------------------------------------------------------------- reading */

static const struct option_row *find_row(const struct option_table *table, besom_bytes name) {
  for (size_t i = 0; i < table->n; i++)
    if (besom__says(name, table->rows[i].info.name)) return &table->rows[i];
  return NULL;
}

/* Whether there are only options about reports, one at least. */
static bool is_of_reports(const char *text) {
  struct option option;
  besom_status status;
  while ((status = besom__option_next(&text, &option)) == BESOM_OK)
    if (!find_row(&besom__report_options, option.name)) return false;
  return status == BESOM_END;
}

/* A text is the last option, but for those about reports: it may have commas. */
static bool take_text(struct option_reader *r, const char **at) {
  if (!*at) return false;
  besom_bytes name = {*at, strcspn(*at, "=,")};
  const struct option_row *row = (*at)[name.len] == '=' ? find_row(r->table, name) : NULL;
  if (!row || row->info.type != BESOM_OPTION_TEXT) return false;
  const char *text = *at + name.len + 1;
  size_t len = strcspn(text, ",");
  while (text[len] && !(text[len + 1] && is_of_reports(text + len + 1)))
    len += 1 + strcspn(text + len + 1, ",");
  *at = text + len + (text[len] == ',');
  return read_value(row, (besom_bytes){text, len}, r->values);
}

static besom_status take_option(struct option_reader *r, const struct option *option) {
  const struct option_row *row = find_row(r->table, option->name);
  void *values = r->values;
  if (!row && !r->table->passes_reports && (row = find_row(&besom__report_options, option->name)))
    values = r->reports;
  if (!row && r->reports && !r->values) return BESOM_OK;
  if (row)
    return read_value(row, option->value, values) ? BESOM_OK : explain_value(r, option, &row->info);
  if (!r->table->passes_on) return explain_name(r, option);
  if (besom__option_append(r->others, r->others_size, option)) return BESOM_OK;
  return besom__explain(r->why, BESOM_BAD_OPTION,
                        "options for the base of kind \"%s\" have more than %zu bytes", r->kind,
                        r->others_size - 1);
}

besom_status besom__options_read_all(struct option_reader *r, const char *text) {
  const char *at = text, *conflict = NULL;
  struct option option;
  besom_status status = BESOM_OK;
  if (r->values) set_defaults(r->table, r->values);
  if (r->reports) set_defaults(&besom__report_options, r->reports);
  if (r->others) *r->others = 0;
  while (status == BESOM_OK)
    if (!take_text(r, &at) && (status = besom__option_next(&at, &option)) == BESOM_OK)
      if ((status = take_option(r, &option)) != BESOM_OK) return status;
  if (status != BESOM_END)
    return besom__explain(r->why, status, "options \"%.60s\" is not name=value,name=value", text);
  if (r->values && r->table->conflict) conflict = r->table->conflict(r->values);
  if (!conflict) return BESOM_OK;
  return besom__explain(r->why, BESOM_BAD_OPTION, "options \"%.60s\": %s", text, conflict);
}

besom_status besom__options_read(const struct option_table *table, const char *text, void *values) {
  return besom__options_read_all(&(struct option_reader){.table = table, .values = values}, text);
}

besom_status besom__option_isa(const struct option_table *table, const char *text, enum isa *isa) {
  struct isa_values o;
  besom_status status = besom__options_read(table, text, &o);
  if (status == BESOM_OK) *isa = isa_of_option(o.isa);
  return status;
}

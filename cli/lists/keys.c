#include "lists/keys.h"

#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "besom_fixes.h"
#include "fail.h"
#include "lists/domains.h"
#include "lists/input.h"
#include "lists/list_format.h"
#include "lists/newlines.h"
#include "number_text.h"

#ifndef KEYS_BUFFER_BYTES /* a test makes it small */
#define KEYS_BUFFER_BYTES (1 << 18)
#endif

enum { MAX_KEY = 1 << 20, LENGTH_BYTES = 4 };

/* Takes keys of the buffer: at most KEYS_PER_BATCH. Returns their number, 0 if the buffer has no
 * complete key. */
typedef size_t take_keys(key_reader *r, besom_bytes *keys);

struct key_reader {
  key_form form;
  input_files *in;
  take_keys *take;
  char *buffer;          /* and NEWLINES_SLACK bytes more */
  size_t size, from, to; /* of the buffer; its bytes from..to are not consumed yet */
  bool at_end;           /* end of the open file */
  bool has_nul, has_cr;  /* the open file has such bytes */
  uint64_t line;         /* lines (or keys) consumed of the open file */
  bool is_hosts, is_suggested;
  text_part names; /* hosts: names of the last line that are not taken yet */
  size_t column;   /* csv: from 1; 0: its name is not looked up yet */
  const char *column_name;
  keys_skipped skipped;
  char (*spellings)[DOMAIN_BYTES]; /* domains: of the keys of a batch */
  unsigned most_labels;
  const besom_bytes *appended;
  size_t appended_n, appended_at;
  key_test *is_excluded;
  const void *excluded;
  uint64_t count, count_of_files;
  besom_bytes batch[KEYS_PER_BATCH]; /* of keys_next */
  size_t batch_at, batch_n;
  uint64_t lines[KEYS_PER_BATCH]; /* of the keys of the last batch */
  char position[300];
};

/* ------------------------------------------------------------------ messages */

static bool is_binary(const key_form *form) {
  return form->null || form->length_prefixed;
}

static const char *position_of(const key_reader *r, uint64_t line) {
  snprintf((char *)(uintptr_t)r->position, sizeof r->position, "%s:%s%llu", input_name(r->in),
           is_binary(&r->form) ? "key " : "", (unsigned long long)line);
  return r->position;
}

const char *keys_position(const key_reader *r) {
  return position_of(r, r->batch_at ? r->lines[r->batch_at - 1] : 0);
}

const char *keys_batch_position(const key_reader *r, size_t i) {
  return position_of(r, r->lines[i]);
}

static _Noreturn void too_long(const key_reader *r, uint64_t line) {
  fail("%s: key longer than %d bytes: is this a file of keys?", position_of(r, line), MAX_KEY);
}

static void refuse_nul(const key_reader *r, besom_bytes key, uint64_t line) {
  if (r->has_nul && key.len && memchr(key.data, 0, key.len))
    fail("%s: a NUL byte: is this a text file? If its keys end with NUL bytes: --null",
         position_of(r, line));
}

/* Keys of a list that show that the file has another format. */
static void check_list(const key_reader *r, besom_bytes key, uint64_t line) {
  refuse_nul(r, key, line);
  if (r->has_cr && key.len && memchr(key.data, '\r', key.len))
    fail("%s: a carriage return within a line: convert the line ends, or use --null or "
         "--length-prefixed for keys with any bytes",
         position_of(r, line));
}

/* ------------------------------------------------------------------ lines */

static void to_lower(char *key, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (key[i] >= 'A' && key[i] <= 'Z') key[i] = (char)(key[i] + ('a' - 'A'));
}

const char *key_of_word(const char *word, const key_form *form) {
  if (!form->lowercase) return word;
  char *key = allocate(strlen(word) + 1, 1);
  memcpy(key, word, strlen(word));
  to_lower(key, strlen(word));
  return key;
}

static bool is_comment(const key_form *form, const char *key, size_t len) {
  size_t prefix = form->comments ? strlen(form->comments) : 0;
  return prefix && len >= prefix && memcmp(key, form->comments, prefix) == 0;
}

/* What few files need: removes comments, converts to lower case, and checks. */
static size_t refine(key_reader *r, besom_bytes *keys, size_t n) {
  const key_form *form = &r->form;
  bool checked = form->is_list && (r->has_nul || r->has_cr) && !is_binary(form);
  size_t kept = 0;
  if (!form->comments && !form->lowercase && !checked) return n;
  for (size_t i = 0; i < n; i++) {
    if (!is_binary(form) && is_comment(form, keys[i].data, keys[i].len)) continue;
    if (form->lowercase) to_lower((char *)(uintptr_t)keys[i].data, keys[i].len);
    if (checked) check_list(r, keys[i], r->lines[i]);
    r->lines[kept] = r->lines[i];
    keys[kept++] = keys[i];
  }
  return kept;
}

/* The last line of a file, if it has no newline. */
static size_t take_last_line(key_reader *r, besom_bytes *keys, char end) {
  size_t len = r->to - r->from;
  if (len > MAX_KEY) too_long(r, r->line + 1);
  if (!r->at_end || !len) return 0;
  char *start = r->buffer + r->from;
  r->from = r->to;
  if (end == '\n' && start[len - 1] == '\r') len--;
  r->lines[0] = ++r->line;
  keys[0] = (besom_bytes){start, len};
  return end != '\n' || len ? 1 : 0;
}

/* Tells about a list that seems to have another format: at its first line that is no comment. */
static void suggest_format(key_reader *r) {
  char *at = r->buffer, *end = r->buffer + r->to;
  r->is_suggested = true;
  for (char *stop; at < end && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1) {
    text_part line = {at, (size_t)(stop - at)};
    bool is_adblock = line.len > 3 && memcmp(at, "||", 2) == 0 && memchr(at, '^', line.len);
    line_kind kind = hosts_line(&line);
    if (kind == LINE_EMPTY || *at == '!' || *at == '[') continue;
    if (is_adblock || kind == LINE_NAMES)
      fprintf(stderr, "%s: %s looks like a list with another format: see --format %s\n",
              program_name, input_name(r->in), is_adblock ? "adblock" : "hosts");
    return;
  }
}

/* Lines end with a newline or CRLF, and empty ones are no keys. */
static size_t take_lines(key_reader *r, besom_bytes *keys) {
  char *start = r->buffer + r->from, *end = r->buffer + r->to;
  bool may_suggest = r->form.is_list && !r->form.is_quiet && !r->form.format;
  if (start < end && may_suggest && !r->is_suggested) suggest_format(r);
  uint64_t line = r->line;
  size_t n = 0;
  for (char *block = start; block < end && n < KEYS_PER_BATCH; block += NEWLINES_BLOCK) {
    uint64_t found = newlines_in(block, (size_t)(end - block));
    for (; found && n < KEYS_PER_BATCH; found &= found - 1) {
      char *stop = block + __builtin_ctzll(found);
      size_t len = (size_t)(stop - start);
      if (len > MAX_KEY) too_long(r, line + 1);
      len -= len && stop[-1] == '\r';
      keys[n] = (besom_bytes){start, len};
      r->lines[n] = ++line;
      n += len != 0;
      start = stop + 1;
    }
  }
  r->from = (size_t)(start - r->buffer);
  r->line = line;
  if (!n) n = take_last_line(r, keys, '\n');
  return refine(r, keys, n);
}

/* The keys of a file of fixes; its first line is none. */
static size_t take_fixes(key_reader *r, besom_bytes *keys) {
  size_t n = take_lines(r, keys), kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (!besom_fixes_line(keys[i], &keys[kept])) continue;
    r->lines[kept++] = r->lines[i];
  }
  return kept;
}

static size_t take_null(key_reader *r, besom_bytes *keys) {
  size_t n = 0;
  for (char *start, *stop; n < KEYS_PER_BATCH; n++) {
    start = r->buffer + r->from;
    stop = r->from < r->to ? memchr(start, 0, r->to - r->from) : NULL;
    if (!stop) break;
    keys[n] = (besom_bytes){start, (size_t)(stop - start)};
    r->lines[n] = ++r->line;
    if (keys[n].len > MAX_KEY) too_long(r, r->line);
    r->from += keys[n].len + 1;
  }
  if (!n) n = take_last_line(r, keys, 0);
  return refine(r, keys, n);
}

static bool take_prefixed_key(key_reader *r, besom_bytes *key) {
  const uint8_t *start = (const uint8_t *)r->buffer + r->from;
  size_t left = r->to - r->from;
  if (!left) return false;
  bool has_length = left >= LENGTH_BYTES;
  uint32_t n = has_length ? (uint32_t)start[0] | (uint32_t)start[1] << 8 |
                                (uint32_t)start[2] << 16 | (uint32_t)start[3] << 24
                          : 0;
  if (n > MAX_KEY) too_long(r, r->line + 1);
  if (!has_length || left < LENGTH_BYTES + (size_t)n) {
    if (r->at_end) fail("%s: the file ends within a key", position_of(r, r->line + 1));
    return false;
  }
  *key = (besom_bytes){start + LENGTH_BYTES, n};
  r->from += LENGTH_BYTES + (size_t)n;
  r->line++;
  return true;
}

static size_t take_prefixed(key_reader *r, besom_bytes *keys) {
  size_t n = 0;
  while (n < KEYS_PER_BATCH && take_prefixed_key(r, &keys[n])) r->lines[n++] = r->line;
  return refine(r, keys, n);
}

/* ------------------------------------------------------------------ published lists */

/* Consumes the next line of the buffer, without comments; false if there is none. */
static bool take_line(key_reader *r, text_part *line) {
  for (;;) {
    char *start = r->buffer + r->from;
    size_t left = r->to - r->from;
    char *stop = left ? memchr(start, '\n', left) : NULL;
    size_t len = stop ? (size_t)(stop - start) : left;
    if (len > MAX_KEY) too_long(r, r->line + 1);
    if (!stop && (!r->at_end || !left)) return false;
    r->from += len + (stop != NULL);
    r->line++;
    if (len && start[len - 1] == '\r') len--;
    *line = (text_part){start, len};
    if (!is_comment(&r->form, start, len)) return true;
  }
}

static bool take_name(key_reader *r, besom_bytes *name) {
  bool is_hosts = r->is_hosts;
  while (!is_hosts || !hosts_name(&r->names, name)) {
    text_part line;
    if (!take_line(r, &line)) return false;
    line_kind kind = is_hosts ? hosts_line(&line) : adblock_line(line, name);
    r->skipped.rules += kind == LINE_OTHER;
    r->skipped.exceptions += kind == LINE_EXCEPTION;
    if (kind == LINE_NAMES && !is_hosts) return true;
    if (kind == LINE_NAMES) r->names = line;
  }
  return true;
}

static size_t take_names(key_reader *r, besom_bytes *keys) {
  size_t n = 0;
  while (n < KEYS_PER_BATCH && take_name(r, &keys[n])) {
    if (r->form.is_list) check_list(r, keys[n], r->line);
    r->lines[n++] = r->line;
  }
  return n;
}

/* ------------------------------------------------------------------ CSV */

static bool take_record(key_reader *r, text_part *record) {
  size_t len, next, lines;
  do {
    text_part text = {r->buffer + r->from, r->to - r->from};
    if (!text.len) return false;
    csv_status status = csv_record(text, r->at_end, &len, &next, &lines);
    if (status == CSV_INCOMPLETE && text.len > MAX_KEY) too_long(r, r->line + 1);
    if (status == CSV_INCOMPLETE) return false;
    if (status == CSV_OPEN_QUOTE)
      fail("%s: the quote of a field of this record is not closed", position_of(r, r->line + 1));
    *record = (text_part){text.at, len};
    r->from += next;
    r->line += lines;
  } while (!len || is_comment(&r->form, record->at, len));
  return true;
}

static bool next_field(const key_reader *r, text_part *record, bool *more, besom_bytes *field) {
  bool bad;
  bool found = csv_field(record, more, field, &bad);
  if (bad) fail("%s: text after the closing quote of a field", position_of(r, r->line));
  return found;
}

/* Looks up the name of the column in the first record. */
static void find_column(key_reader *r, text_part header) {
  besom_bytes field;
  bool more = true;
  for (size_t i = 1; next_field(r, &header, &more, &field); i++)
    if (field.len == strlen(r->column_name) && memcmp(field.data, r->column_name, field.len) == 0) {
      r->column = i;
      return;
    }
  fail("%s: the first record has no column '%s': give one of its columns, or a number",
       position_of(r, r->line), r->column_name);
}

/* Takes the field of the column. Reads the others, too: a quote in a wrong place may have joined
 * two records. */
static void take_field(const key_reader *r, text_part record, besom_bytes *key) {
  bool more = true;
  size_t i = 0;
  for (besom_bytes field; next_field(r, &record, &more, &field);)
    if (++i == r->column) *key = field;
  if (i < r->column)
    fail("%s: this record has %zu columns, and --format asks for column %zu",
         position_of(r, r->line), i, r->column);
}

static size_t take_fields(key_reader *r, besom_bytes *keys) {
  size_t n = 0;
  for (text_part record; n < KEYS_PER_BATCH && take_record(r, &record);) {
    if (!r->column) {
      find_column(r, record);
      continue;
    }
    take_field(r, record, &keys[n]);
    if (r->form.is_list) refuse_nul(r, keys[n], r->line);
    if (r->form.lowercase) to_lower((char *)(uintptr_t)keys[n].data, keys[n].len);
    r->lines[n] = r->line;
    n += keys[n].len != 0;
  }
  return n;
}

/* ------------------------------------------------------------------ opening */

static take_keys *take_of(const key_form *form) {
  const char *format = form->format ? form->format : "lines";
  bool is_lines = strcmp(format, "lines") == 0;
  if (form->null && form->length_prefixed)
    usage_error("--null and --length-prefixed exclude each other: give one of them");
  if (!is_lines && is_binary(form))
    usage_error("--format %s excludes --null and --length-prefixed", format);
  if (is_lines) return form->null ? take_null : form->length_prefixed ? take_prefixed : take_lines;
  if (strcmp(format, "hosts") == 0 || strcmp(format, "adblock") == 0) return take_names;
  if (strncmp(format, "csv:", 4) == 0 && format[4]) return take_fields;
  if (strcmp(format, "fixes") == 0) return take_fixes;
  usage_error("--format: unknown format '%s': lines, hosts, adblock, csv:COLUMN or fixes", format);
}

static void begin_file(key_reader *r) {
  r->at_end = r->has_nul = r->has_cr = false;
  r->from = r->to = 0;
  r->line = 0;
  if (r->column_name) r->column = 0;
}

static void set_column(key_reader *r, const char *column) {
  char *end;
  unsigned long number = strtoul(column, &end, 10);
  bool is_number = !*end && *column >= '0' && *column <= '9';
  if (is_number && !number) usage_error("--format csv:%s: columns are counted from 1", column);
  if (is_number)
    r->column = number;
  else
    r->column_name = column;
}

key_reader *keys_open(words files, const key_form *form) {
  return keys_open_as(files, form, form->format);
}

key_reader *keys_open_as(words files, const key_form *given, const char *format) {
  key_reader *r = allocate(1, sizeof *r);
  const key_form *form = &r->form;
  r->form = *given;
  if (format) r->form.format = format;
  r->take = take_of(form);
  r->is_hosts = form->format && strcmp(form->format, "hosts") == 0;
  if (r->take == take_fields) set_column(r, form->format + 4);
  r->size = KEYS_BUFFER_BYTES;
  r->buffer = allocate(1, r->size + NEWLINES_SLACK);
  if (form->domains) r->spellings = allocate(KEYS_PER_BATCH, sizeof *r->spellings);
  r->in = input_open(files, !is_binary(form));
  return r;
}

static void report_skipped(const key_reader *r, uint64_t n, const char *one, const char *many) {
  if (n && !r->form.is_quiet)
    fprintf(stderr, "%s: skipped %s %s\n", input_name(r->in), grouped(n).text, n == 1 ? one : many);
}

void keys_tell_skipped(const key_reader *r) {
  report_skipped(
      r, r->skipped.rules,
      r->is_hosts ? "line that is not an address and names" : "rule that is not a plain domain",
      r->is_hosts ? "lines that are not an address and names" : "rules that are not plain domains");
  report_skipped(r, r->skipped.names, "line that is no name", "lines that are no names");
  report_skipped(r, r->skipped.exceptions, "exception (@@)", "exceptions (@@)");
}

void keys_close(key_reader *r) {
  if (!r) return;
  keys_tell_skipped(r);
  input_close(r->in);
  free(r->buffer);
  free(r->spellings);
  free(r);
}

void keys_keep(key_reader *r) {
  input_keep(r->in);
}

void keys_rewind(key_reader *r) {
  input_rewind(r->in);
  r->count = r->count_of_files = 0;
  r->batch_at = r->batch_n = r->appended_at = 0;
  r->skipped = (keys_skipped){0};
  r->names = (text_part){0};
  begin_file(r);
}

/* ------------------------------------------------------------------ reading */

static void enlarge(key_reader *r) {
  r->size *= 2;
  r->buffer = reallocate(r->buffer, r->size + NEWLINES_SLACK, 1);
}

/* Appends bytes of the open file to the buffer; false at its end. */
static bool read_more(key_reader *r) {
  if (r->at_end) return false;
  memmove(r->buffer, r->buffer + r->from, r->to - r->from);
  r->to -= r->from;
  r->from = 0;
  if (r->size - r->to < INPUT_LEAST) enlarge(r);
  char *fresh = r->buffer + r->to;
  size_t n = input_read(r->in, fresh, r->size - r->to);
  r->at_end = n == 0;
  r->to += n;
  if (n && r->form.is_list) {
    r->has_nul |= memchr(fresh, 0, n) != NULL;
    r->has_cr |= memchr(fresh, '\r', n) != NULL;
  }
  return n > 0;
}

/* Reads more bytes, of this file or the next one; false at the end of the last file. */
static bool refill(key_reader *r) {
  if (read_more(r)) return true;
  if (r->from < r->to) return true; /* the last line has no newline */
  if (!input_next_file(r->in)) return false;
  begin_file(r);
  return true;
}

void keys_exclude(key_reader *r, key_test *is_excluded, const void *ctx) {
  r->is_excluded = is_excluded;
  r->excluded = ctx;
}

static size_t without_excluded(key_reader *r, besom_bytes *keys, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (r->is_excluded(r->excluded, keys[i])) continue;
    r->lines[kept] = r->lines[i];
    keys[kept++] = keys[i];
  }
  return kept;
}

/* Replaces keys by the spelling of their names. */
static size_t to_domains(key_reader *r, besom_bytes *keys, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    size_t len = domain_spelling(keys[i], r->spellings[kept]);
    r->skipped.names += !len;
    if (!len) continue;
    r->lines[kept] = r->lines[i];
    keys[kept] = (besom_bytes){r->spellings[kept], len};
    unsigned labels = domain_count_labels(keys[kept++]);
    if (labels > r->most_labels) r->most_labels = labels;
  }
  return kept;
}

void keys_append(key_reader *r, const besom_bytes *keys, size_t n) {
  r->appended = keys;
  r->appended_n = n;
}

unsigned keys_most_labels(const key_reader *r) {
  return r->most_labels;
}

static size_t take_appended(key_reader *r, besom_bytes *keys) {
  size_t n = 0;
  while (n < KEYS_PER_BATCH && r->appended_at < r->appended_n) {
    r->lines[n] = r->line;
    keys[n++] = r->appended[r->appended_at++];
  }
  return n;
}

/* Keys of the files, or those after them; 0: the buffer has none, or no more are left. */
static size_t take_some(key_reader *r, besom_bytes *keys, bool *at_end) {
  size_t before = r->from, taken = r->take(r, keys);
  size_t kept = taken && r->spellings ? to_domains(r, keys, taken) : taken;
  r->count_of_files += kept;
  if (taken) return kept;
  if (r->from != before || refill(r)) return 0; /* names of a line may be left */
  taken = take_appended(r, keys);
  *at_end = !taken;
  return taken;
}

/* All keys of a batch are in the buffer, so they are of one file. */
size_t keys_batch(key_reader *r, besom_bytes keys[KEYS_PER_BATCH]) {
  for (bool at_end = false; !at_end;) {
    size_t taken = take_some(r, keys, &at_end);
    size_t n = r->is_excluded ? without_excluded(r, keys, taken) : taken;
    r->count += n;
    if (n) return n;
  }
  return 0;
}

bool keys_next(key_reader *r, besom_bytes *key) {
  if (r->batch_at == r->batch_n) {
    r->batch_at = 0;
    r->batch_n = keys_batch(r, r->batch);
    if (!r->batch_n) return false;
  }
  *key = r->batch[r->batch_at++];
  return true;
}

uint64_t keys_count(const key_reader *r) {
  return r->count - (r->batch_n - r->batch_at);
}

keys_skipped keys_skipped_so_far(const key_reader *r) {
  return r->skipped;
}

bool keys_all_skipped(const key_reader *r) {
  return !r->count_of_files && (r->skipped.rules || r->skipped.names);
}

void keys_tick(const key_reader *r) {
  bar_tick(input_bytes_read(r->in), input_bytes_total(r->in));
}

/* ------------------------------------------------------------------ as a source */

static besom_status source_next(void *ctx, besom_bytes *key, uint64_t *weight) {
  (void)weight;
  return keys_next(ctx, key) ? BESOM_OK : BESOM_END;
}

static besom_status source_rewind(void *ctx) {
  keys_rewind(ctx);
  return BESOM_OK;
}

besom_source keys_source(key_reader *r) {
  return (besom_source){.next = source_next, .rewind = source_rewind, .ctx = r};
}

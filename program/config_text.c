#include "config_text.h"

#include <stdio.h>
#include <string.h>

static const char word_characters[] = "abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

static const char *option_of(const char *word, size_t len, const option_name *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strlen(names[i].member) == len && memcmp(names[i].member, word, len) == 0)
      return names[i].option;
  return NULL;
}

/* The length of the quoted text at the start, such as the name of a kind; 0 if there is none. */
static size_t quoted_length(const char *text) {
  const char *end = *text == '"' ? strchr(text + 1, '"') : NULL;
  return end ? (size_t)(end + 1 - text) : 0;
}

/* Copies a sentence and replaces its words, but not those in quotes. */
static void rename_members(const char *sentence, const option_name *names, size_t n,
                           char text[CONFIG_TEXT_SIZE]) {
  size_t used = 0;
  text[0] = 0;
  while (*sentence && used < CONFIG_TEXT_SIZE - 1) {
    size_t quoted = quoted_length(sentence), word = strspn(sentence, word_characters),
           len = quoted ? quoted
                 : word ? word
                        : 1;
    const char *option = word ? option_of(sentence, word, names, n) : NULL;
    int written = snprintf(text + used, CONFIG_TEXT_SIZE - used, "%.*s",
                           option ? (int)strlen(option) : (int)len, option ? option : sentence);
    used += written > 0 ? (size_t)written : 0;
    sentence += len;
  }
}

besom_status config_text(const besom_config *config, const option_name *names, size_t name_count,
                         char text[CONFIG_TEXT_SIZE]) {
  char sentence[256] = "";
  besom_status status = besom_config_check(config, sentence, sizeof sentence);
  if (!*sentence) snprintf(sentence, sizeof sentence, "%s", besom_strerror(status));
  rename_members(sentence, names, name_count, text);
  return status;
}

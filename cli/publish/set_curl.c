/* Published sets on web servers, by libcurl. */
#include "fail.h"
#include "publish/set_source.h"

#ifdef BESOM_WITH_CURL
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "publish/set_pointer.h"

/* Headers, and what follows a redirect, are none of the bytes that are signed. */
enum { MOST_HEADER_BYTES = 1 << 16, MOST_IGNORED_BYTES = 1 << 16 };

struct set_connection {
  CURL *curl;
  const char *url;
  char error[CURL_ERROR_SIZE];
  set_transfer *to;
  size_t header_bytes;
  uint64_t expected; /* bytes of the file that are still missing */
  const char *wrong; /* why the last transfer was refused here */
};

static size_t take_bytes(char *data, size_t size, size_t n, void *ctx) {
  set_connection *c = ctx;
  (void)size; /* 1 */
  return set_transfer_add(c->to, data, n, &c->wrong) ? n : CURL_WRITEFUNC_ERROR;
}

static size_t take_header(char *data, size_t size, size_t n, void *ctx) {
  set_connection *c = ctx;
  (void)data, (void)size;
  c->header_bytes += n;
  if (c->header_bytes <= MOST_HEADER_BYTES) return n;
  c->wrong = "the server sends headers without end";
  return 0;
}

/* Called once per second at least, also when nothing arrives. */
static int look_at_transfer(void *ctx, curl_off_t total, curl_off_t now, curl_off_t up_total,
                            curl_off_t up_now) {
  set_connection *c = ctx;
  (void)total, (void)up_total, (void)up_now;
  interrupt_check();
  if ((uint64_t)now <= c->expected + MOST_IGNORED_BYTES) return 0;
  if (!c->wrong) c->wrong = "the server sends more than the signed texts say";
  return 1;
}

static void set_option(CURLcode code) {
  if (code != CURLE_OK) fail("libcurl: %s", curl_easy_strerror(code));
}

/* Redirects stay with the scheme of the URL: https never becomes http, nor any of them a file. */
static void set_schemes(CURL *curl, const char *scheme) {
#if LIBCURL_VERSION_NUM >= 0x075500
  set_option(curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, scheme));
  set_option(curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, scheme));
#else
  long protocol = strcmp(scheme, "https") == 0 ? CURLPROTO_HTTPS : CURLPROTO_HTTP;
  set_option(curl_easy_setopt(curl, CURLOPT_PROTOCOLS, protocol));
  set_option(curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, protocol));
#endif
}

set_connection *set_connection_open(const char *url, const char *ca) {
  const char *scheme = strncmp(url, "https://", 8) == 0  ? "https"
                       : strncmp(url, "http://", 7) == 0 ? "http"
                                                         : NULL;
  if (!scheme) usage_error("%s: neither a URL of https or http nor a directory", url);
  set_connection *c = allocate(1, sizeof *c);
  c->url = url;
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || !(c->curl = curl_easy_init()))
    fail("libcurl cannot be initialized");
  enum { CONNECT_SECONDS = 30, MOST_REDIRECTS = 5, LEAST_BYTES_PER_SECOND = 1, SLOW_SECONDS = 60 };
  set_schemes(c->curl, scheme);
  set_option(curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->error));
  set_option(curl_easy_setopt(c->curl, CURLOPT_FOLLOWLOCATION, 1L));
  set_option(curl_easy_setopt(c->curl, CURLOPT_MAXREDIRS, (long)MOST_REDIRECTS));
  set_option(curl_easy_setopt(c->curl, CURLOPT_FAILONERROR, 1L));
  set_option(curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L));
  set_option(curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS));
  set_option(curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, (long)LEAST_BYTES_PER_SECOND));
  set_option(curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, (long)SLOW_SECONDS));
  set_option(curl_easy_setopt(c->curl, CURLOPT_USERAGENT, "besom"));
  if (ca) set_option(curl_easy_setopt(c->curl, CURLOPT_CAINFO, ca));
  set_option(curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_bytes));
  set_option(curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c));
  set_option(curl_easy_setopt(c->curl, CURLOPT_HEADERFUNCTION, take_header));
  set_option(curl_easy_setopt(c->curl, CURLOPT_HEADERDATA, c));
  set_option(curl_easy_setopt(c->curl, CURLOPT_XFERINFOFUNCTION, look_at_transfer));
  set_option(curl_easy_setopt(c->curl, CURLOPT_XFERINFODATA, c));
  set_option(curl_easy_setopt(c->curl, CURLOPT_NOPROGRESS, 0L));
  return c;
}

void set_connection_close(set_connection *c) {
  curl_easy_cleanup(c->curl);
  curl_global_cleanup();
  free(c);
}

const char *set_connection_fetch(set_connection *c, const char *name, set_transfer *t,
                                 bool *from_start) {
  uint64_t before = t->at;
  bool slash = c->url[strlen(c->url) - 1] == '/';
  char *url = allocate(1, strlen(c->url) + strlen(name) + 2);
  sprintf(url, "%s%s%s", c->url, slash ? "" : "/", name);
  c->to = t;
  c->header_bytes = 0;
  c->expected = t->most - before;
  c->wrong = NULL;
  c->error[0] = 0;
  set_option(curl_easy_setopt(c->curl, CURLOPT_URL, url));
  set_option(curl_easy_setopt(c->curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)before));
  CURLcode code = curl_easy_perform(c->curl);
  free(url);
  if (code == CURLE_OK) return NULL;
  if (c->wrong) return c->wrong;
  *from_start =
      before && t->at == before && (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME);
  if (*from_start) return NULL;
  return c->error[0] ? c->error : curl_easy_strerror(code);
}

#else

static _Noreturn void curl_is_missing(void) {
  fail("this besom was built without libcurl (Debian: libcurl4-openssl-dev): it syncs from "
       "directories only");
}

set_connection *set_connection_open(const char *url, const char *ca) {
  (void)url, (void)ca;
  curl_is_missing();
}
void set_connection_close(set_connection *c) {
  (void)c;
}
const char *set_connection_fetch(set_connection *c, const char *name, set_transfer *t,
                                 bool *from_start) {
  (void)c, (void)name, (void)t, (void)from_start;
  curl_is_missing();
}

#endif

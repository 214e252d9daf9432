/* What the methods of besom.Filter call. Keys are copied, so that no call holds up the collector. */
#include <errno.h>
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>

#include "besom.h"

#define METHOD(type, name) JNIEXPORT type JNICALL Java_besom_Filter_##name
enum { SHORT_KEY = 512, BATCH = 256 };

static besom_filter *filter_at(jlong address) {
  return (besom_filter *)(intptr_t)address;
}

/* ------------------------------------------------------------------ errors */

static void throw_failure(JNIEnv *env, besom_status status, const char *text, jsize done) {
  jclass type = (*env)->FindClass(env, "besom/Filter$Failure");
  jmethodID make =
      type ? (*env)->GetMethodID(env, type, "<init>", "(ILjava/lang/String;I)V") : NULL;
  jstring message = make ? (*env)->NewStringUTF(env, text) : NULL;
  jobject failure =
      message ? (*env)->NewObject(env, type, make, (jint)status, message, (jint)done) : NULL;
  if (failure) (*env)->Throw(env, failure);
}

/*
 * An exception of Java that is pending stays: it is the cause. EVICTED is a success. done: keys of a
 * batch that were added.
 */
static bool batch_succeeded(JNIEnv *env, besom_status status, jsize done) {
  char text[256];
  int error = errno;
  if ((*env)->ExceptionCheck(env)) return false;
  if (status == BESOM_OK || status == BESOM_EVICTED) return true;
  if (status == BESOM_IO && error)
    snprintf(text, sizeof text, "%s: %s", besom_strerror(status), strerror(error));
  else
    snprintf(text, sizeof text, "%s", besom_strerror(status));
  throw_failure(env, status, text, done);
  return false;
}

static bool succeeded(JNIEnv *env, besom_status status) {
  return batch_succeeded(env, status, 0);
}

/* f is where the call that returned the status has put the filter. */
static jlong made(JNIEnv *env, besom_status status, besom_filter *const *f) {
  return succeeded(env, status) ? (jlong)(intptr_t)*f : 0;
}

/* ------------------------------------------------------------------ keys */

struct key {
  uint8_t *data;
  size_t len;
  uint8_t bytes[SHORT_KEY];
};

/* False: NO_MEMORY, or an exception of Java. */
static bool take_key(JNIEnv *env, jbyteArray array, jint len, struct key *key) {
  key->data = len <= SHORT_KEY ? key->bytes : malloc((size_t)len);
  key->len = (size_t)len;
  if (key->data) (*env)->GetByteArrayRegion(env, array, 0, len, (jbyte *)key->data);
  return key->data && !(*env)->ExceptionCheck(env);
}

static void drop_key(struct key *key) {
  if (key->data != key->bytes) free(key->data);
}

static void change(JNIEnv *env, jlong f, jbyteArray array, jint len,
                   besom_status (*call)(besom_filter *f, const void *key, size_t len)) {
  struct key key;
  bool taken = take_key(env, array, len, &key);
  succeeded(env, taken ? call(filter_at(f), key.data, key.len) : BESOM_NO_MEMORY);
  drop_key(&key);
}

METHOD(void, insert)(JNIEnv *env, jclass type, jlong f, jbyteArray key, jint len) {
  change(env, f, key, len, besom_insert);
}

METHOD(void, remove)(JNIEnv *env, jclass type, jlong f, jbyteArray key, jint len) {
  change(env, f, key, len, besom_remove);
}

METHOD(void, adapt)(JNIEnv *env, jclass type, jlong f, jbyteArray key, jint len) {
  change(env, f, key, len, besom_adapt);
}

METHOD(void, insertLong)(JNIEnv *env, jclass type, jlong f, jlong key) {
  succeeded(env, besom_insert_u64(filter_at(f), (uint64_t)key));
}

/* Yes if there is no memory for the key. */
METHOD(jboolean, contains)(JNIEnv *env, jclass type, jlong f, jbyteArray array, jint len) {
  struct key key;
  bool yes = !take_key(env, array, len, &key) || besom_contains(filter_at(f), key.data, key.len);
  drop_key(&key);
  return yes;
}

METHOD(jboolean, containsLong)(JNIEnv *env, jclass type, jlong f, jlong key) {
  return besom_contains_u64(filter_at(f), (uint64_t)key);
}

METHOD(jlong, count)(JNIEnv *env, jclass type, jlong f, jbyteArray array, jint len) {
  struct key key;
  uint64_t n = 0;
  bool taken = take_key(env, array, len, &key);
  succeeded(env, taken ? besom_count(filter_at(f), key.data, key.len, &n) : BESOM_NO_MEMORY);
  drop_key(&key);
  return (jlong)n;
}

/* ------------------------------------------------------------------ many keys */

static void write_bits(JNIEnv *env, jlongArray out, size_t from, size_t n, const uint64_t *bitmap) {
  (*env)->SetLongArrayRegion(env, out, (jsize)(from / 64), (jsize)((n + 63) / 64),
                             (const jlong *)bitmap);
}

static jlongArray new_bitmap(JNIEnv *env, jsize n) {
  return (*env)->NewLongArray(env, n / 64 + (n % 64 != 0));
}

METHOD(jlongArray, containsLongs)(JNIEnv *env, jclass type, jlong f, jlongArray array) {
  jsize n = (*env)->GetArrayLength(env, array);
  jlongArray out = new_bitmap(env, n);
  for (jsize i = 0; out && i < n && !(*env)->ExceptionCheck(env); i += BATCH) {
    uint64_t keys[BATCH], bitmap[BATCH / 64];
    jsize part = n - i < BATCH ? n - i : BATCH;
    (*env)->GetLongArrayRegion(env, array, i, part, (jlong *)keys);
    if (!succeeded(env, besom_contains_many_u64(filter_at(f), keys, (size_t)part, bitmap))) break;
    write_bits(env, out, (size_t)i, (size_t)part, bitmap);
  }
  return out;
}

/* Keys from start on, up to their ends, which must ascend and stay below limit. */
static bool unpack(const uint8_t *at, size_t *start, const jint *ends, jsize n, size_t limit,
                   besom_bytes *keys) {
  for (jsize k = 0; k < n; k++) {
    if (ends[k] < 0 || (size_t)ends[k] < *start || (size_t)ends[k] > limit) return false;
    keys[k] = (besom_bytes){at + *start, (size_t)ends[k] - *start};
    *start = (size_t)ends[k];
  }
  return true;
}

METHOD(jlongArray, containsPacked)
(JNIEnv *env, jclass type, jlong f, jobject buffer, jintArray all) {
  jsize n = (*env)->GetArrayLength(env, all);
  jlongArray out = new_bitmap(env, n);
  const uint8_t *at = (*env)->GetDirectBufferAddress(env, buffer);
  size_t limit = (size_t)(*env)->GetDirectBufferCapacity(env, buffer), start = 0;
  for (jsize i = 0; out && i < n && !(*env)->ExceptionCheck(env); i += BATCH) {
    besom_bytes keys[BATCH];
    jint ends[BATCH];
    uint64_t bitmap[BATCH / 64];
    jsize part = n - i < BATCH ? n - i : BATCH;
    (*env)->GetIntArrayRegion(env, all, i, part, ends);
    bool right = unpack(at, &start, ends, part, limit, keys);
    if (!succeeded(env, right ? besom_contains_many(filter_at(f), keys, (size_t)part, bitmap)
                              : BESOM_INVALID))
      break;
    write_bits(env, out, (size_t)i, (size_t)part, bitmap);
  }
  return out;
}

METHOD(void, insertLongs)(JNIEnv *env, jclass type, jlong f, jlongArray array) {
  jsize n = (*env)->GetArrayLength(env, array);
  for (jsize i = 0; i < n; i += BATCH) {
    uint64_t keys[BATCH];
    jsize part = n - i < BATCH ? n - i : BATCH;
    size_t done = 0;
    (*env)->GetLongArrayRegion(env, array, i, part, (jlong *)keys);
    besom_status status = besom_insert_many_u64(filter_at(f), keys, (size_t)part, &done);
    if (!batch_succeeded(env, status, i + (jsize)done)) return;
  }
}

/* ------------------------------------------------------------------ making filters */

/* A stream of keys: a Filter.Keys. */
struct keys {
  JNIEnv *env;
  jobject source;
  jmethodID next, rewind;
  struct key key;
};

static besom_status next_key(void *ctx, besom_bytes *key, uint64_t *weight) {
  struct keys *keys = ctx;
  JNIEnv *env = keys->env;
  (void)weight;
  jbyteArray array = (*env)->CallObjectMethod(env, keys->source, keys->next);
  if ((*env)->ExceptionCheck(env)) return BESOM_CANCELLED;
  if (!array) return BESOM_END;
  drop_key(&keys->key);
  bool taken = take_key(env, array, (*env)->GetArrayLength(env, array), &keys->key);
  (*env)->DeleteLocalRef(env, array);
  *key = (besom_bytes){keys->key.data, keys->key.len};
  return taken ? BESOM_OK : BESOM_NO_MEMORY;
}

static besom_status rewind_keys(void *ctx) {
  struct keys *keys = ctx;
  (*keys->env)->CallVoidMethod(keys->env, keys->source, keys->rewind);
  return (*keys->env)->ExceptionCheck(keys->env) ? BESOM_CANCELLED : BESOM_OK;
}

static besom_source source_of(JNIEnv *env, jobject source, struct keys *keys) {
  jclass type = (*env)->GetObjectClass(env, source);
  keys->env = env;
  keys->source = source;
  keys->next = (*env)->GetMethodID(env, type, "next", "()[B");
  keys->rewind = (*env)->GetMethodID(env, type, "rewind", "()V");
  keys->key.data = NULL;
  return (besom_source){.next = next_key, .rewind = rewind_keys, .ctx = keys};
}

/* The members of a Config. The strings are those of Java until drop_config. */
struct config {
  besom_config besom;
  jstring kind, options, hash;
  jbyte seed[16];
};

static const char *text_of(JNIEnv *env, jstring text) {
  return text ? (*env)->GetStringUTFChars(env, text, NULL) : NULL;
}

static void drop_text(JNIEnv *env, jstring text, const char *chars) {
  if (chars) (*env)->ReleaseStringUTFChars(env, text, chars);
}

static bool take_config(JNIEnv *env, struct config *config, jbyteArray seed, jlong capacity,
                        jdouble fpr, jint flags) {
  config->besom = (besom_config){.kind = text_of(env, config->kind),
                                 .options = text_of(env, config->options),
                                 .hash = text_of(env, config->hash),
                                 .capacity = (uint64_t)capacity,
                                 .fpr = fpr,
                                 .flags = (uint32_t)flags};
  if (seed) (*env)->GetByteArrayRegion(env, seed, 0, 16, config->seed);
  if (seed) config->besom.seed = (const uint8_t *)config->seed;
  return !(*env)->ExceptionCheck(env);
}

/* Throws with the sentence of besom_config_check if the configuration is wrong. */
static jlong made_of_config(JNIEnv *env, struct config *config, besom_status status,
                            besom_filter *const *f) {
  char text[256] = "";
  bool wrong = status == BESOM_INVALID || status == BESOM_BAD_OPTION ||
               status == BESOM_UNKNOWN_KIND || status == BESOM_UNSUPPORTED;
  if (wrong && !(*env)->ExceptionCheck(env)) besom_config_check(&config->besom, text, sizeof text);
  if (text[0]) throw_failure(env, status, text, 0);
  jlong address = made(env, status, f);
  drop_text(env, config->kind, config->besom.kind);
  drop_text(env, config->options, config->besom.options);
  drop_text(env, config->hash, config->besom.hash);
  return address;
}

METHOD(jlong, create)
(JNIEnv *env, jclass type, jstring kind, jstring options, jstring hash, jbyteArray seed,
 jlong capacity, jdouble fpr, jint flags) {
  struct config config = {.kind = kind, .options = options, .hash = hash};
  besom_filter *f = NULL;
  bool taken = take_config(env, &config, seed, capacity, fpr, flags);
  return made_of_config(env, &config, taken ? besom_create(&config.besom, &f) : BESOM_INVALID, &f);
}

METHOD(jlong, build)
(JNIEnv *env, jclass type, jstring kind, jstring options, jstring hash, jbyteArray seed,
 jlong capacity, jdouble fpr, jint flags, jobject yes, jobject no) {
  struct config config = {.kind = kind, .options = options, .hash = hash};
  struct keys yes_keys = {0}, no_keys = {0};
  besom_filter *f = NULL;
  besom_source yes_source = source_of(env, yes, &yes_keys), no_source = {0};
  if (no) no_source = source_of(env, no, &no_keys);
  besom_input input = {.yes = &yes_source, .no = no ? &no_source : NULL};
  bool taken = take_config(env, &config, seed, capacity, fpr, flags);
  besom_status status = taken ? besom_build(&config.besom, &input, &f) : BESOM_INVALID;
  drop_key(&yes_keys.key);
  drop_key(&no_keys.key);
  return made_of_config(env, &config, status, &f);
}

METHOD(jlong, createLike)(JNIEnv *env, jclass type, jlong f) {
  besom_filter *out = NULL;
  return made(env, besom_create_like(filter_at(f), &out), &out);
}

METHOD(jlong, merge)(JNIEnv *env, jclass type, jlong f, jlong other) {
  besom_filter *out = NULL;
  return made(env, besom_merge(filter_at(f), filter_at(other), &out), &out);
}

METHOD(void, free)(JNIEnv *env, jclass type, jlong f) {
  besom_free(filter_at(f));
}

/* ------------------------------------------------------------------ files */

METHOD(jlong, open)(JNIEnv *env, jclass type, jstring path, jboolean mapped) {
  besom_open_options options = {.flags = mapped ? BESOM_OPEN_MMAP : 0};
  besom_filter *f = NULL;
  const char *chars = text_of(env, path);
  errno = 0;
  jlong address = made(env, chars ? besom_open(chars, &options, &f) : BESOM_NO_MEMORY, &f);
  drop_text(env, path, chars);
  return address;
}

METHOD(void, save)(JNIEnv *env, jclass type, jlong f, jstring path) {
  const char *chars = text_of(env, path);
  errno = 0;
  succeeded(env, chars ? besom_save_file(filter_at(f), chars) : BESOM_NO_MEMORY);
  drop_text(env, path, chars);
}

/* Bytes of Java, for as long as C reads them. */
static jlong from_bytes(JNIEnv *env, jbyteArray bytes, const besom_filter *patched) {
  besom_filter *f = NULL;
  jbyte *data = (*env)->GetByteArrayElements(env, bytes, NULL);
  size_t len = (size_t)(*env)->GetArrayLength(env, bytes);
  besom_status status = !data     ? BESOM_NO_MEMORY
                        : patched ? besom_patch(patched, data, len, &f)
                                  : besom_load(data, len, NULL, &f);
  if (data) (*env)->ReleaseByteArrayElements(env, bytes, data, JNI_ABORT);
  return made(env, status, &f);
}

METHOD(jlong, fromBytes)(JNIEnv *env, jclass type, jbyteArray bytes) {
  return from_bytes(env, bytes, NULL);
}

METHOD(jlong, patch)(JNIEnv *env, jclass type, jlong f, jbyteArray patch) {
  return from_bytes(env, patch, filter_at(f));
}

/* A sink: the first pass counts, the second writes. */
struct bytes {
  JNIEnv *env;
  jbyteArray array;
  size_t len;
};

static besom_status write_bytes(void *ctx, const void *data, size_t len) {
  struct bytes *to = ctx;
  if (to->array)
    (*to->env)->SetByteArrayRegion(to->env, to->array, (jsize)to->len, (jsize)len, data);
  to->len += len;
  return to->len <= INT32_MAX ? BESOM_OK : BESOM_NO_MEMORY;
}

METHOD(jbyteArray, bytesOf)(JNIEnv *env, jclass type, jlong f) {
  struct bytes to = {.env = env};
  besom_sink sink = {write_bytes, &to};
  if (!succeeded(env, besom_save(filter_at(f), &sink))) return NULL;
  to.array = (*env)->NewByteArray(env, (jsize)to.len);
  to.len = 0;
  if (to.array) succeeded(env, besom_save(filter_at(f), &sink));
  return to.array;
}

/* ------------------------------------------------------------------ statistics */

METHOD(jstring, kindOf)(JNIEnv *env, jclass type, jlong f) {
  besom_statistics stats;
  return succeeded(env, besom_stats(filter_at(f), &stats)) ? (*env)->NewStringUTF(env, stats.kind)
                                                           : NULL;
}

METHOD(jdouble, statistic)(JNIEnv *env, jclass type, jlong f, jint which) {
  besom_statistics stats;
  if (!succeeded(env, besom_stats(filter_at(f), &stats))) return 0;
  return which == 0 ? (double)stats.keys : which == 1 ? (double)stats.bytes : stats.bits_per_key;
}

#define _GNU_SOURCE /* pthread_rwlock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP */
#include "guard/threads/lock.h"

#include "core/system/memory.h"
#include "guard/threads/condition.h"

struct locks {
  pthread_mutex_t writer, commit, queue;
  pthread_cond_t writer_changed;
  pthread_rwlock_t view;
  pthread_t owner;  /* of the open batch */
  pthread_t reader; /* the same, for readers */
  unsigned waiting; /* for the lock of the writers */
};

static bool init_view(pthread_rwlock_t *lock) {
  pthread_rwlockattr_t attributes;
  if (pthread_rwlockattr_init(&attributes) != 0) return false;
#ifdef __GLIBC__
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
  bool made = pthread_rwlock_init(lock, &attributes) == 0;
  pthread_rwlockattr_destroy(&attributes);
  return made;
}

static bool init(struct locks *l) {
  if (!init_view(&l->view)) return false;
  if (!condition_init(&l->writer_changed)) {
    pthread_rwlock_destroy(&l->view);
    return false;
  }
  pthread_mutex_init(&l->writer, NULL); /* cannot fail with default attributes */
  pthread_mutex_init(&l->commit, NULL);
  pthread_mutex_init(&l->queue, NULL);
  return true;
}

struct locks *besom__locks_new(const besom_allocator *allocator) {
  struct locks *l = besom__allocate(allocator, sizeof *l);
  if (l && init(l)) return l;
  besom__release(allocator, l, sizeof *l);
  return NULL;
}

void besom__locks_free(struct locks *l, const besom_allocator *allocator) {
  if (!l) return;
  pthread_mutex_destroy(&l->writer);
  pthread_mutex_destroy(&l->commit);
  pthread_mutex_destroy(&l->queue);
  pthread_cond_destroy(&l->writer_changed);
  pthread_rwlock_destroy(&l->view);
  besom__release(allocator, l, sizeof *l);
}

/* ------------------------------------------------------------------ writers */

void besom__lock_writer(struct locks *l) {
  __atomic_add_fetch(&l->waiting, 1, __ATOMIC_RELAXED);
  pthread_mutex_lock(&l->writer);
  __atomic_sub_fetch(&l->waiting, 1, __ATOMIC_RELAXED);
}

unsigned besom__writers_waiting(const struct locks *l) {
  return __atomic_load_n(&l->waiting, __ATOMIC_RELAXED);
}

void besom__unlock_writer(struct locks *l) {
  pthread_mutex_unlock(&l->writer);
}

bool besom__wait_writer(struct locks *l, uint64_t until) {
  return condition_wait(&l->writer_changed, &l->writer, until);
}

void besom__wake_writers(struct locks *l) {
  pthread_cond_broadcast(&l->writer_changed);
}

void besom__set_owner(struct locks *l) {
  l->owner = pthread_self();
}

bool besom__is_owner(const struct locks *l) {
  return pthread_equal(l->owner, pthread_self());
}

/* ------------------------------------------------------------------ readers */

void besom__set_reader(struct locks *l) {
  l->reader = pthread_self();
}

bool besom__is_reader(const struct locks *l) {
  return pthread_equal(l->reader, pthread_self());
}

void besom__lock_read(struct locks *l) {
  pthread_rwlock_rdlock(&l->view);
}

bool besom__try_lock_read(struct locks *l) {
  return pthread_rwlock_tryrdlock(&l->view) == 0;
}

void besom__lock_write(struct locks *l) {
  pthread_rwlock_wrlock(&l->view);
}

void besom__unlock(struct locks *l) {
  pthread_rwlock_unlock(&l->view);
}

void besom__lock_commit(struct locks *l) {
  pthread_mutex_lock(&l->commit);
}

bool besom__try_lock_commit(struct locks *l) {
  return pthread_mutex_trylock(&l->commit) == 0;
}

void besom__unlock_commit(struct locks *l) {
  pthread_mutex_unlock(&l->commit);
}

void besom__lock_queue(struct locks *l) {
  pthread_mutex_lock(&l->queue);
}

void besom__unlock_queue(struct locks *l) {
  pthread_mutex_unlock(&l->queue);
}

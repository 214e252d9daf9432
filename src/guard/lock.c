#define _GNU_SOURCE /* pthread_rwlock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP */
#include "guard/lock.h"

#include <pthread.h>

#include "core/memory.h"

struct locks {
  pthread_rwlock_t view;
  pthread_mutex_t commit, queue;
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

/* pthread_mutex_init with default attributes cannot fail. */
struct locks *besom__locks_new(const besom_allocator *allocator) {
  struct locks *l = besom__allocate(allocator, sizeof *l);
  if (l && init_view(&l->view)) {
    pthread_mutex_init(&l->commit, NULL);
    pthread_mutex_init(&l->queue, NULL);
    return l;
  }
  besom__release(allocator, l, sizeof *l);
  return NULL;
}

void besom__locks_free(struct locks *l, const besom_allocator *allocator) {
  if (!l) return;
  pthread_rwlock_destroy(&l->view);
  pthread_mutex_destroy(&l->commit);
  pthread_mutex_destroy(&l->queue);
  besom__release(allocator, l, sizeof *l);
}

void besom__lock_read(struct locks *l) {
  pthread_rwlock_rdlock(&l->view);
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

void besom__unlock_commit(struct locks *l) {
  pthread_mutex_unlock(&l->commit);
}

void besom__lock_queue(struct locks *l) {
  pthread_mutex_lock(&l->queue);
}

void besom__unlock_queue(struct locks *l) {
  pthread_mutex_unlock(&l->queue);
}

// Go's runtime starts a thread when all of its threads are busy, and ends the process if the system refuses it: the profiler would
// end a program that has used up its threads. Go keeps the threads that it has, so some are started early.
#include "entry.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int waiting, opened;

void thread_waits(void) {
  pthread_mutex_lock(&lock);
  waiting++;
  pthread_cond_broadcast(&changed);
  while (!opened) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

void threads_release(int n) {
  pthread_mutex_lock(&lock);
  while (waiting < n) pthread_cond_wait(&changed, &lock);
  opened = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

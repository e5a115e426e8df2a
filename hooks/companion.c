// Starts a companion of the program: a process that is not one of its children. The program may wait for its own until there are none,
// ignore SIGCHLD or handle it, and does not notice the companion.
//
// A process between the two is the parent, and has ended when this returns. It has no exit signal, so that neither SIGCHLD nor a wait of
// another thread reports it, as it would with fork and exec: the kernel gives a process that executes a program SIGCHLD as its exit signal.
// A program that is process 1 of a container, or a subreaper, gets the companion as it gets every orphan.
//
// Both processes share the memory of the program, as with vfork, while only the thread that starts them waits: they call
// the kernel and nothing else.
#define _GNU_SOURCE
#include "native.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 64 << 10, MOST_WORDS = 64, LAST_SIGNAL = 64, MOST_DESCRIPTORS = 1 << 16 };

struct companion {
  char *const *words; // the path of the executable first
  int in, out;        // its standard input and output, 3 or more; errors go to the input's file
  char *stack;        // two of STACK bytes
  pid_t pid;
  int error;
};

extern char **environ;

static int own_words(void *given);

static int between(void *given) {
  struct companion *b = given;
  b->pid = clone(own_words, b->stack + 2 * STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, b);
  if (b->pid < 0) b->error = errno;
  _exit(0);
}

// Handlers of the program must not run here. The kernel removes them with the program, but not before signals are let through.
static void no_handlers(void) {
  struct sigaction action;
  for (int number = 1; number <= LAST_SIGNAL; number++) {
    if (sigaction(number, NULL, &action) || action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) continue;
    action.sa_handler = SIG_DFL, action.sa_flags = 0;
    sigaction(number, &action, NULL);
  }
}

static void close_from_3(void) {
#ifdef SYS_close_range
  if (!syscall(SYS_close_range, 3u, ~0u, 0u)) return;
#endif
  struct rlimit most = {.rlim_cur = MOST_DESCRIPTORS}; // Linux before 5.9
  getrlimit(RLIMIT_NOFILE, &most);
  for (int fd = 3; fd < MOST_DESCRIPTORS && (rlim_t)fd < most.rlim_cur; fd++) close(fd);
}

static int own_words(void *given) {
  struct companion *b = given;
  sigset_t none;
  setsid(); // Ctrl-C ends the program, and this process after it
  no_handlers();
  if (dup2(b->in, 0) == 0 && dup2(b->out, 1) == 1 && dup2(b->in, 2) == 2) {
    close_from_3();
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    execve(b->words[0], b->words, environ);
  }
  b->error = errno;
  _exit(127);
}

static void start(struct companion *b) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = clone(between, b->stack + STACK, CLONE_VM | CLONE_VFORK, b);
  if (pid < 0) b->error = errno;
  else while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR) {}
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// companion(in, out, *words): words are bytes.
PyObject *native_companion(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  char *words[MOST_WORDS + 1] = {0};
  if (n < 3 || n - 2 > MOST_WORDS) return py.PyErr_SetString(py.PyExc_TypeError, "companion takes two descriptors and words"), NULL;
  for (py_ssize i = 2; i < n; i++)
    if (py.PyBytes_AsStringAndSize(args[i], &words[i - 2], NULL)) return NULL;
  int overflow;
  struct companion b = {.words = words, .in = (int)py.PyLong_AsLongLongAndOverflow(args[0], &overflow), .out = (int)py.PyLong_AsLongLongAndOverflow(args[1], &overflow)};
  if (py.PyErr_Occurred()) return NULL;
  if (!(b.stack = malloc(2 * STACK))) return py.PyErr_NoMemory();
  void *state = py.PyEval_SaveThread();
  start(&b);
  free(b.stack);
  hooks_retake_gil(state);
  return py.PyLong_FromLongLong(b.error ? -b.error : b.pid);
}

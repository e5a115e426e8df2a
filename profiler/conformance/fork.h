// A child of fork that launches a kernel and ends.
#include <sys/wait.h>
#include <unistd.h>

// Returns the child's status.
static int fork_and(void (*launch)(const char *), const char *kernel) {
  pid_t pid = fork();
  if (pid == 0) {
    launch(kernel);
    _exit(0);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

// The C entry points of libproton.so. All of them return at once in a forked child, where Go is gone, and where Go's
// runtime was not started (refusal.h).
#ifndef GOPROTON_ENTRY_H
#define GOPROTON_ENTRY_H

// The program initialises its GPU: what the entry point of each vendor's driver calls, see entry_cuda.c.
void gpu_starts(void);
// proton_call does one control call (see docs/architecture.md) and returns malloc'ed JSON for the caller to
// free. proton_start is proton_call("start", json) and returns the session's id, or -1.
char *proton_call(const char *method, const char *json);
int proton_start(const char *json);
// proton_hotpath returns the table of functions for programs that have scopes of their own.
const void *proton_hotpath(void);

// For main.go: the function to call at the first launch.
void *exit_registrar(void);

// For main.go, threads.c: waits for threads_release, which waits until so many of them wait.
void thread_waits(void);
void threads_release(int n);

#endif

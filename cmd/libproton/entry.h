// The C entry points of libproton.so. All of them return at once in a forked child, in which Go does not run, and if Go's
// runtime was not started (refusal.h).
#ifndef GOPROTON_ENTRY_H
#define GOPROTON_ENTRY_H

// The program initialises its GPU. The entry points of the vendors' drivers call this, see entry_cuda.c.
void gpu_starts(void);
// proton_call makes a control call (see docs/lives/seams.md) and returns malloc'ed JSON, which the caller
// frees. proton_start is proton_call("start", json) and returns the session's id, or -1.
char *proton_call(const char *method, const char *json);
int proton_start(const char *json);
// proton_step ends a step of the program, for sessions and "proton run --every" that record in some steps only. It does not wait for the GPU.
void proton_step(void);
// proton_attach begins what proton attach asks for in a file. It returns at once.
int proton_attach(const char *config);
// proton_hotpath returns the table of functions for programs that have scopes of their own.
const void *proton_hotpath(void);

// For main.go: the function that registers the exit handler; it is called at the first launch.
void *exit_registrar(void);

// For main.go: a forked child closes this socket, which is its parent's.
void entry_listens(int descriptor);

// For main.go: thread_waits waits for threads_release, which first waits until n threads wait. See threads.c.
void thread_waits(void);
void threads_release(int n);

#endif

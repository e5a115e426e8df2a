// The functions of hooks.go that C calls.
#ifndef GOPROTON_CONTROL_H
#define GOPROTON_CONTROL_H

#include <stddef.h>

// text is malloc'ed. kind names the Python exception to raise with it, "" for none.
struct control_answer { char *text; size_t len; char kind[32]; };

extern void goprotonControl(char *method, size_t method_len, char *params, size_t params_len, struct control_answer *answer);
extern void goprotonReady(void); // returns once all init functions have run

// Has Python's handlers of signals run, on a thread that is in a control call. 1 means that one of them has raised an exception: the
// control call has to end, and raises it.
int hooks_interrupted(void);

#endif

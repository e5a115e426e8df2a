// Frames of PyTorch among a thread's scopes. They end when their operator or module does, which may be while a scope is open that began inside,
// and a scope may end while frames are open that began inside of it: a hook of a backward pass enters it, and another one leaves it.
#ifndef GOPROTON_HOOKS_TORCHSCOPES_H
#define GOPROTON_HOOKS_TORCHSCOPES_H

#include "native.h"

enum { TORCH_SCOPES = 512, TORCH_ASIDE = 64 };

// Those that are open on a thread, outermost first. A frame that found no room has node 0.
struct torch_scopes { uint32_t n; int moved; struct hp_token open[TORCH_SCOPES]; }; // moved: scopes have been entered anew

// torch_scopes_open returns whether it has opened a frame, which torch_scopes_close closes: the last one that is open. Scopes that are open
// inside stay, and are in what was around the frame from then on.
int torch_scopes_open(struct torch_scopes *s, uint32_t name);
void torch_scopes_close(struct torch_scopes *s);

// Frames that are closed for a moment, so that the scope around them can be left.
struct torch_aside { uint32_t n, names[TORCH_ASIDE]; };
void torch_scopes_aside(struct torch_scopes *s, struct torch_aside *a);
void torch_scopes_back(struct torch_scopes *s, struct torch_aside *a);

// torch_scopes_here are those of the calling thread, NULL if it has had none.
struct torch_scopes *torch_scopes_here(void);

#endif

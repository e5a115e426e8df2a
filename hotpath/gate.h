// The gate: a scope by whose name recording is switched on and off, or the driver's cuProfilerStart and its like. It belongs to the
// process: it is open while any thread is inside such a scope.
#ifndef GOPROTON_GATE_H
#define GOPROTON_GATE_H

#include "thread.h"

// hp_gate_set names the scope; with an empty name there is no gate, and a NULL one stands for hp_profiler_api. The gate is closed afterwards.
// It is not called while a thread may be inside of a gate that was set before, which would be counted as having left it twice.
// changed is called whenever the gate opens or closes, on the thread that does it, outside of all sections of reclaim.h.
void hp_gate_set(const char *name, size_t length, void (*changed)(void));
int hp_gate_is_open(void);
// The program calls the driver's function that starts (1) or stops (0) profilers. Starts do not nest.
void hp_profiler_api(int start);

// A scope of this name opens or has closed. Calls are needed only while hp_g.gated is not 0.
void hp_gate_enter(struct hp_thread *t, const char *name, size_t length);
void hp_gate_leave(struct hp_thread *t, const char *name, size_t length);
// The thread ends: its scopes are closed. Go finds that out later, because a thread that ends cannot call it.
void hp_gate_abandon(struct hp_thread *t);

#endif

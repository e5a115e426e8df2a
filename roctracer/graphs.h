// Graphs. HIP's records of a graph launch carry the launch's correlation id and a kernel's name, and no node: which kernel
// of which capture a record is follows from the names, and among equal names from their order.
#ifndef GOPROTON_ROCTRACER_GRAPHS_H
#define GOPROTON_ROCTRACER_GRAPHS_H

#include "room.h"

// On threads of the program. Captures, instantiations and ends are rare: they take a lock and allocate. A graph launch does not.
void graph_began(uint64_t capture);                                // a capture, by HIP's number of it
void graph_captured(uint64_t capture, uint32_t name);              // a kernel was launched into it
void graph_ended(uint64_t capture, const void *graph);             // a graph was made of it; NULL: it failed
void graph_instantiated(const void *graph, const void *exec);
void graph_destroyed(const void *graph);
void graph_exec_destroyed(const void *exec);
uint64_t graph_launched(const void *exec, uint64_t correlation);   // our number of the executable graph; its handle if it is not known

// With records: sets graph and graph_node of a kernel whose correlation is a graph launch's.
void graph_resolve(struct hp_activity *kernel);
// Takes in the launches that are waiting, and frees what is no longer needed. Not inside a launch.
void graphs_tidy(void);
// Launches begin or cease to be reported: of the captures in progress some kernels are not known.
void graphs_interrupted(void);
// Forgets everything; no callback may run.
void graphs_forget(void);

#endif

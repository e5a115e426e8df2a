// A GPU vendor that exists for tests: its library, and its room. It has what the seam must carry: ids of 64 bits, records
// of a form of its own, graphs, copies. See synthetic.go.
#ifndef GOPROTON_SYNTHETIC_H
#define GOPROTON_SYNTHETIC_H

#include "vendor.h"

// ---- the library: what a program calls ----
void synthetic_launch(const char *kernel);
void synthetic_copy(uint64_t bytes);
void synthetic_copy_in_parts(uint64_t bytes, int parts, uint32_t stream);
void synthetic_wait(uint64_t nanos);
void synthetic_launch_on(const char *kernel, uint32_t stream);
void synthetic_capture_begin(void);
uint64_t synthetic_capture_end(void); // the executable graph
void synthetic_graph_launch(uint64_t exec);

// ---- the room ----
void synthetic_use(const struct hp_vendor_api *api, int graphs);
void synthetic_listen(int on);
void synthetic_flush(void);

#endif

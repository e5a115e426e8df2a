// The legacy provider: libroctracer64.
#ifndef GOPROTON_ROCTRACER_LEGACY_H
#define GOPROTON_ROCTRACER_LEGACY_H

#include "abi_legacy.h"
#include "room.h"

// Opens a library: NULL on success, else dlerror's text or the missing symbol's name.
const char *legacy_load(const char *path, int *missing_symbol);
int legacy_version(void); // 401 is 4.1

// 1 if the library does not report HIP's calls, because it was used before HIP was loaded; it looks for HIP once. 0 if it does, or if
// asking would start HIP, which a program may want to do after a fork.
int legacy_is_deaf(void);

// These return a status, ROCTRACER_OK or the first that was not. *refused is what was refused.
int legacy_attach(const char **refused);
int legacy_watch(int ranges, int profilers, const char **refused);
int legacy_listen(int launches, int copies, int waits, const char **refused);
void legacy_flush(void);
// close: no thread uses the GPU any more, so that the pool of records can be freed.
void legacy_detach(int close);

// The ordinal of the GPU at a node of the driver's topology, below a root folder (nodes.c).
uint16_t nodes_ordinal(int node);
void nodes_use_root(const char *folder);

// Decodes records; exported for tests.
void legacy_records(const char *begin, const char *end, void *unused);

#endif

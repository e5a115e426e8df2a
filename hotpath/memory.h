// Address space reserved once and touched as needed: the hot path's substitute for malloc.
#ifndef GOPROTON_MEMORY_H
#define GOPROTON_MEMORY_H

#include <stddef.h>

// hp_reserve maps zeroed memory that costs nothing until touched; NULL when the system refuses.
void *hp_reserve(size_t size);
// hp_release gives the pages back and leaves the range zeroed and mapped.
void hp_release(void *p, size_t size);

#endif

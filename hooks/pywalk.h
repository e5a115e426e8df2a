// Reads the Python stack from the interpreter's structures, without the GIL.
#ifndef GOPROTON_PYWALK_H
#define GOPROTON_PYWALK_H

#include "pylayout.h"

// pywalk returns the call path of the calling thread's Python frames, 0 if it has none.
uint32_t pywalk(void);
int pywalks(void); // how many are under way, on other threads than this one
// pywalk_stack is public_stack by this walker, without its caches.
int pywalk_stack(uint32_t *names, int room);

#endif

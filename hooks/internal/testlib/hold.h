// Stops threads at a chosen place until the interpreter has ended, so that tests of races at the end do not depend on luck.
#ifndef GOPROTON_HOLD_H
#define GOPROTON_HOLD_H

#include "../../../hotpath/hotpath.h"

const void *hold_api(const void *api); // the table to give to the extension module
void hold_walk(void);                  // the calling thread's next walk of its Python stack stops
void hold_call(void);                  // stops the calling thread
int hold_held(void);                   // how many threads have stopped

#endif

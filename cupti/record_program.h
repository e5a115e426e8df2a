// What the two halves of the recorder know of each other.
#ifndef GOPROTON_CUPTI_RECORD_PROGRAM_H
#define GOPROTON_CUPTI_RECORD_PROGRAM_H

// Writes the calling thread's Python call path when it has changed since the last time. Asked for at every
// event that a python context could want it for, so that one capture serves both contexts.
void record_python_path(void);

#endif

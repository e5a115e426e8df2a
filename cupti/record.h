// Recording: everything CUPTI told us and everything the program did, into one file (PROTON_RECORD).
//
// The recorder is a set of interposers. It stands between us and CUPTI by replacing entries of the
// function table, and between the program and the hot path by giving out a table of its own. Unlike the
// hot path it locks and allocates: a run that is being recorded is a diagnostic run and is slower.
#ifndef GOPROTON_CUPTI_RECORD_H
#define GOPROTON_CUPTI_RECORD_H

#include "abi.h"
#include "hotpath.h"

// Creates the file. 0, or an errno.
int record_open(const char *path);
// 1 between record_open and record_close, 0 in a forked child.
int record_on(void);
// 1 once CUPTI has been wrapped, which happens when the process turns out to use a GPU.
int record_saw_gpu(void);
// Writes what is buffered and ends the file. Later events are not recorded. 0, or the first errno of any write.
int record_close(void);

// Replaces the functions of the table whose use is worth recording by ones that record and then call the
// originals. Call it once, after the table is complete and before anything subscribes. cuda may be NULL.
void record_wrap_cupti(struct cupti_table *table, const struct cuda_table *cuda, const char *library);

// The table to give to whoever calls the hot path on behalf of the program.
const struct hp_api *record_wrap_hotpath(const struct hp_api *real);

// A control call of the program (activate, deactivate, ...), after it has returned.
void record_control(const char *method, const char *params_json);

#endif

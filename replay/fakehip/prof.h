// What HIP reports to roctracer: its calls, with their arguments in hip_api_data_t, and records of what ran. The fake libroctracer64
// passes the same to its user, and the fake libamdhip64 to a real libroctracer64. Numbers and offsets are the stub's own, so that a
// wrong one of the room is seen.
#ifndef GOPROTON_ROCTRACER_STUB_PROF_H
#define GOPROTON_ROCTRACER_STUB_PROF_H

#include "stub.h"

enum { PROF_HIP_OPS = 2, PROF_HIP_API = 3 };
enum { PROF_DISPATCH, PROF_COPY, PROF_BARRIER };
enum { PROF_RECORD = 64, PROF_CALL = 1520, PROF_CALLS = 450, PROF_FIRST_NODE = 2 };

struct prof_place { uint16_t at, size; };
struct prof_known {
  const char *name;
  uint32_t op;
  struct prof_place arguments[11];
};

const struct prof_known *prof_named(const char *name); // NULL: roctracer does not know the call
// Fills hip_api_data_t of a call, but for what roctracer writes: the correlation id and the phase.
void prof_call(char data[PROF_CALL], const struct prof_known *known, const struct stub_call *call);
uint32_t prof_operation(const struct stub_work *work);
void prof_record(char record[PROF_RECORD], const struct stub_work *work, const char *name, uint64_t correlation);
void prof_put32(char *at, uint32_t value);
void prof_put64(char *at, uint64_t value);

#endif

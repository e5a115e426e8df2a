// The numbers and places of prof.h.
#include "prof.h"

#include <string.h>

// ---- the functions of HIP: their numbers, and where hip_api_data_t has their arguments ----

static const struct prof_known known[] = {
#define P {16, 8}
    {"hipModuleLaunchKernel", 169, {P, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 4}, {44, 4}, {48, 4}, {56, 8}, {64, 8}, {80, 8}}},
    {"hipLaunchKernel", 107, {P, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 4}, {44, 4}, {48, 8}, {64, 8}, {72, 8}}},
    {"hipExtLaunchKernel", 62, {P, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 4}, {44, 4}, {48, 8}, {64, 8}, {72, 8}}},
    {"hipLaunchCooperativeKernel", 105, {P, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 4}, {44, 4}, {48, 8}, {64, 4}, {72, 8}}},
    {"hipLaunchByPtr", 104, {P}},
    {"hipExtModuleLaunchKernel", 65, {P, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 4}, {44, 4}, {48, 8}, {56, 8}}},
    {"hipHccModuleLaunchKernel", 88, {P, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 4}, {44, 4}, {48, 8}, {56, 8}}},
    {"hipModuleLaunchCooperativeKernel", 358, {P, {24, 4}, {28, 4}, {32, 4}, {36, 4}, {40, 4}, {44, 4}, {48, 4}, {56, 8}}},
    {"hipLaunchKernelExC", 419, {P, {80, 8}}}, // from HIP 7.1 on
    {"hipDrvLaunchKernelEx", 420, {P, {80, 8}}},
    {"hipExtLaunchMultiKernelMultiDevice", 63, {P, {80, 4}, {84, 4}}},
    {"hipLaunchCooperativeKernelMultiDevice", 106, {P, {80, 4}, {84, 4}}},
    {"hipModuleLaunchCooperativeKernelMultiDevice", 359, {P, {80, 4}, {84, 4}}},
    {"hipGraphLaunch", 215, {P, {24, 8}}},
    {"hipStreamBeginCapture", 219, {P, {24, 4}}},
    {"hipStreamEndCapture", 220, {P, {24, 8}}},
    {"hipGraphInstantiate", 214, {P, {32, 8}, {40, 8}, {56, 8}, {64, 8}}},
    {"hipGraphDestroy", 212, {P}},
    {"hipGraphExecDestroy", 213, {P}},
    {"hipMemcpyAsync", 134, {P, {24, 8}, {32, 8}, {40, 4}, {48, 8}}},
    {"hipMemcpyHtoDAsync", 144, {P, {24, 8}, {32, 8}, {40, 8}}},
    {"hipMemsetAsync", 159, {P, {24, 4}, {32, 8}, {40, 8}}},
    {"hipRuntimeGetVersion", 343, {P}},
    {"hipDeviceSynchronize", 48, {{0, 0}}},
    {"hipProfilerStart", 183, {{0, 0}}},
    {"hipProfilerStop", 184, {{0, 0}}},
    {"hipStreamSynchronize", 199, {P}},
    {"hipEventSynchronize", 60, {P}},
    {"hipSetDevice", 190, {{16, 4}}},
    {"hipModuleLoadData", 171, {P, {24, 8}}},
    {"hipModuleUnload", 177, {P}},
#undef P
};

const struct prof_known *prof_named(const char *name) {
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(known[i].name, name)) return &known[i];
  return NULL;
}

void prof_put32(char *at, uint32_t value) { memcpy(at, &value, sizeof value); }
void prof_put64(char *at, uint64_t value) { memcpy(at, &value, sizeof value); }

void prof_call(char data[PROF_CALL], const struct prof_known *known, const struct stub_call *call) {
  memset(data, 0, PROF_CALL);
  for (int i = 0; i < call->count; i++) memcpy(data + known->arguments[i].at, &call->arguments[i], known->arguments[i].size);
}

// ---- records ----

static uint32_t kind_of(const struct stub_work *w) {
  switch (w->kind) {
  case STUB_KERNEL: return w->in_graph ? 0x11F1 : 0x11F0;
  case STUB_FILL: return 0x1207;
  default: return w->copy_kind == 1 ? 0x11F4 : w->copy_kind == 2 ? 0x11F3 : 0x11F5;
  }
}

uint32_t prof_operation(const struct stub_work *w) { return w->kind == STUB_KERNEL ? PROF_DISPATCH : PROF_COPY; }

void prof_record(char r[PROF_RECORD], const struct stub_work *w, const char *name, uint64_t correlation) {
  memset(r, 0, PROF_RECORD);
  prof_put32(r, PROF_HIP_OPS), prof_put32(r + 4, kind_of(w)), prof_put32(r + 8, prof_operation(w));
  prof_put64(r + 16, correlation), prof_put64(r + 24, w->start), prof_put64(r + 32, w->end);
  prof_put32(r + 40, (uint32_t)(PROF_FIRST_NODE + w->device)), prof_put64(r + 48, w->queue);
  prof_put64(r + 56, w->kind == STUB_KERNEL ? (uint64_t)(uintptr_t)name : w->bytes);
}

// A libcuda for Triton's Proton alone: GPU memory is the process's own. Built by oracle_test.go.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags) { return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = 1; return 0; }
int cuCtxGetCurrent(void **context) { *context = (void *)1; return 0; }
int cuCtxGetDevice(int *device) { *device = 0; return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuCtxGetStreamPriorityRange(int *least, int *greatest) { *least = *greatest = 0; return 0; }
int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) { *stream = (void *)2; return 0; }
int cuStreamSynchronize(void *stream) { return 0; }
int cuMemAllocHost_v2(void **memory, size_t bytes) { return (*memory = malloc(bytes)) ? 0 : 2; }
int cuMemFreeHost(void *memory) { free(memory); return 0; }
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) { memcpy(to, (void *)from, bytes); return 0; }
int cuStreamDestroy_v2(void *stream) { return 0; }

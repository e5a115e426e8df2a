// The functions of the fake driver that programs call. They are in cuda.c and graph.c.
#ifndef GOPROTON_STUB_CUDA_API_H
#define GOPROTON_STUB_CUDA_API_H

#include "../../cupti/abi_driver.h"

uint32_t cuInit(uint32_t flags);
uint32_t cuCtxCreate_v2(void **context, uint32_t flags, int device);
uint32_t cuCtxDestroy_v2(void *context);
uint32_t cuCtxSetCurrent(void *context);
uint32_t cuModuleLoadData(void **module, const void *image);
uint32_t cuModuleUnload(void *module);
uint32_t cuModuleGetFunction(void **function, void *module, const char *name);
uint32_t cuStreamCreate(void **stream, uint32_t flags);
uint32_t cuLaunchKernel(void *f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared,
                        void *stream, void **params, void **extra);
uint32_t cuLaunchKernelEx(const struct cuda_launch_config *config, void *f, void **params, void **extra);
uint32_t cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
uint32_t cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
uint32_t cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream);
uint32_t cuStreamSynchronize(void *stream);
uint32_t cuStreamBeginCapture_v2(void *stream, int mode);
uint32_t cuStreamEndCapture(void *stream, void **graph);
uint32_t cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
uint32_t cuGraphLaunch(void *exec, void *stream);
uint32_t cuGraphExecDestroy(void *exec);
uint32_t cuGraphDestroy(void *graph);

#endif

package conformance

/*
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include "fork.h"

static struct {
	uint32_t (*cuInit)(uint32_t);
	uint32_t (*cuCtxCreate_v2)(void **, uint32_t, int);
	uint32_t (*cuCtxSetCurrent)(void *);
	uint32_t (*cuModuleLoadData)(void **, const void *);
	uint32_t (*cuModuleGetFunction)(void **, void *, const char *);
	uint32_t (*cuStreamCreate)(void **, uint32_t);
	uint32_t (*cuLaunchKernel)(void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, void *, void **, void **);
	uint32_t (*cuMemcpyHtoDAsync_v2)(uint64_t, const void *, size_t, void *);
	uint32_t (*cuStreamBeginCapture_v2)(void *, int);
	uint32_t (*cuStreamEndCapture)(void *, void **);
	uint32_t (*cuGraphInstantiateWithFlags)(void **, void *, unsigned long long);
	uint32_t (*cuGraphLaunch)(void *, void *);
	void *context, *module, *stream;
} cuda;

// Loads the fake driver under the name that programs ask for, before the profiler does. NULL, or what is missing.
static const char *open_driver(const char *path) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!lib) return dlerror();
#define F(name) if (!(*(void **)&cuda.name = dlsym(lib, #name))) return #name;
	F(cuInit) F(cuCtxCreate_v2) F(cuCtxSetCurrent) F(cuModuleLoadData) F(cuModuleGetFunction) F(cuStreamCreate) F(cuLaunchKernel)
	F(cuMemcpyHtoDAsync_v2) F(cuStreamBeginCapture_v2) F(cuStreamEndCapture) F(cuGraphInstantiateWithFlags) F(cuGraphLaunch)
#undef F
	if (cuda.cuInit(0) || cuda.cuCtxCreate_v2(&cuda.context, 0, 0) || cuda.cuModuleLoadData(&cuda.module, "image") || cuda.cuStreamCreate(&cuda.stream, 0))
		return "cuInit, cuCtxCreate, cuModuleLoadData or cuStreamCreate fails";
	return NULL;
}

static void launch(const char *kernel) {
	void *f;
	cuda.cuCtxSetCurrent(cuda.context);
	cuda.cuModuleGetFunction(&f, cuda.module, kernel);
	cuda.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, cuda.stream, NULL, NULL);
}
static void *launch_once(void *kernel) { return launch(kernel), NULL; }
// Threads that launch once: so many at a time, and as often one after the other.
static void launch_in_threads(const char *kernel, int times, int at_a_time) {
	pthread_t threads[64];
	for (int i = 0; i < times; i++) {
		for (int t = 0; t < at_a_time; t++) pthread_create(&threads[t], NULL, launch_once, (void *)kernel);
		for (int t = 0; t < at_a_time; t++) pthread_join(threads[t], NULL);
	}
}
static void copy(size_t bytes) {
	cuda.cuCtxSetCurrent(cuda.context);
	cuda.cuMemcpyHtoDAsync_v2(1, NULL, bytes, cuda.stream);
}
static void *stream_of(void) { return cuda.stream; }
static void begin_capture(void) { cuda.cuStreamBeginCapture_v2(cuda.stream, 0); }
static void *end_capture(void) {
	void *graph, *exec;
	cuda.cuStreamEndCapture(cuda.stream, &graph);
	cuda.cuGraphInstantiateWithFlags(&exec, graph, 0);
	return exec;
}
static void launch_graph(void *exec) {
	cuda.cuCtxSetCurrent(cuda.context);
	cuda.cuGraphLaunch(exec, cuda.stream);
}
static int fork_cuda(const char *kernel) { return fork_and(launch, kernel); }
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// FakeCUDA is the fake driver of replay/fakecuda, which the fake libcupti next to it watches.
type FakeCUDA struct{}

// OpenFakeCUDA loads the fake driver from a file.
func OpenFakeCUDA(path string) (gpu FakeCUDA, err error) {
	with(path, func(c *C.char) {
		if missing := C.open_driver(c); missing != nil {
			err = fmt.Errorf("open the fake driver %s: %s; run make build", path, C.GoString(missing))
		}
	})
	return gpu, err
}

// Launch launches a kernel.
func (FakeCUDA) Launch(kernel string) { with(kernel, func(c *C.char) { C.launch(c) }) }

// LaunchInThreads launches a kernel once in each of many threads, which end: so many at a time (64 at most), and as often.
func (FakeCUDA) LaunchInThreads(kernel string, times, atATime int) {
	with(kernel, func(c *C.char) { C.launch_in_threads(c, C.int(times), C.int(atATime)) })
}

// Copy copies from the host.
func (FakeCUDA) Copy(bytes int) { C.copy(C.size_t(bytes)) }

// Graph is described with GPU.
func (g FakeCUDA) Graph(kernels ...string) func() {
	C.begin_capture()
	for _, kernel := range kernels {
		g.Launch(kernel)
	}
	exec := C.end_capture()
	return func() { C.launch_graph(exec) }
}

// Capture captures what f launches on a stream and returns what launches it again.
func (FakeCUDA) Capture(f func(stream unsafe.Pointer)) func() {
	C.begin_capture()
	f(C.stream_of())
	exec := C.end_capture()
	return func() { C.launch_graph(exec) }
}

// Fork is described with GPU.
func (FakeCUDA) Fork(kernel string) (status int) {
	with(kernel, func(c *C.char) { status = int(C.fork_cuda(c)) })
	return status
}

package conformance

/*
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include "fork.h"

struct dim3 { uint32_t x, y, z; };

static struct {
	int (*hipModuleLoadData)(void **, const void *);
	int (*hipModuleGetFunction)(void **, void *, const char *);
	int (*hipStreamCreate)(void **);
	int (*hipModuleLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	int (*hipMemcpyAsync)(void *, const void *, size_t, int, void *);
	int (*hipStreamBeginCapture)(void *, int);
	int (*hipStreamEndCapture)(void *, void **);
	int (*hipGraphInstantiate)(void **, void *, void **, char *, size_t);
	int (*hipGraphDestroy)(void *);
	int (*hipGraphLaunch)(void *, void *);
	int (*hipLaunchKernel)(const void *, struct dim3, struct dim3, void **, size_t, void *);
	int (*hipExtLaunchMultiKernelMultiDevice)(void *, int, unsigned);
	int (*hipSetDevice)(int);
	int (*hipDeviceSynchronize)(void);
	int (*hipEventCreate)(void **);
	int (*hipEventRecord)(void *, void *);
	int (*hipStreamWaitEvent)(void *, void *, unsigned);
	int (*hipMemsetAsync)(void *, int, size_t, void *);
	int (*hipGraphExecDestroy)(void *);
	int (*hipStreamDestroy)(void *);
	int (*hipDeviceReset)(void);
	int (*hipModuleUnload)(void *);
	void (*stub_register_host_function)(const void *, const char *);
	void *module, *stream, *second, *event;
} hip;

// Loads the fake HIP before the profiler looks for it. NULL, or what is missing.
static const char *open_hip(const char *path) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!lib) return dlerror();
#define F(name) if (!(*(void **)&hip.name = dlsym(lib, #name))) return #name;
	F(hipModuleLoadData) F(hipModuleGetFunction) F(hipStreamCreate) F(hipModuleLaunchKernel) F(hipMemcpyAsync)
	F(hipStreamBeginCapture) F(hipStreamEndCapture) F(hipGraphInstantiate) F(hipGraphDestroy) F(hipGraphLaunch)
	F(hipLaunchKernel) F(hipSetDevice) F(hipDeviceSynchronize) F(hipEventCreate) F(hipEventRecord) F(hipStreamWaitEvent) F(hipMemsetAsync)
	F(hipGraphExecDestroy) F(hipStreamDestroy) F(hipDeviceReset) F(hipModuleUnload) F(hipExtLaunchMultiKernelMultiDevice) F(stub_register_host_function)
#undef F
	return NULL;
}

// HIP starts at the first use: rocprofiler-sdk has to be there before.
static void start_once(void) {
	if (hip.hipModuleLoadData(&hip.module, "image") || hip.hipStreamCreate(&hip.stream) || hip.hipStreamCreate(&hip.second) || hip.hipEventCreate(&hip.event)) abort();
}
static void *started(void **object) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, start_once);
	return *object;
}
static void start_hip(void) { started(&hip.stream); }
#define STREAM started(&hip.stream)

static void launch_on(const char *kernel, void *stream) {
	void *f;
	hip.hipModuleGetFunction(&f, hip.module, kernel);
	hip.hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}
static void hip_launch(const char *kernel) { launch_on(kernel, STREAM); }
static void hip_launch_second(const char *kernel) { launch_on(kernel, started(&hip.second)); }
static void hip_launch_host(const char *kernel) {
	static const char function;
	struct dim3 one = {1, 1, 1};
	hip.stub_register_host_function(&function, kernel);
	hip.hipLaunchKernel(&function, one, one, NULL, 0, STREAM);
}
static void hip_launch_on_two(const char *kernel) {
	struct { const void *function; struct dim3 grid, block; void **arguments; size_t shared; void *stream; } list[2];
	static const char function;
	hip.stub_register_host_function(&function, kernel);
	STREAM;
	for (int device = 1; device >= 0; device--) {
		hip.hipSetDevice(device);
		list[device].function = &function;
		hip.hipStreamCreate(&list[device].stream);
	}
	hip.hipExtLaunchMultiKernelMultiDevice(list, 2, 0);
}
static void hip_set_device(int device) {
	STREAM;
	hip.hipSetDevice(device);
	hip.hipStreamCreate(&hip.stream);
}
static void hip_wait(void) { hip.hipDeviceSynchronize(); }
static void hip_fill(size_t bytes) { hip.hipMemsetAsync((void *)1, 0, bytes, STREAM); }
static void hip_end_graph(void *exec) { hip.hipGraphExecDestroy(exec); }

static void join(void *to, void *from) {
	hip.hipEventRecord(hip.event, from);
	hip.hipStreamWaitEvent(to, hip.event, 0);
}
static void hip_fork_capture(void) { join(hip.second, hip.stream); }
static void hip_join_capture(void) { join(hip.stream, hip.second); }

struct many { const char *kernel; int launches; };
static void *launch_many(void *argument) {
	struct many *m = argument;
	for (int i = 0; i < m->launches; i++) launch_on(m->kernel, STREAM);
	return NULL;
}
static void hip_launch_in_threads(const char *kernel, int threads, int launches) {
	pthread_t started[64];
	struct many m = {kernel, launches};
	for (int i = 0; i < threads && i < 64; i++) pthread_create(&started[i], NULL, launch_many, &m);
	for (int i = 0; i < threads && i < 64; i++) pthread_join(started[i], NULL);
}
static void hip_copy(size_t bytes) { hip.hipMemcpyAsync((void *)1, NULL, bytes, 1, STREAM); }
static void hip_begin_capture(void) { hip.hipStreamBeginCapture(STREAM, 0); }
static void *hip_end_capture(void) {
	void *graph, *exec;
	hip.hipStreamEndCapture(hip.stream, &graph);
	hip.hipGraphInstantiate(&exec, graph, NULL, NULL, 0);
	hip.hipGraphDestroy(graph);
	return exec;
}
static void hip_launch_graph(void *exec) { hip.hipGraphLaunch(exec, hip.stream); }
// Another tool's first use of roctracer; with a pool, it goes on.
static void buffer(const char *begin, const char *end, void *argument) {}
static void on_call(uint32_t domain, uint32_t op, const void *data, void *argument) {}
static const char *another_tool(const char *path, int pool) {
	struct { uint32_t mode; size_t size; void *allocate, *argument; void (*buffer)(const char *, const char *, void *); void *buffer_argument; } p = {.size = 4096, .buffer = buffer};
	void *lib = dlopen(path, RTLD_NOW);
	int (*open_pool)(const void *), (*op_code)(uint32_t, const char *, uint32_t *, uint32_t *), (*enable)(uint32_t, uint32_t, void *, void *);
	uint32_t op = 0;
	if (!lib) return dlerror();
	*(void **)&open_pool = dlsym(lib, "roctracer_open_pool"), *(void **)&op_code = dlsym(lib, "roctracer_op_code"), *(void **)&enable = dlsym(lib, "roctracer_enable_op_callback");
	return (pool ? open_pool(&p) : op_code(3, "hipModuleLaunchKernel", &op, NULL) || enable(3, op, on_call, NULL)) ? "it fails" : NULL;
}
static uint64_t flushes(const char *path) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	uint64_t (*count)(void) = NULL;
	if (lib) *(void **)&count = dlsym(lib, "stub_flushes");
	return count ? count() : 0;
}
// Destroys the streams and the module, resets the device, and makes new ones.
static void hip_reset(void) {
	hip.hipStreamDestroy(hip.stream), hip.hipStreamDestroy(hip.second);
	hip.hipDeviceReset();
	hip.hipModuleUnload(hip.module);
	start_once();
}
static int run_command(const char *command) { return system(command); }
static int fork_hip(const char *kernel) { return fork_and(hip_launch, kernel); }
*/
import "C"

import (
	"fmt"
	"os"

	"github.com/goproton/goproton/internal/figures"
)

// FakeHIP is the fake libamdhip64 of replay/fakehip, which the fake tracing libraries next to it watch.
type FakeHIP struct{}

// OpenFakeHIP loads the fake HIP from a file.
func OpenFakeHIP(path string) (gpu FakeHIP, err error) {
	with(path, func(c *C.char) {
		if missing := C.open_hip(c); missing != nil {
			err = fmt.Errorf("open the fake HIP %s: %s; run make build", path, C.GoString(missing))
		}
	})
	return gpu, err
}

// Start starts HIP, as the first use does.
func (FakeHIP) Start() { C.start_hip() }

// Flushes is how often the fake rocprofiler-sdk was asked for a buffer.
func (FakeHIP) Flushes() (n uint64) {
	with(os.Getenv("TRITON_ROCPROFILER_SDK_LIB_PATH")+"/librocprofiler-sdk.so.1", func(c *C.char) { n = uint64(C.flushes(c)) })
	return n
}

// Launch launches a kernel.
func (FakeHIP) Launch(kernel string) { with(kernel, func(c *C.char) { C.hip_launch(c) }) }

// Copy copies from the host.
func (FakeHIP) Copy(bytes int) { C.hip_copy(C.size_t(bytes)) }

// Graph is described with GPU.
func (g FakeHIP) Graph(kernels ...string) func() {
	g.Capture()
	for _, kernel := range kernels {
		g.Launch(kernel)
	}
	return g.Instantiate()
}

// Capture begins a capture: launches are nodes of a graph.
func (FakeHIP) Capture() { C.hip_begin_capture() }

// Instantiate ends the capture and returns what launches its graph.
func (FakeHIP) Instantiate() func() {
	exec := C.hip_end_capture()
	return func() { C.hip_launch_graph(exec) }
}

// LaunchHost launches a kernel by its host function.
func (FakeHIP) LaunchHost(kernel string) { with(kernel, func(c *C.char) { C.hip_launch_host(c) }) }

// LaunchOnTwo launches a kernel on devices 0 and 1 by one call. The current device is then 0.
func (FakeHIP) LaunchOnTwo(kernel string) { with(kernel, func(c *C.char) { C.hip_launch_on_two(c) }) }

// LaunchSecond launches a kernel on the second stream.
func (FakeHIP) LaunchSecond(kernel string) { with(kernel, func(c *C.char) { C.hip_launch_second(c) }) }

// LaunchInThreads launches a kernel so many times in each of so many threads.
func (FakeHIP) LaunchInThreads(kernel string, threads, launches int) {
	with(kernel, func(c *C.char) { C.hip_launch_in_threads(c, C.int(threads), C.int(launches)) })
}

// Fill fills memory.
func (FakeHIP) Fill(bytes int) { C.hip_fill(C.size_t(bytes)) }

// SetDevice makes a device the thread's current one; launches go to a new stream of it.
func (FakeHIP) SetDevice(device int) { C.hip_set_device(C.int(device)) }

// Wait waits for the device.
func (FakeHIP) Wait() { C.hip_wait() }

// Branches captures kernels in turns on two streams, of which the second joins the first, and returns what launches them again.
func (g FakeHIP) Branches(kernels ...string) (launch, destroy func()) {
	C.hip_begin_capture()
	C.hip_fork_capture()
	for i, kernel := range kernels {
		if i%2 == 0 {
			g.Launch(kernel)
		} else {
			g.LaunchSecond(kernel)
		}
	}
	C.hip_join_capture()
	exec := C.hip_end_capture()
	return func() { C.hip_launch_graph(exec) }, func() { C.hip_end_graph(exec) }
}

// AnotherTool uses the fake libroctracer64 as another profiler does; with a pool of records, or as one that has none.
func AnotherTool(path string, pool bool) (err error) {
	with(path, func(c *C.char) {
		if problem := C.another_tool(c, figures.OneIf[C.int](pool)); problem != nil {
			err = fmt.Errorf("use %s: %s", path, C.GoString(problem))
		}
	})
	return err
}

// Reset destroys streams, module and device, and makes new ones.
func (FakeHIP) Reset() { C.hip_reset() }

// Run has a shell run a command with C's environment, and returns its wait status.
func (FakeHIP) Run(command string) (status int) {
	with(command, func(c *C.char) { status = int(C.run_command(c)) })
	return status
}

// Fork is described with GPU.
func (FakeHIP) Fork(kernel string) (status int) {
	with(kernel, func(c *C.char) { status = int(C.fork_hip(c)) })
	return status
}

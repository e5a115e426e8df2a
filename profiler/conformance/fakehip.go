package conformance

/*
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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
	void *module, *stream;
} hip;

// Loads the fake HIP before the profiler looks for it. NULL, or what is missing.
static const char *open_hip(const char *path) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!lib) return dlerror();
#define F(name) if (!(*(void **)&hip.name = dlsym(lib, #name))) return #name;
	F(hipModuleLoadData) F(hipModuleGetFunction) F(hipStreamCreate) F(hipModuleLaunchKernel) F(hipMemcpyAsync)
	F(hipStreamBeginCapture) F(hipStreamEndCapture) F(hipGraphInstantiate) F(hipGraphDestroy) F(hipGraphLaunch)
#undef F
	return hip.hipModuleLoadData(&hip.module, "image") || hip.hipStreamCreate(&hip.stream) ? "hipModuleLoadData or hipStreamCreate fails" : NULL;
}

static void hip_launch(const char *kernel) {
	void *f;
	hip.hipModuleGetFunction(&f, hip.module, kernel);
	hip.hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, hip.stream, NULL, NULL);
}
static void hip_copy(size_t bytes) { hip.hipMemcpyAsync((void *)1, NULL, bytes, 1, hip.stream); }
static void hip_begin_capture(void) { hip.hipStreamBeginCapture(hip.stream, 0); }
static void *hip_end_capture(void) {
	void *graph, *exec;
	hip.hipStreamEndCapture(hip.stream, &graph);
	hip.hipGraphInstantiate(&exec, graph, NULL, NULL, 0);
	hip.hipGraphDestroy(graph);
	return exec;
}
static void hip_launch_graph(void *exec) { hip.hipGraphLaunch(exec, hip.stream); }
static int fork_hip(const char *kernel) {
	pid_t pid = fork();
	if (pid == 0) {
		hip_launch(kernel);
		_exit(0);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	return status;
}
*/
import "C"

import "fmt"

// FakeHIP is the fake libamdhip64 of roctracer/stub, which the fake tracing libraries next to it watch.
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

// Launch launches a kernel.
func (FakeHIP) Launch(kernel string) { with(kernel, func(c *C.char) { C.hip_launch(c) }) }

// Copy copies from the host.
func (FakeHIP) Copy(bytes int) { C.hip_copy(C.size_t(bytes)) }

// Graph is described with GPU.
func (g FakeHIP) Graph(kernels ...string) func() {
	C.hip_begin_capture()
	for _, kernel := range kernels {
		g.Launch(kernel)
	}
	exec := C.hip_end_capture()
	return func() { C.hip_launch_graph(exec) }
}

// Fork is described with GPU.
func (FakeHIP) Fork(kernel string) (status int) {
	with(kernel, func(c *C.char) { status = int(C.fork_hip(c)) })
	return status
}

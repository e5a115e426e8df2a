package hotpathtest

/*
#cgo CFLAGS: -I${SRCDIR}/../scratch -I${SRCDIR}/.. -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: -ldl -lpthread
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "scratch.h"

static const struct scratch_api *scratch;
static void *context;
static struct {
	uint32_t (*init)(uint32_t);
	uint32_t (*create)(void **, uint32_t, int);
	uint32_t (*use)(void *);
	uint32_t (*stream)(void **, uint32_t);
	uint32_t (*begin)(void *, int);
	uint32_t (*end)(void *, void **);
	uint32_t (*instantiate)(void **, void *, unsigned long long);
	uint32_t (*destroy)(void *), (*destroy_exec)(void *);
	uint32_t (*replay)(void *, void *);
	uint32_t (*allocate)(uint64_t *, size_t);
	void (*hold)(int);
} cuda;

static int load(const char *path, const void *api) {
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library) return 0;
	*(void **)&cuda.init = dlsym(library, "cuInit");
	*(void **)&cuda.create = dlsym(library, "cuCtxCreate_v2");
	*(void **)&cuda.use = dlsym(library, "cuCtxSetCurrent");
	*(void **)&cuda.stream = dlsym(library, "cuStreamCreate");
	*(void **)&cuda.begin = dlsym(library, "cuStreamBeginCapture_v2");
	*(void **)&cuda.end = dlsym(library, "cuStreamEndCapture");
	*(void **)&cuda.instantiate = dlsym(library, "cuGraphInstantiateWithFlags");
	*(void **)&cuda.destroy = dlsym(library, "cuGraphDestroy");
	*(void **)&cuda.destroy_exec = dlsym(library, "cuGraphExecDestroy");
	*(void **)&cuda.replay = dlsym(library, "cuGraphLaunch");
	*(void **)&cuda.allocate = dlsym(library, "cuMemAlloc_v2");
	*(void **)&cuda.hold = dlsym(library, "stub_cuda_hold");
	scratch = api;
	return !cuda.init(0) && !cuda.create(&context, 0, 0);
}

static uint32_t next_random(uint32_t *state) {
	*state ^= *state << 13, *state ^= *state >> 17, *state ^= *state << 5;
	return *state;
}

// A warp's ring has the number of the launch in each word that was written, as many as the number says. Some blocks never start.
static void leave(char *memory, uint32_t blocks, uint32_t slot, uint32_t warps, uint32_t rings, uint32_t launch, uint64_t stream) {
	for (uint32_t i = 0; i < blocks; i++) {
		if (i && (launch + i) % 11 == 0) continue;
		char *at = memory + (uint64_t)i * slot;
		uint32_t header[10] = {0xdeadbeef, i, launch, rings};
		memcpy(header + 8, &stream, sizeof stream);
		memcpy(at, header, sizeof header);
		for (uint32_t w = 0; w < warps; w++) {
			uint32_t segment = rings / warps / 4, count = (launch + i + w) % (2 * segment), *ring = (uint32_t *)(at + 40 + 4 * warps) + w * segment;
			memcpy(at + 40 + 4 * w, &count, 4);
			for (uint32_t n = 0; n < count && n < segment; n++) ring[n] = launch;
		}
	}
}

struct scratch_job { uint32_t first, launches, slot, warps, rings, most; uint64_t function; };

static void *work(void *p) {
	struct scratch_job *j = p;
	void *streams[2] = {NULL, NULL};
	uint32_t seed = j->first * 2654435761u + 1;
	cuda.use(context);
	cuda.stream(&streams[1], 0);
	for (uint32_t n = 0; n < j->launches; n++) {
		uint32_t blocks = next_random(&seed) % 8 ? 1 + next_random(&seed) % 9 : 1 + next_random(&seed) % j->most;
		uint64_t stream = (uint64_t)(uintptr_t)streams[next_random(&seed) % 16 == 0], bytes = (uint64_t)blocks * j->slot;
		uint64_t memory = scratch->take(bytes, stream);
		if (!memory) abort();
		if (next_random(&seed) % 64 == 0) memory = scratch->take(bytes, stream); // the launch that the first was for has failed
		leave((char *)(uintptr_t)memory, blocks, j->slot, j->warps, j->rings, j->first + n, stream);
		scratch->launched(j->function, stream);
	}
	return NULL;
}

// Captures a launch and returns the graph's executable form.
static void *scratch_capture(uint64_t function, uint64_t bytes) {
	void *stream, *graph, *exec;
	cuda.use(context);
	cuda.stream(&stream, 0);
	cuda.begin(stream, 0);
	scratch->take(bytes, (uint64_t)(uintptr_t)stream);
	scratch->launched(function, (uint64_t)(uintptr_t)stream);
	cuda.end(stream, &graph);
	cuda.instantiate(&exec, graph, 0);
	cuda.destroy(graph);
	return exec;
}

static void destroy_exec(void *exec) { cuda.destroy_exec(exec); }
static void replay(void *exec) { cuda.replay(exec, NULL); }

// Captures two launches into a graph, and destroys what was made of it. Returns the memory of the first.
static uint64_t graph(uint64_t function, uint64_t bytes) {
	static void *stream;
	void *graph, *exec;
	cuda.use(context);
	if (!stream) cuda.stream(&stream, 0);
	cuda.begin(stream, 0);
	uint64_t first = scratch->take(bytes, (uint64_t)(uintptr_t)stream);
	scratch->launched(function, (uint64_t)(uintptr_t)stream);
	uint64_t second = scratch->take(bytes, (uint64_t)(uintptr_t)stream);
	scratch->launched(function, (uint64_t)(uintptr_t)stream);
	cuda.end(stream, &graph);
	cuda.instantiate(&exec, graph, 0);
	cuda.destroy(graph);
	cuda.destroy_exec(exec);
	return first == second ? first : 0;
}

// Launches with memory of its own, in the first context or in another one.
static void lent(uint64_t function, uint64_t bytes, int other_context) {
	static void *other;
	uint64_t memory = 0;
	if (!other) cuda.create(&other, 0, 0);
	cuda.use(other_context ? other : context);
	if (cuda.allocate(&memory, bytes)) abort();
	scratch->launched_in(function, 0, memory, bytes);
}

static void hold(int on) { cuda.hold(on); }

static void run(uint32_t threads, struct scratch_job *jobs) {
	pthread_t t[64];
	for (uint32_t i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, &jobs[i]);
	for (uint32_t i = 0; i < threads; i++) pthread_join(t[i], NULL);
}
*/
import "C"

import (
	"unsafe"

	"github.com/goproton/goproton/internal/figures"
)

// LoadScratch loads the fake driver; false if it is not there. api is scratch.API().
func LoadScratch(path string, api unsafe.Pointer) bool {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return C.load(text, api) != 0
}

// ScratchCaptured is the executable form of a graph.
type ScratchCaptured struct{ exec unsafe.Pointer }

// CaptureScratch captures a launch of a function.
func CaptureScratch(function, bytes uint64) ScratchCaptured {
	return ScratchCaptured{C.scratch_capture(C.uint64_t(function), C.uint64_t(bytes))}
}

// Replay launches the graph.
func (c ScratchCaptured) Replay() { C.replay(c.exec) }

// Destroy destroys it.
func (c ScratchCaptured) Destroy() { C.destroy_exec(c.exec) }

// LentScratch launches a function with memory of the caller's own, in a context of its own or in that of all others.
func LentScratch(function, bytes uint64, ownContext bool) {
	C.lent(C.uint64_t(function), C.uint64_t(bytes), figures.OneIf[C.int](ownContext))
}

// HoldScratch has the GPU not end what it has, or go on.
func HoldScratch(on bool) {
	C.hold(figures.OneIf[C.int](on))
}

// ScratchGraph captures two launches of a function, instantiates their graph and destroys it. It returns the memory that both share.
func ScratchGraph(function, bytes uint64) uint64 {
	return uint64(C.graph(C.uint64_t(function), C.uint64_t(bytes)))
}

// ScratchJob is what one thread does: launches of a function, whose numbers count up, each of 1 to Most blocks. The number stands in the
// third word of each slot, and in each word that a warp has written. The last 8 bytes of the header are the stream.
type ScratchJob struct {
	First, Launches, Slot, Warps, Rings, Most uint32
	Function                                  uint64
}

// RunScratch runs the jobs at the same time, and returns when all have launched.
func RunScratch(jobs []ScratchJob) {
	list := make([]C.struct_scratch_job, len(jobs))
	for i, j := range jobs {
		list[i] = C.struct_scratch_job{C.uint32_t(j.First), C.uint32_t(j.Launches), C.uint32_t(j.Slot), C.uint32_t(j.Warps), C.uint32_t(j.Rings), C.uint32_t(j.Most), C.uint64_t(j.Function)}
	}
	C.run(C.uint32_t(len(list)), &list[0])
}

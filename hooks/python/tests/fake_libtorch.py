"""Libraries with the few functions of torch that the native side observes, so that tests without torch can say what torch reports."""

import contextlib
import ctypes
import queue
import subprocess
import sys
import threading
import types
from pathlib import Path

REPORT = """
#include <stddef.h>
#include <stdint.h>
void report(void *address, int64_t bytes, size_t total, size_t reserved, uint16_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
"""

C10 = REPORT + """
void report(void *address, int64_t bytes, size_t total, size_t reserved, uint16_t device) { (void)address, (void)bytes, (void)total, (void)reserved, (void)device; }
"""

# What a thread has noted for debugging, which torch's threads take over with the work. A guard has torch's size and is restored by the thread that made it.
NOTES = """
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
struct shared { void *of, *owner; };
struct note { struct shared info; uint8_t kind; struct note *before; };
static __thread struct note *notes;
void *get(uint8_t kind) __asm__("_ZN3c1020ThreadLocalDebugInfo3getENS_13DebugInfoKindE");
void *get(uint8_t kind) {
  for (struct note *n = notes; n; n = n->before)
    if (n->kind == kind) return n->info.of;
  return NULL;
}
struct guard { uint8_t active; struct { struct note *of; void *owner; } before; };
void begin(struct guard *g, uint8_t kind, struct shared *info) __asm__("_ZN3c1014DebugInfoGuardC1ENS_13DebugInfoKindESt10shared_ptrINS_13DebugInfoBaseEE");
void begin(struct guard *g, uint8_t kind, struct shared *info) {
  if (!info->of) abort();
  struct note *n = malloc(sizeof *n);
  *n = (struct note){*info, kind, notes};
  *g = (struct guard){1, {notes, NULL}};
  notes = n;
}
void end(struct guard *g) __asm__("_ZN3c1014DebugInfoGuardD1Ev");
void end(struct guard *g) { if (g->active) notes = g->before.of; }
void *taken(void) { return notes; }
void put(void *n) { notes = n; }
"""

C10_CUDA = REPORT + """
static size_t total;
void change(uint64_t address, int64_t bytes) {
  total += bytes;
  report((void *)address, bytes, total, total, 1);
}
"""

# The structures are those of hooks/torchabi.c. A context is larger than torch's, so that compilers pass its address where C++ does.
CPU = """
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { SEQUENCE = 10, FORWARD_THREAD = 12, NAME = 50, WORDS = 56, ROOM = 16 };
struct context { void *pointer, *more[2]; };
struct callback { struct context (*start)(const void *); void (*end)(const void *, void *); double sampling; uint8_t scopes[10], needs[6]; };
static struct callback all[ROOM];
uint64_t add(struct callback c) __asm__("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
uint64_t add(struct callback c) {
  uint64_t i = 1;
  while (all[i].start) i++;
  all[i] = c;
  return i;
}
void removes(uint64_t i) __asm__("_ZN2at14removeCallbackEm");
void removes(uint64_t i) { all[i].start = NULL; }
const char *name_of(const uint64_t *f) __asm__("_ZNK2at14RecordFunction4nameEv");
const char *name_of(const uint64_t *f) { return (const char *)f[NAME]; }
uint64_t thread(void) __asm__("_ZN2at14RecordFunction15currentThreadIdEv");
uint64_t thread(void) { return 1000 + syscall(SYS_gettid); }
int exceptions(void) __asm__("_ZSt19uncaught_exceptionsv");
int exceptions(void) { return 0; }
void *starts(const char *name, int64_t sequence, uint64_t forward_thread, int backward) {
  uint64_t *f = calloc(WORDS, sizeof *f);
  f[SEQUENCE] = sequence, f[FORWARD_THREAD] = forward_thread, f[NAME] = (uint64_t)strdup(name);
  for (int i = 1; i < ROOM; i++)
    if (all[i].start && all[i].scopes[backward]) all[i].start(f);
  return f;
}
void ends(const void *f, int backward) {
  for (int i = 1; i < ROOM; i++)
    if (all[i].start && all[i].scopes[backward]) all[i].end(f, NULL);
}
uint64_t this_thread(void) { return thread(); }
"""


def _load(name, code):
    """Builds a library in the current folder and loads it."""
    path = Path(name).resolve()
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-x", "c", "-", "-o", path], input=code, text=True, check=True)
    return ctypes.PyDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def allocator():
    """change(address, bytes): what torch's allocator of GPU memory reports when it hands out a block, or takes one back (bytes < 0)."""
    _load("libc10.so", C10)
    change = _load("libc10_cuda.so", C10_CUDA).change
    change.argtypes, change.restype = [ctypes.c_uint64, ctypes.c_int64], None
    return change


class Engine:
    """Autograd's: one thread runs all backward passes, with what the thread that called for them has noted."""

    _thread = None

    def run_backward(self, *functions, times=1):
        library = Engine._thread[0]
        for _ in range(times):
            for function in functions:
                done = queue.Queue()
                Engine._thread[1].put((function, library.taken(), done))
                error = done.get(timeout=60)
                if error:
                    raise error
        return times


def autograd():
    """A torch with nothing but the engine."""
    library = _load("libc10.so", NOTES)
    library.taken.restype, library.put.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    work = queue.Queue()

    def run():
        while True:
            function, notes, done = work.get()
            library.put(notes)
            try:
                done.put(function() and None)
            except Exception as error:
                done.put(error)

    threading.Thread(target=run, daemon=True).start()
    Engine._thread = library, work
    torch, torch.autograd = types.ModuleType("torch"), types.ModuleType("torch.autograd")
    torch.autograd.Variable = type("Variable", (), {"_execution_engine": Engine()})
    sys.modules["torch"], sys.modules["torch.autograd"] = torch, torch.autograd
    return torch


class Operators:
    def __init__(self):
        library = _load("libtorch_cpu.so", CPU)
        self._starts, self._ends, self._thread = library.starts, library.ends, library.this_thread
        self._starts.argtypes, self._starts.restype = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_int], ctypes.c_void_p
        self._ends.argtypes, self._thread.restype = [ctypes.c_void_p, ctypes.c_int], ctypes.c_uint64

    def run(self, name, sequence, forward_thread=0, backward=0):
        self._ends(self._starts(name, sequence, forward_thread, backward), backward)

    @contextlib.contextmanager
    def running(self, name):
        operator = self._starts(name, 1, 0, 0)
        yield
        self._ends(operator, 0)

    def sample(self):
        """What torch_begin has run to measure the structure."""
        sequences, threads = [7, 10, 13, 16], []

        def forward():
            for sequence in sequences:
                self.run(b"aten::clone", sequence)
                threads.append(self._thread())

        thread = threading.Thread(target=forward)
        thread.start()
        thread.join()
        for sequence in sequences:
            self.run(b"CloneBackward0", sequence, threads[0], 1)
        return sequences

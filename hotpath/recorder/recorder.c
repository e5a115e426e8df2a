#include "recorder.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "file.h"
#include "program.h"
#include "seen.h"

static atomic_int gpu;

static void gpu_seen(void) { atomic_store(&gpu, 1); }
int record_saw_gpu(void) { return atomic_load(&gpu); }

static void driver_seen(void *library) {
  if (library && dlsym(library, FAKE_DRIVER)) event_write(&(struct event){0}, EV_SYNTHETIC);
}

static const struct recorder_api table = {
    .on = record_on,
    .number = event_number,
    .bytes = event_bytes,
    .write = event_write,
    .string = record_string,
    .is_new = record_is_new,
    .python_path = record_python_path,
    .driver_seen = driver_seen,
    .gpu_seen = gpu_seen,
};

const struct recorder_api *recorder_api(void) { return &table; }

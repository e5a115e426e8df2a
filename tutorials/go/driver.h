// The few driver functions that the tutorial needs, found at run time: it builds without CUDA.
#ifndef TUTORIAL_DRIVER_H
#define TUTORIAL_DRIVER_H

#include <stddef.h>
#include <stdint.h>

// Every function returns a CUresult, 0 for success.
struct driver {
  int (*init)(unsigned flags);
  int (*device)(int *device, int ordinal);
  int (*retain)(void **context, int device);
  int (*make_current)(void *context);
  int (*load)(void **module, const void *image);
  int (*function)(void **function, void *module, const char *name);
  int (*allocate)(uint64_t *address, size_t size);
  int (*read)(void *to, uint64_t from, size_t size);
  int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                unsigned shared, void *stream, void **params, void **extra);
  int (*error_name)(int result, const char **name);
};

// Fills the table. Returns NULL, or what went wrong; the text is valid until the thread's next dlopen.
const char *driver_open(struct driver *);

int driver_start(const struct driver *, const char *ptx, void **context, void **fill, void **saxpy);
int driver_allocate(const struct driver *, void *context, uint64_t *address, size_t size);
int driver_read(const struct driver *, void *context, float *to, uint64_t from);
int driver_fill(const struct driver *, void *context, void *kernel, uint64_t v, float value, uint32_t n);
int driver_saxpy(const struct driver *, void *context, void *kernel, uint64_t y, float a, uint64_t x, uint32_t n);
const char *driver_error(const struct driver *, int result);

#endif

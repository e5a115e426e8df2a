// proton-probe asks the CUDA driver and one libcupti what "proton doctor" cannot read from files, and prints
// the answers as one JSON object. It is a program of its own because the doctor has no cgo, because a broken
// driver library may crash the process that loads it, and because two libcupti in one process disturb each other:
// it is started once for each library.
//
//   proton-probe            the driver: version, devices
//   proton-probe LIBCUPTI   the same, the library's version, and whether it lets us subscribe
//
// The numbers below are ABI of libcuda and libcupti that has not changed since CUDA 11.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  ATTRIBUTE_MULTIPROCESSORS = 16, // CUdevice_attribute
  ATTRIBUTE_MAJOR = 75,
  ATTRIBUTE_MINOR = 76,
  MAX_DEVICES = 64,
};

typedef uint32_t (*cupti_attribute_fn)(void *subscriber, uint32_t attribute, size_t *size, void *value); // cuptiActivityGetAttribute_v2
typedef int (*init_fn)(unsigned);
typedef int (*int_out_fn)(int *);
typedef int (*device_fn)(int *, int);
typedef int (*name_fn)(char *, int, int);
typedef int (*attribute_fn)(int *, int, int);
typedef int (*error_fn)(int, const char **);
typedef void (*callback_fn)(void *, int, uint32_t, const void *);
typedef int (*version_fn)(uint32_t *);
typedef int (*subscribe_fn)(void **, callback_fn, void *);
typedef int (*unsubscribe_fn)(void *);

// A function pointer out of dlsym: ISO C has no cast for it, POSIX has this.
#define SYMBOL(library, variable, name) (*(void **)&(variable) = dlsym((library), (name)))

static void print_string(const char *s) {
  putchar('"');
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      printf("\\%c", c);
    else if (c < 0x20)
      printf("\\u%04x", c);
    else
      putchar(c);
  }
  putchar('"');
}

static void print_field(const char *key, const char *value) {
  printf(",");
  print_string(key);
  printf(":");
  print_string(value);
}

static void print_device(void *cuda, int index) {
  device_fn get = NULL;
  name_fn name = NULL;
  attribute_fn attribute = NULL;
  char text[256] = "";
  int device = 0, major = 0, minor = 0, multiprocessors = 0;
  SYMBOL(cuda, get, "cuDeviceGet");
  SYMBOL(cuda, name, "cuDeviceGetName");
  SYMBOL(cuda, attribute, "cuDeviceGetAttribute");
  if (get && get(&device, index) == 0) {
    if (name) name(text, sizeof text, device);
    if (attribute) {
      attribute(&major, ATTRIBUTE_MAJOR, device);
      attribute(&minor, ATTRIBUTE_MINOR, device);
      attribute(&multiprocessors, ATTRIBUTE_MULTIPROCESSORS, device);
    }
  }
  printf("%s{\"index\":%d", index ? "," : "", index);
  print_field("name", text);
  printf(",\"arch\":\"%d%d\",\"sms\":%d}", major, minor, multiprocessors);
}

// Prints "driver": what libcuda says. `loaded` false means that there is no driver library. Returns the status of cuInit (0 = fine).
static int print_driver(void) {
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  init_fn init = NULL;
  int_out_fn version = NULL, count = NULL;
  error_fn error_name = NULL;
  const char *name = "";
  int status = -1, cuda_version = 0, devices = 0;

  printf("\"driver\":{\"loaded\":%s", cuda ? "true" : "false");
  if (!cuda) {
    const char *why = dlerror();
    print_field("error", why ? why : "");
    printf("}");
    return status;
  }
  SYMBOL(cuda, init, "cuInit");
  SYMBOL(cuda, version, "cuDriverGetVersion");
  SYMBOL(cuda, count, "cuDeviceGetCount");
  SYMBOL(cuda, error_name, "cuGetErrorName");
  if (version) version(&cuda_version);
  if (init) status = init(0);
  if (status != 0 && error_name) error_name(status, &name);
  if (status == 0 && count) count(&devices);
  printf(",\"cuda_version\":%d,\"init\":%d", cuda_version, status);
  print_field("error", name ? name : "");
  printf(",\"devices\":[");
  for (int i = 0; i < devices && i < MAX_DEVICES; i++) print_device(cuda, i);
  printf("]}");
  return status;
}

static void ignore_callback(void *user, int domain, uint32_t id, const void *data) {
  (void)user, (void)domain, (void)id, (void)data;
}

// Prints "cupti": whether the library loads and, with a driver, its version and the status of a subscription (0 = fine). Without a
// driver, cuptiGetVersion of CUDA 13.2 calls itself until the stack is full.
static void print_cupti(const char *path, int driver) {
  void *cupti = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  version_fn version = NULL;
  subscribe_fn subscribe = NULL;
  unsubscribe_fn unsubscribe = NULL;
  uint32_t number = 0;
  void *subscriber = NULL;
  int status = -1;

  printf(",\"cupti\":{\"loaded\":%s", cupti ? "true" : "false");
  print_field("path", path);
  if (!cupti) {
    const char *why = dlerror();
    print_field("error", why ? why : "");
    printf("}");
    return;
  }
  if (driver != 0) {
    printf("}");
    return;
  }
  SYMBOL(cupti, version, "cuptiGetVersion");
  SYMBOL(cupti, subscribe, "cuptiSubscribe");
  SYMBOL(cupti, unsubscribe, "cuptiUnsubscribe");
  if (version) version(&number);
  printf(",\"version\":%u", number);
  fflush(stdout);
  // While there is no subscriber, a library of 13.2 and later says whether others may: -1 where it does not say.
  uint8_t several = 0xff;
  size_t size = sizeof several;
  cupti_attribute_fn several_fn = NULL;
  SYMBOL(cupti, several_fn, "cuptiActivityGetAttribute_v2");
  int asked = several_fn ? (int)several_fn(NULL, 12, &size, &several) : -1;
  printf(",\"several\":%d", several_fn && !asked ? several : -1);
  fflush(stdout);
  if (subscribe) status = subscribe(&subscriber, ignore_callback, NULL);
  if (status == 0 && unsubscribe) unsubscribe(subscriber);
  printf(",\"subscribe\":%d}", status);
}

int main(int argc, char **argv) {
  if (argc > 2) {
    fprintf(stderr, "usage: proton-probe [LIBCUPTI]\n");
    return 2;
  }
  printf("{");
  int driver = print_driver();
  if (argc == 2) print_cupti(argv[1], driver);
  printf("}\n");
  fflush(stdout);
  // Past the destructors of libraries that we know nothing about.
  _Exit(0);
}

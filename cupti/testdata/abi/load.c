// load LIBCUPTI: prints the results of a real libcupti on this machine, one per line. abi_test.go runs it on machines
// without a driver.
#include <dlfcn.h>
#include <stdio.h>

#include "../../abi_activity.h"
#include "../../abi_callback.h"
#include "../../abi_driver.h"
#include "../../abi_library.h"

static void callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  (void)user, (void)domain, (void)cbid, (void)data;
}
static void request(uint8_t **buffer, size_t *size, size_t *max_records) { *buffer = NULL, *size = *max_records = 0; }
static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
  (void)context, (void)stream, (void)buffer, (void)size, (void)valid;
}

static struct cupti_table cupti;

static void report(const char *what, uint32_t result) {
  const char *name = NULL, *text = NULL;
  cupti.GetResultString(result, &name);
  if (cupti.GetErrorMessage && cupti.GetErrorMessage(result, &text)) text = NULL;
  printf("%s: %u %s%s%s\n", what, result, name ? name : "?", text ? ": " : "", text ? text : "");
}

int main(int argc, char **argv) {
  void *lib = argc == 2 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
  void *subscriber = NULL;
  uint32_t version = 0;
  uint8_t one = 1;
  size_t size = 1;
  int missing = 0;
  if (!lib) {
    printf("dlopen: %s\n", argc == 2 ? dlerror() : "usage: load LIBCUPTI");
    return 1;
  }
#define F(name, required, arguments)         \
  *(void **)&cupti.name = dlsym(lib, "cupti" #name); \
  if (!cupti.name) printf("%s: cupti" #name "\n", required ? "missing" : "without"), missing |= required;
  CUPTI_FUNCTIONS(F)
#undef F
  if (missing) return 2;
  report("GetVersion", cupti.GetVersion(&version));
  printf("version: %u\n", version);
  report("Subscribe", cupti.Subscribe(&subscriber, callback, NULL));
  report("EnableCallback", cupti.EnableCallback(1, subscriber, DOMAIN_DRIVER, CBID_cuLaunchKernel));
  report("SetAttribute", cupti.ActivitySetAttribute(ATTR_ZEROED_OUT_BUFFER, &size, &one));
  report("RegisterCallbacks", cupti.ActivityRegisterCallbacks(request, complete));
  report("ActivityEnable", cupti.ActivityEnable(ACT_CONCURRENT_KERNEL));
  report("FlushAll", cupti.ActivityFlushAll(0));
  report("Unsubscribe", cupti.Unsubscribe(subscriber));
  return 0;
}

// Next to another subscriber: from 13.3 on CUPTI serves several, if the first has allowed it and all use the functions that name their
// subscriber. The table's functions are exchanged for these, so that the rest of the room does not know.
#define _GNU_SOURCE
#include "shared.h"

#include <dlfcn.h>
#include <string.h>

static struct {
#define F(name, arguments) uint32_t(*name) arguments;
  CUPTI_SHARED_FUNCTIONS(F)
#undef F
} shared;
static void *self; // our subscriber; it stays known for the buffers that are decoded after its end
static cupti_request_fn request;
static cupti_complete_fn complete;

static uint32_t set_attribute(uint32_t attribute, size_t *size, void *value) { return shared.ActivitySetAttribute_v2(self, attribute, size, value); }
static uint32_t enable(uint32_t kind) { return shared.ActivityEnable_v2(self, kind, NULL); }
static uint32_t disable(uint32_t kind) { return shared.ActivityDisable_v2(self, kind, NULL); }
static uint32_t next_record(uint8_t *buffer, size_t valid, void **record) { return shared.ActivityGetNextRecord_v2(self, buffer, valid, record); }
static uint32_t dropped(void *context, uint32_t stream, size_t *n) { return shared.ActivityGetNumDroppedRecords_v2(self, context, stream, n); }
static uint32_t timestamp(uint64_t *nanoseconds) { return shared.GetTimestamp_v2(self, nanoseconds); }
static uint32_t stay(void) { return RC_NOT_SUPPORTED; } // the library is not ours alone

static void requested(uint8_t **buffer, size_t *size, size_t *max_records, void *info) { (void)info, request(buffer, size, max_records); }
static void completed(uint8_t *buffer, size_t size, size_t valid, void *info) { (void)info, complete(NULL, 0, buffer, size, valid); }
static uint32_t register_callbacks(cupti_request_fn requests, cupti_complete_fn completes) {
  request = requests, complete = completes;
  return shared.ActivityRegisterCallbacks_v2(self, requested, completed);
}

enum cupti_sharing cupti_sharing(void *library, uint32_t version, int driver) {
  if (!version || !driver) return SHARING_UNKNOWN;
  if (version < CUPTI_13_3 || driver < CUDA_13_3) return SHARING_NO;
#define F(name, arguments)                                                       \
  *(void **)&shared.name = dlsym(library, "cupti" #name);                       \
  if (!shared.name) return SHARING_NO;
  CUPTI_SHARED_FUNCTIONS(F)
#undef F
  uint8_t state = 0;
  size_t size = sizeof state;
  if (shared.ActivityGetAttribute_v2(NULL, ATTR_SUBSCRIBERS, &size, &state)) return SHARING_UNKNOWN;
  switch (state) {
  case SUBSCRIBERS_ONE: return SHARING_NO;
  case SUBSCRIBERS_SEVERAL: return SHARING_YES;
  case SUBSCRIBERS_NOT_SAID: return SHARING_FREE;
  }
  return SHARING_UNKNOWN;
}

uint32_t cupti_share(void **subscriber, cupti_callback_fn callback, char *holder, size_t holder_size) {
  struct cupti_subscriber_params_13_2 p = {.first = {sizeof p, "goproton", holder, holder_size}, .several = 1};
  uint32_t rc = cupti.Subscribe_v2(subscriber, callback, NULL, &p.first);
  if (rc) return rc;
  self = *subscriber;
  cupti.ActivitySetAttribute = set_attribute, cupti.ActivityEnable = enable, cupti.ActivityDisable = disable;
  cupti.ActivityGetNextRecord = next_record, cupti.ActivityGetNumDroppedRecords = dropped, cupti.GetTimestamp = timestamp;
  cupti.ActivityRegisterCallbacks = register_callbacks, cupti.Finalize = stay;
  return RC_OK;
}

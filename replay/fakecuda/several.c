// The fake libcupti with several subscribers, as 13.3 has them: with PROTON_STUB_SEVERAL a subscriber exists (PROTON_STUB_HOLDER) that allows
// others, or none if there is no holder. Functions that do not name their subscriber are refused from the first one on that does.
#include <stdlib.h>
#include <string.h>

#include "tracer.h"

#if STUB_CUPTI >= 130000 || !defined STUB_CUPTI
static void *named; // the subscriber that named itself
static int naming;  // one of the functions below is at work
static cupti_request_v2_fn request;
static cupti_complete_v2_fn complete;

int stub_several(void) { return getenv("PROTON_STUB_SEVERAL") != NULL; }
int stub_refuses_unnamed(void) { return named && !naming; }
void stub_named(void *subscriber) { named = subscriber; }

#define NAMED(call) (!named || subscriber != named ? (uint32_t)RC_INVALID_PARAMETER : (naming++, result = (call), naming--, result))

STUB_EXPORT uint32_t cuptiActivityGetAttribute_v2(void *subscriber, uint32_t attribute, size_t *size, void *value) {
  const char *holder = getenv("PROTON_STUB_HOLDER");
  uint8_t state = stub_several() ? (holder && *holder ? SUBSCRIBERS_SEVERAL : SUBSCRIBERS_NOT_SAID) : SUBSCRIBERS_ONE;
  uint32_t result = stub_result("ActivityGetAttribute_v2");
  if (result || subscriber || attribute != ATTR_SUBSCRIBERS || !size || !*size) return result ? result : (uint32_t)RC_INVALID_PARAMETER;
  memcpy(value, &state, sizeof state);
  return RC_OK;
}
STUB_EXPORT uint32_t cuptiActivitySetAttribute_v2(void *subscriber, uint32_t attribute, size_t *size, void *value) {
  uint32_t result;
  return NAMED(cuptiActivitySetAttribute(attribute, size, value));
}
STUB_EXPORT uint32_t cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *config) {
  uint32_t result;
  return config ? (uint32_t)RC_INVALID_PARAMETER : NAMED(cuptiActivityEnable(kind));
}
STUB_EXPORT uint32_t cuptiActivityDisable_v2(void *subscriber, uint32_t kind, void *config) {
  uint32_t result;
  return config ? (uint32_t)RC_INVALID_PARAMETER : NAMED(cuptiActivityDisable(kind));
}
// Buffers may be read when their subscriber has gone.
STUB_EXPORT uint32_t cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid, void **record) {
  return subscriber ? cuptiActivityGetNextRecord(buffer, valid, record) : (uint32_t)RC_INVALID_PARAMETER;
}
STUB_EXPORT uint32_t cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context, uint32_t stream, size_t *out) {
  uint32_t result;
  return NAMED(cuptiActivityGetNumDroppedRecords(context, stream, out));
}
STUB_EXPORT uint32_t cuptiGetTimestamp_v2(void *subscriber, uint64_t *nanoseconds) {
  uint32_t result;
  return NAMED(cuptiGetTimestamp(nanoseconds));
}

static void requests(uint8_t **buffer, size_t *size, size_t *records) {
  size_t info = sizeof info;
  request(buffer, size, records, &info);
}
static void completes(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
  size_t info[4] = {sizeof info};
  (void)context, (void)stream, complete(buffer, size, valid, info);
}
STUB_EXPORT uint32_t cuptiActivityRegisterCallbacks_v2(void *subscriber, cupti_request_v2_fn r, cupti_complete_v2_fn c) {
  uint32_t result;
  if (!r || !c) return RC_INVALID_PARAMETER;
  request = r, complete = c;
  return NAMED(cuptiActivityRegisterCallbacks(requests, completes));
}
#else
int stub_several(void) { return 0; }
int stub_refuses_unnamed(void) { return 0; }
void stub_named(void *subscriber) { (void)subscriber; }
#endif

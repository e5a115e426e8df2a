// CUPTI's functions, except those of sampling.
#ifndef GOPROTON_CUPTI_ABI_LIBRARY_H
#define GOPROTON_CUPTI_ABI_LIBRARY_H

#include "abi.h"

// Subscribe_v2, which 13.0 and later have. 13.2 appends a byte (allow multiple subscribers); size says which form this is.
struct cupti_subscriber_params {
  size_t size;
  const char *name;
  char *old_name; // receives the name of the current subscriber
  size_t old_name_size;
};
ABI_AT(cupti_subscriber_params, size, 0);
ABI_AT(cupti_subscriber_params, name, 8);
ABI_AT(cupti_subscriber_params, old_name, 16);
ABI_AT(cupti_subscriber_params, old_name_size, 24);
ABI_SIZE(cupti_subscriber_params, 32);

// The same from 13.2 on.
struct cupti_subscriber_params_13_2 {
  struct cupti_subscriber_params first;
  uint8_t several; // other subscribers may exist
  uint8_t padding[7];
};
ABI_AT(cupti_subscriber_params_13_2, several, 32);
ABI_SIZE(cupti_subscriber_params_13_2, 40);

// What the first subscriber has said about others.
enum cupti_subscribers { SUBSCRIBERS_ONE = 0, SUBSCRIBERS_SEVERAL = 1, SUBSCRIBERS_NOT_SAID = 2 };

typedef void (*cupti_callback_fn)(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_complete_fn)(void *context, uint32_t stream_id, uint8_t *buffer, size_t size, size_t valid);
typedef void (*cupti_request_v2_fn)(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
typedef void (*cupti_complete_v2_fn)(uint8_t *buffer, size_t size, size_t valid, void *info);

// What subscribers use that may have company: 13.2 and later.
#define CUPTI_SHARED_FUNCTIONS(F) \
  F(ActivityGetAttribute_v2, (void *subscriber, uint32_t attribute, size_t *size, void *value)) \
  F(ActivitySetAttribute_v2, (void *subscriber, uint32_t attribute, size_t *size, void *value)) \
  F(ActivityRegisterCallbacks_v2, (void *subscriber, cupti_request_v2_fn request, cupti_complete_v2_fn complete)) \
  F(ActivityEnable_v2, (void *subscriber, uint32_t kind, void *config)) \
  F(ActivityDisable_v2, (void *subscriber, uint32_t kind, void *config)) \
  F(ActivityGetNextRecord_v2, (void *subscriber, uint8_t *buffer, size_t valid, void **record)) \
  F(ActivityGetNumDroppedRecords_v2, (void *subscriber, void *context, uint32_t stream_id, size_t *dropped)) \
  F(GetTimestamp_v2, (void *subscriber, uint64_t *nanoseconds))

// F(name, required, arguments): the symbol is "cupti" + name. Where required is 0, some supported version lacks the
// function, and its pointer may be NULL.
#define CUPTI_FUNCTIONS(F) \
  F(GetVersion, 1, (uint32_t *version)) \
  F(GetResultString, 1, (uint32_t result, const char **text)) \
  F(GetErrorMessage, 0, (uint32_t result, const char **text)) \
  F(Subscribe, 1, (void **subscriber, cupti_callback_fn callback, void *user)) \
  F(Subscribe_v2, 0, (void **subscriber, cupti_callback_fn callback, void *user, struct cupti_subscriber_params *params)) \
  F(Unsubscribe, 1, (void *subscriber)) \
  F(EnableCallback, 1, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)) \
  F(EnableDomain, 1, (uint32_t enable, void *subscriber, uint32_t domain)) \
  F(GetTimestamp, 1, (uint64_t *nanoseconds)) \
  F(GetContextId, 1, (void *context, uint32_t *id)) \
  F(GetDeviceId, 1, (void *context, uint32_t *id)) \
  F(GetGraphId, 1, (void *graph, uint32_t *id)) \
  F(GetGraphNodeId, 1, (void *node, uint64_t *id)) \
  F(GetGraphExecId, 0, (void *exec, uint32_t *id)) \
  F(ActivityRegisterCallbacks, 1, (cupti_request_fn request, cupti_complete_fn complete)) \
  F(ActivityEnable, 1, (uint32_t kind)) \
  F(ActivityDisable, 1, (uint32_t kind)) \
  F(ActivityFlushAll, 1, (uint32_t flag)) \
  F(ActivityGetNextRecord, 1, (uint8_t *buffer, size_t valid, void **record)) \
  F(ActivityGetNumDroppedRecords, 1, (void *context, uint32_t stream_id, size_t *dropped)) \
  F(ActivitySetAttribute, 1, (uint32_t attribute, size_t *size, void *value)) \
  F(Finalize, 1, (void))

struct cupti_table {
#define F(name, required, arguments) uint32_t(*name) arguments;
  CUPTI_FUNCTIONS(F)
#undef F
};

#endif

// What the files of the fake libcupti share.
#ifndef GOPROTON_STUB_TRACER_H
#define GOPROTON_STUB_TRACER_H

#include "../../cupti/capture.h"
#include "player.h"
#include "stub.h"

// cupti.c
uint32_t stub_version(void);
void deliver(uint32_t domain, uint32_t cbid, const void *data); // calls the subscriber, if it has enabled the callback
uint32_t delivered_call(void); // the correlation id of the driver call whose callback this thread is in
int kind_wanted(uint32_t kind);      // is enabled
int kind_ever_wanted(uint32_t kind); // has been enabled since the last cuptiFinalize: work launched then may be reported later

// buffers.c
uint32_t record_size(uint32_t kind); // 0: unknown
void learn_size(uint32_t kind, uint32_t size);
void emit(const void *record, uint32_t size); // size as record_size gives it
void emit_kernel(const struct stub_kernel *k);
// counters.c: the kernel is measured if a launch is being measured; its record then has no time.
void count_kernel(struct stub_kernel *k);
// lines.c: instructions of the kernel count, in contexts where they are to; whether there are such contexts; the launch that this thread begins.
void count_lines(const struct stub_kernel *k);
int lines_counted(void);
int lines_chip(const char **chip); // of a capture that has some
void line_launch(uint32_t cbid, const struct cupti_callback_data *d);
int emit_graph(const struct stub_kernel *k);
void emit_work(const struct stub_work *w);
void flush_buffers(void);
void forget_callbacks(void);

// several.c: whether other subscribers are allowed; whether a function that names no subscriber is refused; who named itself, NULL: none
int stub_several(void);
int stub_refuses_unnamed(void);
void stub_named(void *subscriber);
STUB_EXPORT uint32_t cuptiActivityEnable(uint32_t kind);
STUB_EXPORT uint32_t cuptiActivityDisable(uint32_t kind);
STUB_EXPORT uint32_t cuptiActivitySetAttribute(uint32_t attribute, size_t *size, void *value);
STUB_EXPORT uint32_t cuptiActivityRegisterCallbacks(cupti_request_fn request, cupti_complete_fn complete);
STUB_EXPORT uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
STUB_EXPORT uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream_id, size_t *out);
STUB_EXPORT uint32_t cuptiGetTimestamp(uint64_t *nanoseconds);

// replay_gpu.c
int replayed_answer(enum capture_answer function, const void *handle, uint32_t *result, uint64_t *value);

#endif

// Sharing CUPTI with other subscribers.
#ifndef GOPROTON_CUPTI_SHARED_H
#define GOPROTON_CUPTI_SHARED_H

#include "runtime.h"

enum { CUDA_13_3 = 13030 }; // of the driver

// Whether this library serves another subscriber now. FREE: there is no subscriber, and the first may say.
enum cupti_sharing { SHARING_UNKNOWN, SHARING_NO, SHARING_YES, SHARING_FREE };
enum cupti_sharing cupti_sharing(void *library, uint32_t version, int driver);

// cupti_share subscribes next to others, and has the table use functions that name the subscriber, until the library is loaded again.
uint32_t cupti_share(void **subscriber, cupti_callback_fn callback, char *holder, size_t holder_size);

#endif

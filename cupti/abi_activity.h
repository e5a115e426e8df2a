// Activity records, and the attributes of the buffers that hold them.
//
// A struct here is the prefix of a record that all versions share. Later versions append fields, so that only the loaded
// library knows how long a record is (ActivityGetNextRecord).
#ifndef GOPROTON_CUPTI_ABI_ACTIVITY_H
#define GOPROTON_CUPTI_ABI_ACTIVITY_H

#include "abi.h"

enum cupti_activity_kind {
  ACT_MEMCPY = 1,
  ACT_MEMSET = 2,
  ACT_KERNEL = 3, // serialises kernels; ACT_CONCURRENT_KERNEL is the one to use
  ACT_CONCURRENT_KERNEL = 10,
  ACT_MEMCPY2 = 22,
  ACT_SYNCHRONIZATION = 38,
  ACT_GRAPH_TRACE = 51,
};

// The values are size_t, except those marked u8.
enum cupti_attribute {
  ATTR_DEVICE_BUFFER_SIZE = 0,
  ATTR_DEVICE_BUFFER_SIZE_CDP = 1,
  ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
  ATTR_ZEROED_OUT_BUFFER = 5, // u8
  ATTR_DEVICE_BUFFER_PRE_ALLOCATE = 6,
  ATTR_HOST_PINNED = 8, // u8
  ATTR_SUBSCRIBERS = 12, // u8, read only, 13.2 and later: an enum cupti_subscribers
  ATTR_PER_THREAD_BUFFER = 9, // u8, 12.3 and later; on by default from 13.0
};

enum cupti_flush_flag { FLUSH_COMPLETED = 0, FLUSH_FORCED = 1 };

struct cupti_record { uint32_t kind; };
ABI_SIZE(cupti_record, 4);

// ACT_KERNEL and ACT_CONCURRENT_KERNEL, as 11.0 and every later version have them.
struct cupti_kernel_prefix {
  uint32_t kind;
  uint8_t cache_config;
  uint8_t shared_memory_config;
  uint16_t registers_per_thread;
  uint32_t partitioned_cache_requested, partitioned_cache_executed;
  uint64_t start, end; // nanoseconds; both 0 when the time could not be taken
  uint64_t completed;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total;
  uint32_t correlation_id;
  int64_t grid_id;
  const char *name; // CUPTI's own memory, shared by all records of the kernel until its module goes away
  void *reserved0;
  uint64_t queued, submitted;
  uint8_t launch_type;
  uint8_t carveout_requested;
  uint8_t carveout;
  uint8_t padding;
  uint32_t shared_executed;
  uint64_t graph_node_id; // 0 when not launched by a graph
  uint32_t shmem_limit;
  uint32_t graph_id; // of the executable graph; 0 when not launched by a graph
};
ABI_AT(cupti_kernel_prefix, kind, 0);
ABI_AT(cupti_kernel_prefix, registers_per_thread, 6);
ABI_AT(cupti_kernel_prefix, start, 16);
ABI_AT(cupti_kernel_prefix, end, 24);
ABI_AT(cupti_kernel_prefix, completed, 32);
ABI_AT(cupti_kernel_prefix, device_id, 40);
ABI_AT(cupti_kernel_prefix, context_id, 44);
ABI_AT(cupti_kernel_prefix, stream_id, 48);
ABI_AT(cupti_kernel_prefix, grid, 52);
ABI_AT(cupti_kernel_prefix, block, 64);
ABI_AT(cupti_kernel_prefix, static_shared, 76);
ABI_AT(cupti_kernel_prefix, dynamic_shared, 80);
ABI_AT(cupti_kernel_prefix, local_per_thread, 84);
ABI_AT(cupti_kernel_prefix, local_total, 88);
ABI_AT(cupti_kernel_prefix, correlation_id, 92);
ABI_AT(cupti_kernel_prefix, grid_id, 96);
ABI_AT(cupti_kernel_prefix, name, 104);
ABI_AT(cupti_kernel_prefix, queued, 120);
ABI_AT(cupti_kernel_prefix, submitted, 128);
ABI_AT(cupti_kernel_prefix, launch_type, 136);
ABI_AT(cupti_kernel_prefix, shared_executed, 140);
ABI_AT(cupti_kernel_prefix, graph_node_id, 144);
ABI_AT(cupti_kernel_prefix, shmem_limit, 152);
ABI_AT(cupti_kernel_prefix, graph_id, 156);
ABI_SIZE(cupti_kernel_prefix, 160);

// ACT_MEMCPY, as 11.1 and every later version have it.
struct cupti_memcpy_prefix {
  uint32_t kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t correlation_id;
  uint32_t runtime_correlation_id;
  uint32_t padding;
  void *reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t reserved1;
};
ABI_AT(cupti_memcpy_prefix, copy_kind, 4);
ABI_AT(cupti_memcpy_prefix, bytes, 8);
ABI_AT(cupti_memcpy_prefix, start, 16);
ABI_AT(cupti_memcpy_prefix, end, 24);
ABI_AT(cupti_memcpy_prefix, device_id, 32);
ABI_AT(cupti_memcpy_prefix, context_id, 36);
ABI_AT(cupti_memcpy_prefix, stream_id, 40);
ABI_AT(cupti_memcpy_prefix, correlation_id, 44);
ABI_AT(cupti_memcpy_prefix, graph_node_id, 64);
ABI_AT(cupti_memcpy_prefix, graph_id, 72);
ABI_SIZE(cupti_memcpy_prefix, 80);

enum cupti_copy_kind {
  COPY_HTOD = 1, COPY_DTOH = 2, COPY_HTOA = 3, COPY_ATOH = 4, COPY_ATOA = 5, COPY_ATOD = 6, COPY_DTOA = 7,
  COPY_DTOD = 8, COPY_HTOH = 9, COPY_PTOP = 10,
};

// ACT_MEMCPY2, between two GPUs.
struct cupti_memcpy_peer_prefix {
  uint32_t kind;
  uint8_t copy_kind, source_kind, target_kind, flags;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t source_device_id, source_context_id, target_device_id, target_context_id;
  uint32_t correlation_id;
  void *reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t reserved1;
};
ABI_AT(cupti_memcpy_peer_prefix, copy_kind, 4);
ABI_AT(cupti_memcpy_peer_prefix, bytes, 8);
ABI_AT(cupti_memcpy_peer_prefix, start, 16);
ABI_AT(cupti_memcpy_peer_prefix, end, 24);
ABI_AT(cupti_memcpy_peer_prefix, device_id, 32);
ABI_AT(cupti_memcpy_peer_prefix, stream_id, 40);
ABI_AT(cupti_memcpy_peer_prefix, source_device_id, 44);
ABI_AT(cupti_memcpy_peer_prefix, target_device_id, 52);
ABI_AT(cupti_memcpy_peer_prefix, correlation_id, 60);
ABI_AT(cupti_memcpy_peer_prefix, graph_node_id, 72);
ABI_AT(cupti_memcpy_peer_prefix, graph_id, 80);
ABI_SIZE(cupti_memcpy_peer_prefix, 88);

// ACT_MEMSET
struct cupti_memset_prefix {
  uint32_t kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start, end;
  uint32_t device_id, context_id, stream_id;
  uint32_t correlation_id;
  uint16_t flags, memory_kind;
  uint32_t padding;
  void *reserved0;
  uint64_t graph_node_id;
  uint32_t graph_id;
  uint32_t reserved1;
};
ABI_AT(cupti_memset_prefix, bytes, 8);
ABI_AT(cupti_memset_prefix, start, 16);
ABI_AT(cupti_memset_prefix, end, 24);
ABI_AT(cupti_memset_prefix, device_id, 32);
ABI_AT(cupti_memset_prefix, context_id, 36);
ABI_AT(cupti_memset_prefix, stream_id, 40);
ABI_AT(cupti_memset_prefix, correlation_id, 44);
ABI_AT(cupti_memset_prefix, graph_node_id, 64);
ABI_AT(cupti_memset_prefix, graph_id, 72);
ABI_SIZE(cupti_memset_prefix, 80);

// ACT_SYNCHRONIZATION: start and end are those of the waiting thread. The record does not name the device.
struct cupti_sync_prefix {
  uint32_t kind;
  uint32_t type; // enum cupti_sync_type
  uint64_t start, end;
  uint32_t correlation_id;
  uint32_t context_id, stream_id, event_id;
};
ABI_AT(cupti_sync_prefix, type, 4);
ABI_AT(cupti_sync_prefix, start, 8);
ABI_AT(cupti_sync_prefix, end, 16);
ABI_AT(cupti_sync_prefix, correlation_id, 24);
ABI_AT(cupti_sync_prefix, context_id, 28);
ABI_AT(cupti_sync_prefix, stream_id, 32);
ABI_AT(cupti_sync_prefix, event_id, 36);
ABI_SIZE(cupti_sync_prefix, 40);

enum cupti_sync_type {
  SYNC_EVENT = 1,
  SYNC_STREAM_WAITS = 2, // the stream waits for an event, and no thread does
  SYNC_STREAM = 3,
  SYNC_CONTEXT = 4,
};

// ACT_GRAPH_TRACE, as 11.8 has it; later versions append the device on which the graph ended.
struct cupti_graph_trace {
  uint32_t kind;
  uint32_t correlation_id;
  uint64_t start, end;
  uint32_t device_id;
  uint32_t graph_id;
  uint32_t context_id;
  uint32_t stream_id;
  void *reserved;
};
ABI_AT(cupti_graph_trace, correlation_id, 4);
ABI_AT(cupti_graph_trace, start, 8);
ABI_AT(cupti_graph_trace, end, 16);
ABI_AT(cupti_graph_trace, device_id, 24);
ABI_AT(cupti_graph_trace, graph_id, 28);
ABI_AT(cupti_graph_trace, context_id, 32);
ABI_AT(cupti_graph_trace, stream_id, 36);
ABI_SIZE(cupti_graph_trace, 48);

#endif

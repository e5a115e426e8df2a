// The arguments of CUPTI's callbacks: domains, sites, ids of resource and NVTX callbacks, and the data of each domain.
#ifndef GOPROTON_CUPTI_ABI_CALLBACK_H
#define GOPROTON_CUPTI_ABI_CALLBACK_H

#include "abi.h"

enum cupti_domain {
  DOMAIN_DRIVER = 1,
  DOMAIN_RUNTIME = 2,
  DOMAIN_RESOURCE = 3,
  DOMAIN_NVTX = 5,
  DOMAIN_STATE = 6, // 12.x and later
};

enum cupti_site { SITE_ENTER = 0, SITE_EXIT = 1 };

enum cupti_cbid_resource {
  RES_CONTEXT_CREATED = 1,
  RES_CONTEXT_DESTROY_STARTING = 2,
  RES_MODULE_LOADED = 6,
  RES_MODULE_UNLOAD_STARTING = 7,
  RES_MODULE_PROFILED = 8,
  RES_GRAPH_CREATED = 9,
  RES_GRAPH_DESTROY_STARTING = 10,
  RES_GRAPHNODE_CREATED = 13,
  RES_GRAPHEXEC_CREATE_STARTING = 17,
  RES_GRAPHEXEC_CREATED = 18,
  RES_GRAPHEXEC_DESTROY_STARTING = 19,
  RES_GRAPHNODE_CLONED = 20,
};

enum cupti_cbid_nvtx {
  NVTX_MarkA = 1,
  NVTX_RangePushA = 8,
  NVTX_RangePop = 11,
};

// The data of a driver or runtime callback.
struct cupti_callback_data {
  uint32_t site; // enum cupti_site
  uint32_t reserved0;
  const char *function_name;
  const void *params; // struct cuda_params_... of the function
  void *return_value; // CUresult *, meaningful at SITE_EXIT
  const char *symbol_name; // mangled name of a kernel that is launched; of other calls it is not valid
  void *context;
  uint32_t context_uid;
  uint32_t reserved1;
  uint64_t *correlation_data; // of the subscriber: ENTER and EXIT of one call get the same address
  uint32_t correlation_id;
  uint32_t reserved2;
};
ABI_AT(cupti_callback_data, site, 0);
ABI_AT(cupti_callback_data, function_name, 8);
ABI_AT(cupti_callback_data, params, 16);
ABI_AT(cupti_callback_data, return_value, 24);
ABI_AT(cupti_callback_data, symbol_name, 32);
ABI_AT(cupti_callback_data, context, 40);
ABI_AT(cupti_callback_data, context_uid, 48);
ABI_AT(cupti_callback_data, correlation_data, 56);
ABI_AT(cupti_callback_data, correlation_id, 64);
ABI_SIZE(cupti_callback_data, 72);

// The data of a resource callback.
struct cupti_resource_data {
  void *context;
  void *handle; // the stream, if the callback is about one
  void *descriptor; // struct cupti_module_data or cupti_graph_data
};
ABI_AT(cupti_resource_data, context, 0);
ABI_AT(cupti_resource_data, handle, 8);
ABI_AT(cupti_resource_data, descriptor, 16);
ABI_SIZE(cupti_resource_data, 24);

struct cupti_module_data {
  uint32_t module_id;
  uint32_t reserved;
  size_t cubin_size;
  const char *cubin;
};
ABI_AT(cupti_module_data, module_id, 0);
ABI_AT(cupti_module_data, cubin_size, 8);
ABI_AT(cupti_module_data, cubin, 16);
ABI_SIZE(cupti_module_data, 24);

enum cuda_node_type { NODE_KERNEL = 0, NODE_MEMCPY = 1, NODE_MEMSET = 2 };

struct cupti_graph_data {
  void *graph;
  void *original_graph;
  void *node;
  void *original_node;
  uint32_t node_type; // enum cuda_node_type
  uint32_t reserved;
  void *dependency;
  void *graph_exec;
};
ABI_AT(cupti_graph_data, graph, 0);
ABI_AT(cupti_graph_data, original_graph, 8);
ABI_AT(cupti_graph_data, node, 16);
ABI_AT(cupti_graph_data, original_node, 24);
ABI_AT(cupti_graph_data, node_type, 32);
ABI_AT(cupti_graph_data, dependency, 40);
ABI_AT(cupti_graph_data, graph_exec, 48);
ABI_SIZE(cupti_graph_data, 56);

// The data of an NVTX callback.
struct cupti_nvtx_data {
  const char *function_name;
  const void *params; // RangePushA, MarkA: struct { const char *message; }
  const void *return_value;
};
ABI_AT(cupti_nvtx_data, function_name, 0);
ABI_AT(cupti_nvtx_data, params, 8);
ABI_AT(cupti_nvtx_data, return_value, 16);
ABI_SIZE(cupti_nvtx_data, 24);

struct nvtx_params_message { const char *message; };
ABI_SIZE(nvtx_params_message, 8);

#endif

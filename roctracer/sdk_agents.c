// The GPUs, and the numbers that HIP gives them.
#include "sdk.h"

#include <stdlib.h>
#include <string.h>

static struct sdk_gpu {
  uint64_t agent, uuid;
  uint32_t node, simds;
  char chip[16];
  int ordinal; // -1: hidden from HIP
} gpus[SDK_GPUS]; // in the order of the kernel driver's nodes
static int count;

static void note(struct sdk_gpu *g, const struct sdk_agent *a) {
  *g = (struct sdk_gpu){.agent = a->id, .node = a->node, .simds = a->simds};
  if (a->name) strncpy(g->chip, a->name, sizeof g->chip - 1);
  if (a->size >= SDK_AGENT_SIZE + sizeof a->uuid) g->uuid = a->uuid;
}

static int by_node(const void *a, const void *b) {
  const struct sdk_gpu *x = a, *y = b;
  return x->node < y->node ? -1 : x->node > y->node;
}

static int take_gpus(uint32_t version, const struct sdk_agent **agents, size_t n, void *data) {
  for (size_t i = 0; i < n && count < SDK_GPUS; i++)
    if (agents[i]->type == SDK_GPU) note(&gpus[count++], agents[i]);
  qsort(gpus, (size_t)count, sizeof *gpus, by_node);
  return SDK_OK;
}

uint32_t sdk_find_gpus(void) {
  count = 0;
  uint32_t status = sdk.query_available_agents(SDK_AGENT_INFO, take_gpus, SDK_AGENT_SIZE, NULL);
  sdk_number_gpus();
  return status;
}

int sdk_gpu_count(void) { return count; }

int sdk_visible_gpus(uint64_t *agents) {
  int n = 0;
  for (int i = 0; i < count; i++)
    if (gpus[i].ordinal >= 0) agents[n++] = gpus[i].agent;
  return n;
}

// ---- numbers ----

// One entry of a list such as "1,GPU-4b2c1a9f0d3e5f67": a position in from, or the GPU's unique id. -1: neither.
static int entry(const char *text, size_t length, const int *from, int n) {
  char *end, copy[32];
  if (!length || length >= sizeof copy) return -1;
  memcpy(copy, text, length);
  copy[length] = 0;
  if (!strncmp(copy, "GPU-", 4)) {
    uint64_t uuid = strtoull(copy + 4, &end, 16);
    for (int i = 0; !*end && i < n; i++)
      if (gpus[from[i]].uuid && gpus[from[i]].uuid == uuid) return from[i];
    return -1;
  }
  long at = strtol(copy, &end, 10);
  return *end || at < 0 || at >= n ? -1 : from[at];
}

static int listed(const int *list, int n, int gpu) {
  for (int i = 0; i < n; i++)
    if (list[i] == gpu) return 1;
  return 0;
}

// Keeps the GPUs of from that a list names, in its order. The first entry that names none ends it, as in the runtimes.
static int choose(const char *list, int *from, int n) {
  int chosen[SDK_GPUS], kept = 0;
  for (const char *at = list;; at++) {
    size_t length = strcspn(at, ",");
    while (length && *at == ' ') at++, length--;
    size_t word = length;
    while (word && at[word - 1] == ' ') word--;
    int gpu = entry(at, word, from, n);
    if (gpu < 0) break;
    if (!listed(chosen, kept, gpu)) chosen[kept++] = gpu;
    at += length;
    if (!*at) break;
  }
  memcpy(from, chosen, (size_t)kept * sizeof *from);
  return kept;
}

// HSA hides GPUs first. HIP then numbers those that it sees, by the first of its variables that is not empty.
void sdk_number_gpus(void) {
  static const char *const hip[] = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};
  int seen[SDK_GPUS], n = count;
  for (int i = 0; i < n; i++) seen[i] = i, gpus[i].ordinal = -1;
  const char *list = getenv("ROCR_VISIBLE_DEVICES");
  if (list) n = choose(list, seen, n);
  for (size_t i = 0; i < sizeof hip / sizeof *hip; i++) {
    if (!(list = getenv(hip[i])) || !*list) continue;
    n = choose(list, seen, n);
    break;
  }
  for (int i = 0; i < n; i++) gpus[seen[i]].ordinal = i;
}

static const struct sdk_gpu *find(uint64_t agent) {
  for (int i = 0; i < count; i++)
    if (gpus[i].agent == agent) return &gpus[i];
  return NULL;
}

const char *sdk_chip(uint64_t agent) { return find(agent) ? find(agent)->chip : ""; }

uint32_t sdk_simds(uint64_t agent) { return find(agent) ? find(agent)->simds : 0; }

int sdk_is_gpu(uint64_t agent) { return find(agent) != NULL; }

uint16_t sdk_ordinal(uint64_t agent) {
  const struct sdk_gpu *g = find(agent);
  return g && g->ordinal > 0 ? (uint16_t)g->ordinal : 0;
}

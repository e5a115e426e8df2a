// Which GPU a record of roctracer is of: it has the number of the node in the topology of the kernel's driver, and HIP numbers the
// GPUs that the program may see.
#include "legacy.h"
#include "record.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 256 };
static char root[2048];
static int ordinals[NODES]; // ordinal + 1 of the GPU at a node; 0: none
static int first = -1;      // of the nodes with a GPU

void nodes_use_root(const char *folder) { snprintf(root, sizeof root, "%s", folder); }

// A GPU's place on PCI, as the driver writes it: bus, device and function.
struct place { unsigned long domain, location; int gpu, taken; };

static int read_node(int number, struct place *out) {
  char path[sizeof root + 128], name[64];
  unsigned long value;
  snprintf(path, sizeof path, "%s/sys/class/kfd/kfd/topology/nodes/%d/properties", root, number);
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  *out = (struct place){0};
  while (fscanf(file, "%63s %lu", name, &value) == 2) {
    if (!strcmp(name, "simd_count")) out->gpu = value > 0;
    if (!strcmp(name, "location_id")) out->location = value;
    if (!strcmp(name, "domain")) out->domain = value;
  }
  fclose(file);
  record_node(&(struct record_node){.number = (uint64_t)number, .gpu = (uint64_t)out->gpu, .domain = out->domain, .location = out->location});
  return 1;
}

// Partitions of a GPU share its place: they have ordinals in the order of their nodes.
static void map(struct place *places, int count, int ordinal) {
  unsigned domain, bus, device, function;
  char text[32] = "";
  if (!hip.DeviceGetPCIBusId || hip.DeviceGetPCIBusId(text, sizeof text, ordinal)) return;
  if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return;
  for (int pass = 0; pass < 2; pass++) // first with the function, which numbers partitions on some systems
    for (int n = 0; n < count; n++) {
      unsigned long location = (unsigned long)bus << 8 | device << 3 | function, mask = pass ? ~7ul : ~0ul;
      if (!places[n].gpu || places[n].taken || places[n].domain != domain || ((places[n].location ^ location) & mask)) continue;
      places[n].taken = 1, ordinals[n] = ordinal + 1;
      return;
    }
}

// HIP has started when there are records.
static void read_nodes(void) {
  static struct place places[NODES];
  int count = 0, gpus = 0;
  while (count < NODES && read_node(count, &places[count])) {
    if (places[count].gpu && first < 0) first = count;
    count++;
  }
  room_own_call++;
  if (hip.GetDeviceCount && !hip.GetDeviceCount(&gpus))
    for (int i = 0; i < gpus; i++) map(places, count, i);
  room_own_call--;
}

uint16_t nodes_ordinal(int node) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_nodes);
  if (node >= 0 && node < NODES && ordinals[node]) return (uint16_t)(ordinals[node] - 1);
  return first >= 0 && node > first ? (uint16_t)(node - first) : 0;
}

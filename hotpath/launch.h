// Functions of struct hp_vendor_api (vendor.h) and of struct hp_api (hotpath.h), which describe them.
#ifndef GOPROTON_LAUNCH_H
#define GOPROTON_LAUNCH_H

#include <stdint.h>

struct hp_call;
struct hp_record;

void hp_launch(uint64_t correlation, uint64_t function);
void hp_tag_launch(uint32_t tag, uint64_t function);
void hp_work(uint64_t correlation);
void hp_call(const struct hp_call *c);
void hp_returned(uint64_t correlation, uint64_t function, uint64_t stream, uint32_t result, const char *symbol);
void hp_launched(uint64_t correlation, uint32_t call);
void hp_waited(uint64_t correlation, uint32_t name, uint16_t device, uint64_t start, uint64_t nanos);
void hp_graph_launch(uint64_t correlation, uint64_t exec);
void hp_node_created(uint64_t graph, uint64_t node);
void hp_node_cloned(uint64_t exec, uint64_t node, uint64_t original);
void hp_graph_destroyed(uint64_t graph);
void hp_exec_destroyed(uint64_t exec);
void hp_capture(int delta);
int hp_capturing(void);
int hp_last_launch(uint64_t after, struct hp_record *out);
uint64_t hp_last_correlation(void);
int hp_own_work(int on);

#endif

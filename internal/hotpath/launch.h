#ifndef GOPROTON_LAUNCH_H
#define GOPROTON_LAUNCH_H

#include <stdint.h>

void hp_launch(uint32_t corr, uint64_t func);
void hp_tag_launch(uint32_t tag, uint64_t func);
void hp_work(uint32_t corr);
void hp_launched(uint32_t corr, uint32_t function);
void hp_graph_launch(uint32_t corr, uint64_t exec);
void hp_node_created(uint32_t graph, uint64_t node);
void hp_event(int type, uint32_t corr, uint64_t func, uint64_t aux);
void hp_capture(int delta);
int hp_capturing(void);

#endif

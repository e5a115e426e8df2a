// A map from two numbers to two numbers, for what a capture refers to. Not locked.
#ifndef GOPROTON_PLAYER_MAP_H
#define GOPROTON_PLAYER_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_entry { uint64_t key[2], value[2]; int used; };
struct map {
  struct map_entry *entries;
  size_t used, capacity; // a power of two
};

void map_put(struct map *m, uint64_t key0, uint64_t key1, uint64_t value0, uint64_t value1);
const struct map_entry *map_get(const struct map *m, uint64_t key0, uint64_t key1);
void map_free(struct map *m);

#endif

#include "map.h"

#include <stdlib.h>

static size_t slot(const struct map *m, uint64_t key0, uint64_t key1) {
  uint64_t h = (key0 ^ key1 * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  size_t at = (h ^ h >> 32) & (m->capacity - 1);
  while (m->entries[at].used && (m->entries[at].key[0] != key0 || m->entries[at].key[1] != key1))
    at = (at + 1) & (m->capacity - 1);
  return at;
}

static void grow(struct map *m) {
  struct map bigger = {calloc(m->capacity ? m->capacity * 2 : 64, sizeof *m->entries), m->used, m->capacity ? m->capacity * 2 : 64};
  if (!bigger.entries) abort();
  for (size_t i = 0; i < m->capacity; i++)
    if (m->entries[i].used) bigger.entries[slot(&bigger, m->entries[i].key[0], m->entries[i].key[1])] = m->entries[i];
  free(m->entries);
  *m = bigger;
}

void map_put(struct map *m, uint64_t key0, uint64_t key1, uint64_t value0, uint64_t value1) {
  if ((m->used + 1) * 2 > m->capacity) grow(m);
  struct map_entry *e = &m->entries[slot(m, key0, key1)];
  m->used += !e->used;
  *e = (struct map_entry){{key0, key1}, {value0, value1}, 1};
}

const struct map_entry *map_get(const struct map *m, uint64_t key0, uint64_t key1) {
  if (!m->capacity) return NULL;
  const struct map_entry *e = &m->entries[slot(m, key0, key1)];
  return e->used ? e : NULL;
}

void map_free(struct map *m) {
  free(m->entries);
  *m = (struct map){0};
}

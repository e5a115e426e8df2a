#include "names.h"
#include "freelist.h"
#include "memory.h"
#include "reclaim.h"
#include "table.h"
#include <string.h>

// Room for 2 M names in 512 MB of text. Only what is used is ever touched.
enum { NAME_BITS = 21, LONGEST_BITS = 20 };
static const struct hp_name_space reserved = {(1u << NAME_BITS) - 1, (uint64_t)512 << 20};
static struct hp_name_space room = {(1u << NAME_BITS) - 1, (uint64_t)512 << 20};

struct name { uint64_t hash; uint32_t at, len; }; // `at` counts 8-byte units of text
// While names are reclaimed, a frame name that is found in use is IN_USE, and a new one is YOUNG.
enum standing { KEPT, FRAME, IN_USE, YOUNG, FREED };

static struct name *names;
static char *text;
static _Atomic uint8_t *standing;  // by number: enum standing
static _Atomic uint32_t name_count;
static _Atomic uint64_t text_used, lost;
static struct hp_table kept_index, frame_indexes[2];
static _Atomic(struct hp_table *) frame_index = frame_indexes;

// Freed numbers, in a list for each class of lengths: class c has room for 8 << c bytes.
enum { CLASSES = LONGEST_BITS - 3 + 1 };
static _Atomic uint64_t free_list[CLASSES];
static _Atomic uint32_t *free_after; // by number: the next one in the list
static _Atomic uint32_t reclaiming;
static _Atomic uint32_t free_names;
static _Atomic uint64_t free_text;
static uint32_t old_names;           // Go's: the first number that was made after hp_names_unindex

static struct { const uint32_t *first; size_t stride, count; } holders[HP_HOLDERS];
static _Atomic int holder_count;

int hp_names_init(void) {
  names = hp_reserve(sizeof *names << NAME_BITS);
  text = hp_reserve(reserved.text);
  standing = hp_reserve((size_t)1 << NAME_BITS);
  free_after = hp_reserve(sizeof *free_after << NAME_BITS);
  atomic_store(&name_count, 1); // 0 means no name
  return names && text && standing && free_after && hp_table_init(&kept_index, 12) && hp_table_init(&frame_indexes[0], 12) &&
         hp_table_init(&frame_indexes[1], 12);
}

// ---- making names ----

static uint64_t hash_text(const char *s, size_t n) {
  uint64_t h = 0x243F6A8885A308D3u ^ n, w;
  for (; n >= 8; s += 8, n -= 8) {
    memcpy(&w, s, 8);
    h = hp_mix(h ^ w) * 0xD6E8FEB86659FD93u;
  }
  w = 0;
  memcpy(&w, s, n);
  return hp_mix(hp_mix(h ^ w) * 0xD6E8FEB86659FD93u);
}

static uint32_t find(struct hp_table *index, uint64_t hash, const char *s, size_t len) {
  uint32_t id;
#define SAME(i) (names[i].hash == hash && names[i].len == len && !memcmp(text + (size_t)names[i].at * 8, s, len))
  HP_TABLE_FIND(index, hash, SAME, id);
#undef SAME
  return id;
}

static uint32_t none_left(void) {
  atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
  return 0;
}

// claim takes a new number, and bytes of text for it.
static uint32_t claim(uint64_t bytes) {
  uint64_t at = atomic_fetch_add_explicit(&text_used, bytes, memory_order_relaxed);
  if (at + bytes <= room.text) {
    uint32_t id = atomic_fetch_add_explicit(&name_count, 1, memory_order_relaxed);
    if (id < room.names) {
      names[id].at = (uint32_t)(at / 8);
      return id;
    }
    atomic_fetch_sub_explicit(&name_count, 1, memory_order_relaxed);
  }
  atomic_fetch_sub_explicit(&text_used, bytes, memory_order_relaxed);
  return none_left();
}

static uint32_t put(struct hp_table *index, uint64_t hash, uint32_t id, const char *s, size_t len) {
  names[id].hash = hash, names[id].len = (uint32_t)len;
  memcpy(text + (size_t)names[id].at * 8, s, len);
  return hp_table_put(index, hash, id) ? id : none_left();
}

static int storable(size_t len) { return names && len <= (size_t)1 << LONGEST_BITS; }

uint32_t hp_intern(const char *s, size_t len) {
  if (!storable(len)) return 0;
  uint64_t hash = hash_text(s, len);
  uint32_t id = find(&kept_index, hash, s, len);
  return id || !(id = claim((len + 7) & ~(uint64_t)7)) ? id : put(&kept_index, hash, id, s, len);
}

static unsigned class_of(size_t len) {
  unsigned class = 0;
  while ((size_t)8 << class < len) class++;
  return class;
}

static uint32_t take_freed(unsigned class) {
  uint32_t id = hp_free_take(&free_list[class], free_after);
  if (!id) return 0;
  atomic_fetch_sub_explicit(&free_names, 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(&free_text, (uint64_t)8 << class, memory_order_relaxed);
  return id;
}

uint32_t hp_frame_name(const char *s, size_t len) {
  if (!storable(len)) return 0;
  struct hp_table *index = atomic_load(&frame_index); // before `reclaiming`: each freed number that is put into the new index is YOUNG
  uint64_t hash = hash_text(s, len);
  uint32_t id = find(index, hash, s, len);
  if (id) return id;
  unsigned class = class_of(len);
  if (!(id = take_freed(class)) && !(id = claim((uint64_t)8 << class))) return 0;
  atomic_store(&standing[id], atomic_load(&reclaiming) ? YOUNG : FRAME); // a freed number is below old_names, however new the name
  return put(index, hash, id, s, len);
}

uint32_t hp_frame_name_in(uint32_t *cell, const char *s, size_t len) {
  struct hp_thread *t = hp_living();
  if (!t) return 0;
  hp_paths_begin(t);
  uint32_t id = hp_frame_name(s, len);
  __atomic_store_n(cell, id, __ATOMIC_RELEASE);
  hp_paths_end(t);
  return id;
}

int hp_hold_names(const uint32_t *first, size_t stride, size_t count) {
  int n = atomic_load(&holder_count);
  for (int i = 0; i < n; i++)
    if (holders[i].first == first) return 1;
  if (n == HP_HOLDERS) return 0;
  holders[n].first = first, holders[n].stride = stride, holders[n].count = count;
  atomic_store(&holder_count, n + 1);
  return 1;
}

// claimed returns how many numbers were given out. A thread that finds no room raises name_count for a moment.
static uint32_t claimed(void) {
  uint32_t n = atomic_load_explicit(&name_count, memory_order_acquire);
  return n < room.names ? n : room.names;
}

const char *hp_text(uint32_t id, size_t *len) {
  if (!id || id >= atomic_load_explicit(&name_count, memory_order_acquire)) return *len = 0, "";
  *len = names[id].len;
  return text + (size_t)names[id].at * 8;
}

// ---- reclaiming them ----

static struct hp_table *other_index(void) { return atomic_load(&frame_index) == frame_indexes ? frame_indexes + 1 : frame_indexes; }

void hp_names_unindex(void) {
  struct hp_table *empty = other_index();
  atomic_store(&reclaiming, 1);
  old_names = claimed(); // before the indexes change: names that are claimed for the new one have higher numbers
  atomic_store(&frame_index, empty);
}

void hp_name_keep(uint32_t id) {
  if (id < old_names && standing[id] == FRAME) standing[id] = IN_USE;
}

// Cells come first: a thread that takes a number from a cell stores it in its state before the cell changes.
void hp_names_keep_held(void) {
  for (int h = 0; h < atomic_load(&holder_count); h++)
    for (size_t i = 0; i < holders[h].count; i++)
      hp_name_keep(__atomic_load_n((const uint32_t *)((const char *)holders[h].first + i * holders[h].stride), __ATOMIC_ACQUIRE));
  for (struct hp_thread *t = atomic_load(&hp_g.threads); t; t = t->next) {
    hp_name_keep(__atomic_load_n(&t->op_name, __ATOMIC_RELAXED));
    for (int i = 0; i < HP_STATES; i++) hp_name_keep(__atomic_load_n(&t->state[i], __ATOMIC_RELAXED));
  }
}

// free_name returns how many bytes of text it has freed.
static uint64_t free_name(uint32_t id) {
  unsigned class = class_of(names[id].len);
  uint64_t bytes = (uint64_t)8 << class;
  standing[id] = FREED;
  atomic_fetch_add(&free_names, 1);
  atomic_fetch_add(&free_text, bytes);
  hp_free_put(&free_list[class], free_after, id);
  return bytes;
}

struct hp_name_space hp_names_free(void) {
  struct hp_name_space freed = {0, 0};
  for (uint32_t id = 1, n = claimed(); id < n; id++) {
    if (standing[id] == IN_USE || standing[id] == YOUNG) standing[id] = FRAME;
    else if (standing[id] == FRAME && id < old_names) freed.names++, freed.text += free_name(id);
  }
  hp_names_reset();
  return freed;
}

void hp_names_reset(void) {
  hp_table_clear(other_index());
  atomic_store(&reclaiming, 0);
}

// ---- how much there is ----

struct hp_name_space hp_names_used(void) {
  return (struct hp_name_space){claimed() - 1 - atomic_load(&free_names), atomic_load(&text_used) - atomic_load(&free_text)};
}

struct hp_name_space hp_names_room(void) { return room; }

void hp_names_limit(struct hp_name_space more) {
  room = (struct hp_name_space){claimed() + more.names, atomic_load(&text_used) + more.text};
  if (room.names > reserved.names) room.names = reserved.names;
  if (room.text > reserved.text) room.text = reserved.text;
}

uint64_t hp_names_lost(void) { return atomic_load_explicit(&lost, memory_order_relaxed); }

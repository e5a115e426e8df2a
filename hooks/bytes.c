#include "bytes.h"
#include <stdlib.h>
#include <string.h>

void bytes_free(struct bytes *b) {
  if (b->at != b->few) free(b->at);
}

uint8_t *bytes_more(struct bytes *b, size_t n) {
  if (b->n + n <= b->room) return b->at + b->n;
  size_t room = (b->n + n) * 2;
  uint8_t *at = b->at == b->few ? malloc(room) : realloc(b->at, room);
  if (!at) {
    b->incomplete = 1, b->n = 0;
    return n <= b->room ? b->at : NULL;
  }
  if (b->at == b->few) memcpy(at, b->few, b->n);
  b->at = at, b->room = room;
  return b->at + b->n;
}

void put(struct bytes *b, const void *from, size_t n) {
  uint8_t *to = bytes_more(b, n);
  if (!to) return;
  memcpy(to, from, n);
  b->n += n;
}

void put_uint(struct bytes *b, uint64_t v) {
  uint8_t *to = bytes_more(b, 10);
  for (; v >= 0x80; v >>= 7) *to++ = (uint8_t)v | 0x80, b->n++;
  *to = (uint8_t)v, b->n++;
}

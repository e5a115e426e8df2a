// Bytes that grow: a small number on the stack, more from malloc.
#ifndef GOPROTON_BYTES_H
#define GOPROTON_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes { uint8_t *at; size_t n, room; int incomplete; uint8_t few[1024]; };
static inline void bytes_init(struct bytes *b) { b->at = b->few, b->n = 0, b->room = sizeof b->few, b->incomplete = 0; }
void bytes_free(struct bytes *b);
// bytes_more returns memory for n more bytes. If malloc fails, the bytes are marked as incomplete and dropped; then it returns
// the memory that there is, or NULL if n does not fit into that.
uint8_t *bytes_more(struct bytes *b, size_t n);
void put(struct bytes *b, const void *from, size_t n);
static inline void put_byte(struct bytes *b, uint8_t v) { *bytes_more(b, 1) = v, b->n++; }
void put_uint(struct bytes *b, uint64_t v); // LEB128
static inline void put_int(struct bytes *b, int64_t v) { put_uint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63)); }
static inline void put_fixed(struct bytes *b, uint64_t v) { put(b, &v, sizeof v); }

#endif

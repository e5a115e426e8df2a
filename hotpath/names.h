// Names: texts with numbers. There are two kinds, with indexes of their own, so a text may have a number of each kind.
//
// Kept names stay for the life of the process, because Go cannot find all places that store their numbers: the vendor's
// decoder, records, slots, and the cache of the Python walker.
//
// Frame names are those of scopes, states and ops. They are reclaimed together with call paths (reclaim.h), so that a
// program that makes up a new name for each step does not fill the table. A frame name stays as long as
//   - a call path has it,
//   - a thread has a state or an op of that name open, or
//   - it is in a cell of a table that was announced with hp_hold_names.
// Freed numbers are given out again, with their room for text.
#ifndef GOPROTON_NAMES_H
#define GOPROTON_NAMES_H

#include <stddef.h>
#include <stdint.h>

// hp_names_init reserves the tables. 0 when the system has no address space for them.
int hp_names_init(void);

// hp_intern returns the number of a kept name, 0 when space ran out.
uint32_t hp_intern(const char *text, size_t len);
// hp_frame_name returns the number of a frame name, 0 when space ran out. The calling thread is between hp_paths_begin and
// hp_paths_end, and makes the number held before it leaves.
uint32_t hp_frame_name(const char *text, size_t len);
// hp_frame_name_in stores the number in a cell of an announced table. It needs no section.
uint32_t hp_frame_name_in(uint32_t *cell, const char *text, size_t len);
// hp_hold_names announces count cells, stride bytes apart, for the life of the process. A thread that uses the number in a
// cell has no other thread change the cell before a call path, a state or an op has the number (Python's hooks keep the GIL).
// It returns 0 if there are HP_HOLDERS tables already.
enum { HP_HOLDERS = 4 };
int hp_hold_names(const uint32_t *first, size_t stride, size_t count);
// hp_text returns the text of a name, which is not NUL-terminated.
const char *hp_text(uint32_t id, size_t *len);

struct hp_name_space { uint32_t names; uint64_t text; }; // numbers, and bytes of text

// What Go calls to reclaim frame names, in this order and together with call paths.
void hp_names_unindex(void);
void hp_names_keep_held(void);   // those in cells, then those of states and ops
void hp_name_keep(uint32_t id);
struct hp_name_space hp_names_free(void); // those from before hp_names_unindex that were not kept; returns how much that was
// hp_names_reset ends what hp_names_unindex began, without freeing any.
void hp_names_reset(void);

// What is in use, and what there is room for.
struct hp_name_space hp_names_used(void);
struct hp_name_space hp_names_room(void);
// hp_names_limit leaves room for so much more than was ever in use, for tests. Without a limit it is what was reserved.
void hp_names_limit(struct hp_name_space more);
uint64_t hp_names_lost(void);

#endif
